// Package match finds the TMDB entry, season and episode of a file from what its name says.
//
// It is pure: the only I/O is the Source that the caller hands in. A batch of names goes one way: Group sorts files
// into series (group.go), Queries says what to search for (query.go), Resolve asks, fetches the few entries that
// matter (fetch.go), scores them (score.go, titles.go) and decides with a calibrated confidence (decide.go), and Place puts
// each file at a season and episode (place.go, ways.go, waysruns.go, special.go) or says why not. What was seen and weighed
// travels along as Reasons and Steps.
//
// Two rules hold throughout. A wrong silent match costs more than an honest "ambiguous", and an id without an
// episode is better than a wrong episode. And nothing depends on the order in which TMDB lists what it found.
package match
