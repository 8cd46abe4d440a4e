// Package match finds the TMDB entry, season and episode of a file from what its name says.
//
// It is pure: the only I/O is the Source that the caller hands in. A batch of names goes one way: Group sorts files
// into series (group.go), Queries lists what to search for (query.go), Resolve asks (resolve.go), fetches the few entries that
// matter (fetch.go), scores them (score.go, titles.go) and accepts the best or says that it is ambiguous (choose.go), and
// Place finds the season and episode of each file (place.go, numbering.go, strategies.go, special.go), how far that may be
// trusted (trust.go), or why it can't. What was seen and weighed is in the Reasons and Steps of a Decision.
//
// Most callers want Group, Resolver.Resolve and Resolver.Place; Resolver.ResolveAmong and Resolver.ResolveID are for
// who knows the entries.
//
// Two rules hold throughout. A wrong silent match costs more than an honest "ambiguous", and an id without an
// episode is better than a wrong episode. And nothing depends on the order in which TMDB lists what it found.
package match
