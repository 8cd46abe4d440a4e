//go:build !unix || aix || solaris

package main

import "errors"

func openFloor(string) (func() error, error) { return nil, errors.ErrUnsupported }
