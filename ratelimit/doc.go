// Package ratelimit lets programs use a rate-limited HTTP service as fast as it
// allows, and no faster, together with all other processes of the same user.
//
// # The short way
//
// Put a [Transport] into an http.Client. It waits for permission, sends, reads the
// answer whole, learns from it, and repeats what is worth repeating:
//
//	limiter, err := ratelimit.New(ratelimit.Config{Store: ratelimit.NewMemoryStore()})
//	client := &http.Client{Transport: &ratelimit.Transport{Limiter: limiter}}
//
// With a FileStore in place of the MemoryStore all processes that use the same
// folder share one limiter. Without HTTP there are [Limiter.Acquire] and [Permit.Done].
//
// # What it does
//
// A state machine of five states decides what passes. Normal lets through what the [Tuning]
// allows; Throttle half of it; Sleep nothing until a time; HalfOpen one probe at a time;
// CacheOnly nothing until somebody or a timer resumes. [Rules] is the table of all
// transitions, [Graph] draws it. What decides are error ratios over the last answers,
// confirmed by a second look, and streaks of 429s or failures.
//
// Besides its state everybody shares
//
//   - a token bucket (rate and burst), kept as a theoretical arrival time, from
//     which every process takes at its own rate;
//   - a ceiling: so many permits in any rolling window, whatever the bucket holds;
//   - slots for requests under way, handed out strictly in the order of asking;
//   - a pause: a 429, or a 503 with a Retry-After, holds everybody back, whoever has met it;
//   - a budget of requests per day or the like, if there is one (see [Limiter.Reserve]).
//
// A permit is given when all of them agree, at once, and never in part. A request waits for
// at most Tuning.MaxWait in all its tries together; when it is clear that this will not do
// it fails at once with a [*BlockedError] that says until when.
//
// # How it is built
//
// Everything that is decided is decided by a pure value, the [Snapshot]: [Snapshot.TryGrant] and
// [Snapshot.Record] take the moment as an argument, and chance as well. A [Store] keeps the snapshot and
// makes each step atomic. The [Limiter] carries questions and answers between requests
// and the store, and waits, outside all locks. So a simulation can drive the real thing in virtual
// time, and hours of trouble fit into a test of milliseconds.
//
// The package does not log, print, read the environment or exit; [Hooks] tell what happens.
package ratelimit
