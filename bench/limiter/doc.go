// Package limiter compares what one request costs in limiters and breakers when
// nothing has to wait: permission, a success, and its report.
//
//	go test -C bench -bench . ./limiter
//
// BenchmarkAnivaultFile is the price of the state that processes share. No peer
// shares its state, and none does all that the limiter does; the last benchmark puts
// three of them together.
package limiter
