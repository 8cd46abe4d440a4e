// Package limiter compares what one request costs in limiters and breakers when
// nothing has to wait: permission, a success, and telling so.
//
//	go test -C bench -bench . ./limiter
//
// None of the peers is shared between processes, and none of them does all of what the
// limiter does; the last benchmark puts three of them together.
package limiter
