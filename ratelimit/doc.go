// Package ratelimit lets programs use a rate-limited HTTP service as fast as it
// allows, and no faster, together with all other processes of the same user.
//
// # What most callers need
//
//   - To send requests over HTTP: a [Transport] in an http.Client. It waits for permission, sends, reads the whole
//     response, learns from it, and retries if that makes sense. For many hosts set [Transport.PerHost].
//   - To send anything else: [Limiter.Acquire] waits for a [Permit]; give it back with [Permit.Done] or [Permit.Fail],
//     or with [Permit.Report] for other events, such as a 429.
//   - To make a limiter: [New] and [Config], with [NewMemoryStore] for one process or [OpenFileStore] for all processes
//     that use the same folder. [Tuning] has all settings; zero fields are the defaults.
//   - To change the settings of one request: [With] and [Request] set how long it waits and which [Reservation] pays.
//   - To handle errors: [BlockedError] has the end of the block; [ErrAcquireTimeout] and [ErrRequestTimeout] are the
//     two timeouts.
//   - To watch and control it: [Hooks] report events, [Limiter.Status] returns the present status, [Operator] shows and
//     changes the limiter from outside.
//
// For example:
//
//	limiter, err := ratelimit.New(ratelimit.Config{Store: ratelimit.NewMemoryStore()})
//	client := &http.Client{Transport: &ratelimit.Transport{Limiter: limiter}}
//
// # What it does
//
// A state machine of five states decides what passes. Normal lets through what the Tuning
// allows; Throttle half of it; Sleep nothing until a time; HalfOpen one probe at a time;
// CacheOnly nothing until an operator or a timer resumes. Package machine has the table of all
// transitions and draws it. Transitions follow from error ratios over the last answers,
// confirmed by a second look, from streaks of 429s or failures, from a long Retry-After, from
// time, and from what an operator orders.
//
// Besides the state all processes share
//
//   - a token bucket, kept as a theoretical arrival time (GCRA), that runs at the rate of the fastest
//     process; each process has a pace of its own beside it;
//   - a ceiling: at most this many permits in any rolling window, whatever the bucket holds;
//   - slots for running requests, in the order of asking among the requests that may start;
//   - a pause: a 429, or a 503 with a Retry-After, delays every process, not just the one that received it;
//   - a budget of requests per day or the like, if there is one (see [Limiter.Reserve]).
//
// A permit is granted when all of them agree, at once, and never in part. A request waits for
// at most Tuning.MaxWait in all its tries together; when that cannot be enough
// it fails at once with a [*BlockedError].
//
// # For tools
//
// A [Store] keeps the [Snapshot] and makes each step atomic; the Limiter waits outside all locks. Package machine is
// the pure core: with it a simulation drives the real limiter in virtual time. [Fields] lists the settings, for
// configurations and help. An [Account] stands for keys that have a rate, a quota or slots of their own.
//
// The package does not log, print, read the environment or exit.
package ratelimit
