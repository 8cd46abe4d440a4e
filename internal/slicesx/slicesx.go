// Package slicesx has what the standard package slices lacks.
package slicesx

import "slices"

// Map returns what f returns for each element of list; nil if it is empty.
func Map[T, U any](list []T, f func(T) U) []U {
	out := slices.Grow([]U(nil), len(list))
	for _, v := range list {
		out = append(out, f(v))
	}
	return out
}

// Count returns how many elements of list match.
func Count[T any](list []T, matches func(T) bool) (n int) {
	for _, v := range list {
		if matches(v) {
			n++
		}
	}
	return n
}
