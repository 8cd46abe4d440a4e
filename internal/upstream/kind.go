package upstream

import (
	"maps"
	"net/http"
	"slices"
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
