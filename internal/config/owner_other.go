//go:build !unix

package config

type owner struct{}

func ownerOf(...string) owner { return owner{} }

func (owner) give(string) error { return nil }
