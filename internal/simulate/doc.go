// Package simulate runs the limiter in virtual time against an upstream that fails by a script: hours of trouble
// take milliseconds, and the same seed gives the same run.
//
// What decides is the real thing: [ratelimit.Snapshot] is the state that processes share, and every grant, answer
// and retry goes through it, exactly as in a [ratelimit.Limiter]. What is simulated is only what surrounds it: the
// processes and their requests (request.go), time (clock.go), and the upstream (upstream.go), whose limits are
// those of the stand-in ([tmdbfake.Limits]).
//
// [Run] returns a [Result]: a timeline, the transitions and the totals. WriteText, WriteCSV and WriteSVG show it.
package simulate
