// Package ratelimit lets programs use a rate-limited HTTP service as fast as it allows, and no faster, together with
// all other processes of the same user. It does not log, print, read the environment or exit.
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
//   - To watch and control it: [Hooks] report events, [Limiter.Status] returns the current status, [Operator] shows and
//     changes the limiter from outside.
//
// For example:
//
//	limiter, err := ratelimit.New(ratelimit.Config{Store: ratelimit.NewMemoryStore()})
//	client := &http.Client{Transport: &ratelimit.Transport{Limiter: limiter}}
//
// # What it does
//
// A machine with five states decides how many requests may be sent. Normal allows what the Tuning says, Throttle half
// of it, Sleep none until a time, HalfOpen one probe at a time, and CacheOnly none until an operator or timer resumes.
// The state changes with the error ratio of the last answers, with several 429s or failures in a row, with a long
// Retry-After, with time, and with an operator's orders. Package machine has the table of all transitions.
//
// All processes share the state and
//
//   - a token bucket, kept as a theoretical arrival time (GCRA), for which each process also has a pace of its own;
//   - a ceiling: the most permits in any rolling window;
//   - slots for running requests: the request that has waited longest gets the next one;
//   - a pause: a 429, or a 503 with a Retry-After, delays every process, not just the one that received it;
//   - a budget of requests per day or another period, if there is one (see [Limiter.Reserve]).
//
// A request gets a permit when all of them allow it. It waits for at most Tuning.MaxWait in all its tries together. If
// that can't be enough, it fails at once with a [*BlockedError].
//
// # For tools
//
// A [Store] keeps the [Snapshot] and makes each step atomic; the Limiter waits outside all locks. Package machine is
// the pure core: with it a simulation drives the real limiter in virtual time. [Fields] lists the settings, for
// configurations and help. An [Account] stands for keys that have a rate, a quota or slots of their own.
package ratelimit
