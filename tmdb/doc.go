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
// Every call returns (value, *Response, error). The body is already read and closed; use the Response for its headers.
//
// # Guarantees
//
// Responses. A field that TMDB leaves out, sends as null or sends as "" decodes to the same zero value; only images
// are pointers, because TMDB distinguishes null there. Dates are unchanged strings ("2023-09-29", or ""). A 200 whose
// body is an HTML page, empty, truncated, JSON of another type or about another entry gives a [*DecodeError], never a
// value. [Valid] is the same check for a cache.
//
// Errors. TMDB's own status code and message give an [*Error] (use errors.As; errors.Is with [ErrNotFound] for the
// common case), a refused key an [*UnauthorizedError], a wrong configuration that no retry can fix (certificate,
// redirect to another server, TLS to a plain port) a [*ConfigError], an invalid argument an [*ArgumentError]. An error
// status that is not TMDB's own, such as a proxy's error page, gives an [*Error] with the field Foreign set.
//
// Secrets. A token is sent only in the Authorization header; a v3 key has to be a query parameter, and is removed from
// everything that this package returns or prints. No type of this package prints a credential with any fmt verb.
//
// # Transports
//
// The client takes an *http.Client and only makes it refuse redirects to other servers. Put round trippers between the
// client and the network; each can be used alone:
//
//	cache (optional) -> [KeyLatch] -> rate limiter (optional) -> [NewWire] -> [NewHTTPTransport]
//
// [Transport] combines them in this order, for a cache.Store and a ratelimit.Limiter. [NewWire] unpacks a gzip body
// without a gzip header and limits the body's size. [KeyLatch] stops requests whose key TMDB has refused. [Classify]
// translates a response for the rate limiter. With a nil HTTPClient, [New] builds latch, wire and transport itself.
//
// This product uses the TMDB API but is not endorsed or certified by TMDB.
package tmdb
