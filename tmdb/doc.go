// Package tmdb is a typed client for the part of The Movie Database's v3 API that recognises films and series:
// search, seasons, episode groups, and details, to which titles, translations and external ids are appended in one
// request.
//
// Most callers need [New], [Options], [Client] with its methods SearchTV, SearchMovie, TV, TVComplete and Movie, and
// the errors [Error], [ErrNotFound], [UnauthorizedError] and [DecodeError].
//
//	client, err := tmdb.New(tmdb.Options{Token: token})
//	page, _, err := client.SearchTV(ctx, tmdb.SearchTVOptions{Query: "frieren"})
//	if err != nil || len(page.Results) == 0 { ... }
//	show, _, err := client.TVComplete(ctx, page.Results[0].ID, tmdb.DetailOptions{
//		Append: []string{tmdb.AppendAlternativeTitles, tmdb.AppendTranslations},
//	})
//	if season, ok := show.AppendedSeasons[1]; ok { ... season.Episodes ... }
//
// Every call returns (value, *Response, error). The body is already read and closed; the Response is there for its
// headers.
//
// # What it takes care of
//
// Answers. A field that TMDB leaves out, sends as null or sends as "" decodes to the same zero value; images alone
// are pointers, because for them TMDB does distinguish null. Dates are strings as they came ("2023-09-29", or ""). A
// 200 whose body is an HTML page, empty, truncated, JSON of another kind or another entry than the one asked for is a
// [*DecodeError], never an answer. [Valid] is the same check for a cache.
//
// Errors. TMDB's own status code and message arrive as an [*Error] (use errors.As; errors.Is with [ErrNotFound] for
// the common case), a refused key as an [*UnauthorizedError], a mistake of the setup that no retry can mend
// (certificate, redirect to another server, TLS to a plain port) as a [*ConfigError], a call that could not have
// worked as an [*ArgumentError]. An error status that is not TMDB's own, such as the page of a proxy, is an [*Error]
// whose Foreign field says so.
//
// Secrets. A token travels in the Authorization header only; a v3 key has to be a query parameter, and is left out of
// everything that this package returns or prints. No type of this package prints a credential with any fmt verb.
//
// # Transports
//
// The client takes an *http.Client and adds nothing to it but a refusal to follow redirects to other servers. What
// belongs between the client and the network are round trippers, each usable alone:
//
//	cache (optional) -> [KeyLatch] -> rate limiter (optional) -> [NewWire] -> [NewHTTPTransport]
//
// [Transport] puts them together in this order, for a cache.Store and a ratelimit.Limiter. [NewWire] repairs a gzip
// body that lost its header and bounds what is read. [KeyLatch] lets no request through whose key TMDB refused before.
// [Classify] tells a rate limiter what an answer says about the upstream. With a nil HTTPClient, [New] builds latch,
// wire and transport itself.
//
// This product uses the TMDB API but is not endorsed or certified by TMDB.
package tmdb
