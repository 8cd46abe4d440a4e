package tmdb

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/anivault/anivault/cache"
)

// endpoints has every path after "/3/" that is cached or called by this client, with its cache class and the type of
// its response; nil accepts any JSON array or object. "#" stands for a number, "*" for any one segment, "work" for tv
// or movie, and "extra" for one of extras. The first matching row decides.
var endpoints = []endpoint{
	{"search/tv", cache.Search, newAnswer[SearchTVPage]},
	{"search/movie", cache.Search, newAnswer[SearchMoviePage]},
	{"search/multi", cache.Search, newAnswer[SearchMultiPage]},
	{"find/*", cache.Search, newAnswer[FindResults]},
	{"tv/#", cache.TVDetails, newAnswer[TVDetails]},
	{"tv/#/season/#", cache.SeasonDetails, newAnswer[Season]},
	{"tv/#/season/#/episode/#", cache.SeasonDetails, newAnswer[Episode]},
	{"tv/#/episode_groups", cache.EpisodeGroups, newAnswer[EpisodeGroups]},
	{"tv/episode_group/*", cache.EpisodeGroups, newAnswer[EpisodeGroup]},
	{"movie/#", cache.MovieDetails, newAnswer[MovieDetails]},
	{"work/#/alternative_titles", cache.Titles, newAnswer[AlternativeTitles]},
	{"work/#/translations", cache.Titles, newAnswer[Translations]},
	{"work/#/external_ids", cache.Titles, newAnswer[ExternalIDs]},
	{"work/changes", cache.Uncached, newAnswer[ChangesPage]},
	{"configuration", cache.Reference, newAnswer[Configuration]},
	{"configuration/*", cache.Reference, nil},
	{"genre/work/list", cache.Reference, newAnswer[GenreList]},
	{"person/#", cache.People, nil},
	{"collection/#", cache.People, nil},
	{"work/#/extra", cache.Extras, nil},
	{"work/#/watch/providers", cache.Extras, nil},
	{"tv/#/season/#/extra", cache.Extras, nil},
	{"tv/#/season/#/watch/providers", cache.Extras, nil},
	{"tv/#/season/#/episode/#/extra", cache.Extras, nil},
	{"person/#/extra", cache.Extras, nil},
	{"collection/#/extra", cache.Extras, nil},
	{"search/*", cache.Lists, nil},
	{"discover/work", cache.Lists, nil},
	{"trending/*/*", cache.Lists, nil},
	{"person/popular", cache.Lists, nil},
	{"work/popular", cache.Lists, nil},
	{"work/top_rated", cache.Lists, nil},
	{"movie/now_playing", cache.Lists, nil},
	{"movie/upcoming", cache.Lists, nil},
	{"tv/on_the_air", cache.Lists, nil},
	{"tv/airing_today", cache.Lists, nil},
}

// extras are the subpaths of a work, season, episode or person whose content changes often.
var extras = []string{
	"credits", "aggregate_credits", "combined_credits", "movie_credits", "tv_credits", "images", "videos", "keywords",
	"reviews", "recommendations", "similar", "release_dates", "content_ratings",
}

type endpoint struct {
	pattern string
	class   cache.Class
	answer  func() answerChecker // makes a value to decode into; nil for any JSON
}

// ClassOf returns the cache class of a request, by its method and path; use it as [cache.Options].Class for TMDB. Paths
// that are not in the table, such as tv/latest, are not cached.
func ClassOf(req *http.Request) cache.Class {
	if req.Method != "" && req.Method != http.MethodGet {
		return cache.Uncached
	}
	if e, _ := findEndpoint(req.URL.Path); e != nil {
		return e.class
	}
	return cache.Uncached
}

// IsPath reports whether a path without its version, such as "tv/1", begins like one of TMDB's.
func IsPath(path string) bool {
	first, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	return slices.ContainsFunc(endpoints, func(e endpoint) bool {
		pattern, _, _ := strings.Cut(e.pattern, "/")
		return matchesSegment(pattern, first)
	})
}

// answerChecker is a type that responses are decoded into. check fails if the JSON was of another kind or is about
// another entry; ids are the segments of the path that stand for "#" and "*".
type answerChecker interface {
	check(ids []string) error
}

func newAnswer[T any, P interface {
	*T
	answerChecker
}]() answerChecker {
	return P(new(T))
}

// findEndpoint returns the row for a path and the segments that stand for "#" and "*"; nil if there is none. The path
// may have a prefix before the version, from the base URL.
func findEndpoint(path string) (*endpoint, []string) {
	segments := strings.Split(strings.Trim(path, "/"), "/")
	for i := range endpoints {
		parts := strings.Split(endpoints[i].pattern, "/")
		version := len(segments) - len(parts) - 1
		if version < 0 || segments[version] != apiPrefix[1:] ||
			!slices.EqualFunc(parts, segments[version+1:], matchesSegment) {
			continue
		}
		var ids []string
		for j, part := range parts {
			if part == "#" || part == "*" {
				ids = append(ids, segments[version+1+j])
			}
		}
		return &endpoints[i], ids
	}
	return nil, nil
}

func matchesSegment(pattern, segment string) bool {
	switch pattern {
	case "*":
		return segment != ""
	case "#":
		return segment != "" && strings.Trim(segment, "0123456789") == ""
	case "work":
		return segment == "tv" || segment == "movie"
	case "extra":
		return slices.Contains(extras, segment)
	}
	return segment == pattern
}

// untypedAnswer is a response for a path without a type: any JSON array, or an object that has members.
type untypedAnswer struct{ json.RawMessage }

func (d *untypedAnswer) check([]string) error {
	var members map[string]json.RawMessage
	if d.RawMessage[0] == '[' {
		return nil
	}
	if err := json.Unmarshal(d.RawMessage, &members); err != nil {
		return err
	}
	if len(members) == 0 {
		return errors.New("an object without members")
	}
	return nil
}

var (
	errNoID    = errors.New("no id")
	errOtherID = errors.New("not the id that was asked for")
)

func checkID(got int, wanted string) error {
	if got <= 0 {
		return errNoID
	}
	return checkNumber(got, wanted)
}

func checkNumber(got int, wanted string) error {
	if n, err := strconv.Atoi(wanted); err != nil || n != got {
		return errOtherID
	}
	return nil
}

type row interface{ rowID() int }

func checkRowIDs[T row](rows []T) error {
	for _, r := range rows {
		if r.rowID() <= 0 {
			return errNoID
		}
	}
	return nil
}

var errNoList = errors.New("its list is missing")

func checkList[T any](list []T) error {
	if list == nil {
		return errNoList
	}
	return nil
}

// Valid returns nil if the response is TMDB's own: a 2xx whose body decodes as the type that req asks for, an error
// status with TMDB's error object, or a 304. Anything else (a proxy's error page, a gateway's own refusal, JSON of
// another type, "success":false in a 200, an empty or truncated body) gives a [*DecodeError], an [*Error] or an
// [*UnauthorizedError], and must not be stored. The body must already be unpacked, as [NewWire] leaves it.
func Valid(req *http.Request, resp *http.Response, body []byte) error {
	if resp.StatusCode == http.StatusNotModified {
		return nil
	}
	_, err := readResponse(req, resp, body)
	if answer, ok := errors.AsType[*Error](err); ok && !isSuccess(resp) && answer.Foreign == "" && answer.Gateway == "" {
		return nil
	}
	return err
}

// readResponse decodes a response. A 2xx gives the decoded value or a *DecodeError. TMDB's error object and every other
// status give an *Error, or an *UnauthorizedError if the key is refused.
func readResponse(req *http.Request, resp *http.Response, body []byte) (any, error) {
	if err := responseError(req, resp, body); err != nil {
		return nil, err
	}
	reason := sniffJSON(body)
	if resp.StatusCode != http.StatusOK {
		reason = ReasonStatus
	}
	if reason != "" {
		return nil, newDecodeError(req, resp, body, reason, nil)
	}
	out, err := Decode(req.URL.Path, body)
	switch {
	case errors.As(err, new(*json.SyntaxError)):
		return nil, newDecodeError(req, resp, body, ReasonCut, err)
	case err != nil:
		return nil, newDecodeError(req, resp, body, ReasonShape, err)
	}
	return out, nil
}

// responseError returns the *Error or *UnauthorizedError for a response, nil for a 2xx without an error object.
func responseError(req *http.Request, resp *http.Response, body []byte) error {
	object, isError := parseErrorObject(resp.StatusCode, body)
	if isSuccess(resp) && !isError {
		return nil
	}
	e := &Error{
		HTTPStatus: resp.StatusCode, Code: object.code, Message: redactSecrets(req, object.message),
		Method: req.Method, Path: req.URL.Path, Gateway: object.gateway,
	}
	if !isError {
		*e = Error{HTTPStatus: e.HTTPStatus, Method: e.Method, Path: e.Path, Foreign: foreignReason(body)}
	}
	if e.Gateway != "" {
		e.RetryAt, e.Host = retryAt(resp), req.URL.Host
	}
	if e.keyRefused() {
		return &UnauthorizedError{Cause: e, WasSent: true, KeyAsToken: isTokenLikeKey(req)}
	}
	return e
}

// foreignReason returns why the body of an error response is not TMDB's error object.
func foreignReason(body []byte) Reason {
	if reason := sniffJSON(body); reason != "" {
		return reason
	}
	if !json.Valid(body) {
		return ReasonCut
	}
	return ReasonShape
}

func isSuccess(resp *http.Response) bool { return resp.StatusCode >= 200 && resp.StatusCode <= 299 }

// Decode decodes the body of a response to path: for "/3/tv/1" it returns a *[TVDetails]. It fails if the body does not
// have the type or the id that belongs to the path.
func Decode(path string, body []byte) (any, error) {
	var out answerChecker = &untypedAnswer{}
	e, ids := findEndpoint(path)
	if e != nil && e.answer != nil {
		out = e.answer()
	}
	if err := json.Unmarshal(body, out); err != nil {
		return nil, err
	}
	if err := out.check(ids); err != nil {
		return nil, err
	}
	return out, nil
}

func newDecodeError(req *http.Request, resp *http.Response, body []byte, r Reason, cause error) *DecodeError {
	return &DecodeError{
		Path: req.URL.Path, Reason: r, ContentType: shortText(resp.Header.Get("Content-Type"), 64),
		Size: len(body), Err: cause,
	}
}

// sniffJSON looks at how a body begins and returns why it cannot be a JSON object or array, "" if it can.
func sniffJSON(body []byte) Reason {
	trimmed := bytes.TrimLeft(body, " \t\r\n")
	switch {
	case isGzip(body):
		return ReasonGzip
	case len(body) > MaxBody:
		return ReasonTooLarge
	case len(trimmed) == 0:
		return ReasonEmpty
	case bytes.HasPrefix(bytes.TrimPrefix(trimmed, []byte("\xef\xbb\xbf")), []byte("<")): // with a byte order mark
		return ReasonHTML
	case trimmed[0] != '{' && trimmed[0] != '[':
		return ReasonNotJSON
	}
	return ""
}

type errorObject struct {
	code    int
	message string
	gateway string // why an anivault gateway sent it; "" if TMDB did
}

// maxErrorBody is the size above which a body is not searched for an error object. Real ones are far smaller.
const maxErrorBody = 64 << 10

// parseErrorObject reads TMDB's error object; ok is false if the body is none. An error object has a status_code, or is
// the errors list of a 422. In a 2xx, status_code 1 means success, so "success":true decides there; "success":false is
// an error even without a code.
func parseErrorObject(status int, body []byte) (e errorObject, ok bool) {
	if len(body) > maxErrorBody || !bytes.Contains(body, []byte(`"success"`)) &&
		!bytes.Contains(body, []byte(`"status_code"`)) && !bytes.Contains(body, []byte(`"errors"`)) {
		return e, false
	}
	// The fields are raw because their types vary.
	var raw struct {
		Success json.RawMessage          `json:"success"`
		Code    json.RawMessage          `json:"status_code"`
		Message json.RawMessage          `json:"status_message"`
		Errors  json.RawMessage          `json:"errors"`
		Gateway *struct{ Reason string } `json:"anivault"`
	}
	if json.Unmarshal(body, &raw) != nil {
		return e, false
	}
	e.code = looseInt(raw.Code)
	if raw.Gateway != nil {
		e.gateway = cmp.Or(shortText(raw.Gateway.Reason, 40), "unknown")
	}
	if json.Unmarshal(raw.Message, &e.message) != nil {
		e.message = ""
	}
	list := looseStrings(raw.Errors)
	e.message = shortText(cmp.Or(e.message, strings.Join(list, "; ")), 300)
	switch {
	case status >= 200 && status <= 299:
		return e, string(raw.Success) == "false" || e.code != 0 && string(raw.Success) != "true"
	case status == http.StatusUnprocessableEntity && list != nil:
		return e, true
	}
	return e, e.code != 0
}

// looseInt reads 25, "25" and 25.0; anything else is 0.
func looseInt(raw json.RawMessage) int {
	f, err := strconv.ParseFloat(strings.Trim(string(raw), `"`), 64)
	if err != nil || f != f || f < 0 || f > 1e6 {
		return 0
	}
	return int(f)
}

func looseStrings(raw json.RawMessage) []string {
	var list []any
	if json.Unmarshal(raw, &list) != nil {
		return nil
	}
	var out []string
	for _, item := range list {
		if s, ok := item.(string); ok && s != "" {
			out = append(out, s)
		}
	}
	return slices.Clip(out)
}

// RefusalOf returns an error if TMDB refused the key, nil otherwise. The error's Cause is never nil.
func RefusalOf(req *http.Request, resp *http.Response, body []byte) *UnauthorizedError {
	refusal, _ := errors.AsType[*UnauthorizedError](responseError(req, resp, body))
	return refusal
}
