package upstream

import (
	"fmt"
	"maps"
	"math"
	"net/http"
	"slices"
	"strconv"
	"time"
)

// Stage is the point in the life of a request at which a fault strikes.
type Stage uint8

// The stages, in the order in which a request meets them.
const (
	OnConnect    Stage = iota // when a connection is accepted
	InHeaders                 // the headers of any answer, also of a refusal
	AtLimit                   // while the limit is checked
	BeforeAnswer              // before the request is looked at
	InBody                    // while the answer is written
)

// kinds is the table of faults. The stand-in's tests show what Go's HTTP client reports for each.
var kinds = map[string]Stage{
	"conn_reset":   OnConnect, // RST as soon as the connection is accepted
	"hello_reset":  OnConnect, // RST after the client's first bytes, such as a TLS ClientHello
	"conn_silent":  OnConnect, // the connection is accepted and never answered
	"conn_garbage": OnConnect, // bytes that are not HTTP

	"date_skew":  InHeaders, // Date is off by skew
	"no_date":    InHeaders, // no Date
	"age":        InHeaders, // Age of delay
	"stale_etag": InHeaders, // an ETag that matches nothing later

	"limit": AtLimit, // at most rate requests in a sliding second, at the end rate_to
	"slow":  AtLimit, // answers take factor times as long

	"delay":        BeforeAnswer, // the answer begins after delay
	"status":       BeforeAnswer, // an answer with status, code, body and retry_after
	"not_modified": BeforeAnswer, // 304, also to unconditional requests
	"redirect":     BeforeAnswer, // 302 to location
	"reset":        BeforeAnswer, // RST before an answer
	"close":        BeforeAnswer, // FIN before an answer
	"silent":       BeforeAnswer, // no answer until the client leaves

	"cut_json":        InBody, // half of the JSON, headers consistent
	"abort":           InBody, // half of a chunked body, then cut off
	"short":           InBody, // Content-Length larger than the body
	"short_unflushed": InBody, // as short, cut off before anything is sent
	"gzip_headerless": InBody, // gzip without Content-Encoding
	"gzip_double":     InBody, // gzip twice, announced once
	"gzip_fake":       InBody, // Content-Encoding: gzip, plain body
	"gzip_cut":        InBody, // half of a gzip body
	"reset_body":      InBody, // RST in the middle of the body
	"drip":            InBody, // bytes at a time, with a pause of every
	"huge":            InBody, // a JSON body of bytes
}

// Kinds returns the names of the faults, sorted.
func Kinds() []string { return slices.Sorted(maps.Keys(kinds)) }

// Foreign reports whether the action answers with a good status and a page that is not the server's own.
func (a Action) Foreign() bool {
	return a.Kind == "status" && a.Status < http.StatusMultipleChoices && (a.Body == "html" || a.Body == "captive")
}

// Fails reports whether an action before the answer denies the client what it asked for.
func (a Action) Fails() bool {
	switch a.Kind {
	case "status":
		return a.Status >= http.StatusMultipleChoices || a.Foreign()
	case "not_modified", "redirect", "reset", "close", "silent":
		return true
	default:
		return false
	}
}

// retryModes maps a mode to the values of the Retry-After header that asks for a wait. skew is how far the answer's
// Date is off.
var retryModes = map[string]func(now time.Time, wait, skew time.Duration) []string{
	"":             literal(),
	"absent":       literal(),
	"delta":        func(_ time.Time, wait, _ time.Duration) []string { return []string{strconv.Itoa(Seconds(wait))} },
	"zero":         literal("0"),
	"date":         date(http.TimeFormat),
	"date-rfc850":  date("Monday, 02-Jan-06 15:04:05 GMT"),
	"date-asctime": date(time.ANSIC),
	"date-zone":    date(time.RFC1123Z),
	"date-past": func(now time.Time, _, skew time.Duration) []string {
		return []string{now.Add(skew - time.Hour).UTC().Format(http.TimeFormat)}
	},
	"float":    literal("1.5"),
	"negative": literal("-3"),
	"text":     literal("soon"),
	"list":     literal("120, 240"),
	"two":      literal("2", "7"),
	"empty":    literal(""),
	"day":      literal("86400"),
	"huge":     literal("99999999999"),
}

func literal(values ...string) func(time.Time, time.Duration, time.Duration) []string {
	return func(time.Time, time.Duration, time.Duration) []string { return values }
}

func date(layout string) func(time.Time, time.Duration, time.Duration) []string {
	return func(now time.Time, wait, skew time.Duration) []string {
		return []string{now.Add(wait + skew).UTC().Format(layout)}
	}
}

// Seconds returns whole seconds, rounded up.
func Seconds(d time.Duration) int { return int(math.Ceil(d.Seconds())) }

// RetryAfterModes returns the names of the ways to fill a Retry-After header. "date" together with the fault
// "date_skew" sends a date beside a wrong Date.
func RetryAfterModes() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(retryModes)), func(m string) bool { return m == "" })
}

// validRetryAfter accepts a mode or a number of seconds.
func validRetryAfter(s string) error {
	if _, ok := retryModes[s]; ok {
		return nil
	}
	if n, err := strconv.Atoi(s); err == nil && n >= 0 {
		return nil
	}
	return fmt.Errorf("retry_after %q is unknown: use a number of seconds or one of %v", s, RetryAfterModes())
}

// SetRetryAfter sets the header in a mode. A number is sent as it is.
func SetRetryAfter(h http.Header, mode string, now time.Time, wait, skew time.Duration) {
	values := []string{mode}
	if valuesOf, ok := retryModes[mode]; ok {
		values = valuesOf(now, wait, skew)
	}
	for _, v := range values {
		h.Add("Retry-After", v)
	}
}
