package tmdb

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// Valid returns nil when an answer is TMDB's own: a 2xx whose body decodes as what req asked for, an error status
// with TMDB's error object, or a 304. Anything else (the page of a proxy or of TMDB's edge, JSON of another kind,
// "success":false in a 200, an empty or cut body) is a [*DecodeError], an [*Error] or an [*UnauthorizedError], and
// must not be stored. It decodes as the client does; the body must be unpacked already, as [NewWire] leaves it.
func Valid(req *http.Request, resp *http.Response, body []byte) error {
	if resp.StatusCode == http.StatusNotModified {
		return nil
	}
	_, err := read(req, resp, body)
	if answer, ok := errors.AsType[*Error](err); ok && !isSuccess(resp) && answer.Foreign == "" {
		return nil
	}
	return err
}

// read decodes an answer. A 2xx gives the value that was asked for, or else a *DecodeError; TMDB's error object and
// every other status give an *Error, or an *UnauthorizedError when the key is refused.
func read(req *http.Request, resp *http.Response, body []byte) (any, error) {
	if err := errorAnswer(req, resp, body); err != nil {
		return nil, err
	}
	return decode(req, resp, body)
}

// errorAnswer returns the *Error or *UnauthorizedError that an answer is, nil for a 2xx without an error object.
func errorAnswer(req *http.Request, resp *http.Response, body []byte) error {
	object, isError := readErrorObject(resp.StatusCode, body)
	if isSuccess(resp) && !isError {
		return nil
	}
	e := &Error{
		HTTPStatus: resp.StatusCode, Code: object.code, Message: scrub(req, object.message),
		Method: req.Method, Path: req.URL.Path, Gateway: object.gateway,
	}
	if !isError {
		e.Code, e.Message, e.Gateway, e.Foreign = 0, "", false, foreign(body)
	}
	if e.keyRefused() {
		return &UnauthorizedError{Cause: e, Sent: true, KeyAsToken: looksLikeKey(req)}
	}
	return e
}

// foreign returns why the body of an answer that is no success is not TMDB's error object.
func foreign(body []byte) Reason {
	if reason := sniffJSON(body); reason != "" {
		return reason
	}
	if !json.Valid(body) {
		return ReasonCut
	}
	return ReasonShape
}

func isSuccess(resp *http.Response) bool { return resp.StatusCode >= 200 && resp.StatusCode <= 299 }

func decode(req *http.Request, resp *http.Response, body []byte) (any, error) {
	if reason := sniffJSON(body); reason != "" {
		return nil, undecodable(req, resp, body, reason, nil)
	}
	out, err := Decode(req.URL.Path, body)
	switch {
	case errors.As(err, new(*json.SyntaxError)):
		return nil, undecodable(req, resp, body, ReasonCut, err)
	case err != nil:
		return nil, undecodable(req, resp, body, ReasonShape, err)
	}
	return out, nil
}

// Decode returns the value, such as a *[TVDetails], that a body holds as the answer to a path of TMDB's ("/3/tv/1"). It
// refuses what is not an answer to that path.
func Decode(path string, body []byte) (any, error) {
	out, ids := answerTo(path)
	if err := json.Unmarshal(body, out); err != nil {
		return nil, err
	}
	if err := out.check(ids); err != nil {
		return nil, err
	}
	return out, nil
}

func undecodable(req *http.Request, resp *http.Response, body []byte, r Reason, cause error) *DecodeError {
	return &DecodeError{
		Path: req.URL.Path, Reason: r, ContentType: shortText(resp.Header.Get("Content-Type"), 64),
		Size: len(body), Err: cause,
	}
}

// sniffJSON returns why a body that begins like this one cannot be a JSON object or array, "" if it can.
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
	gateway bool // an anivault gateway's own
}

// maxErrorBody bounds what is read as an error object. Real ones are far smaller, and the details of a series are far
// larger.
const maxErrorBody = 64 << 10

// readErrorObject reports whether a body is an error of TMDB's: it has a status_code, with or without success, or it
// is the errors list of a 422. In a 2xx, where status_code 1 means success, "success" decides, and false is an error
// without a code too.
func readErrorObject(status int, body []byte) (e errorObject, ok bool) {
	if len(body) > maxErrorBody || !bytes.Contains(body, []byte(`"success"`)) &&
		!bytes.Contains(body, []byte(`"status_code"`)) && !bytes.Contains(body, []byte(`"errors"`)) {
		return e, false
	}
	// The fields are raw because neither their types nor their order can be relied upon.
	var raw struct {
		Success json.RawMessage `json:"success"`
		Code    json.RawMessage `json:"status_code"`
		Message json.RawMessage `json:"status_message"`
		Errors  json.RawMessage `json:"errors"`
		Gateway json.RawMessage `json:"anivault"`
	}
	if json.Unmarshal(body, &raw) != nil {
		return e, false
	}
	e.code, e.gateway = looseInt(raw.Code), len(raw.Gateway) > 0
	if json.Unmarshal(raw.Message, &e.message) != nil {
		e.message = ""
	}
	list := looseStrings(raw.Errors)
	if e.message == "" {
		e.message = strings.Join(list, "; ")
	}
	e.message = shortText(e.message, 300)
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

// RefusalOf returns the refusal of the key that an answer is, nil where it is none. Its Cause is never nil.
func RefusalOf(req *http.Request, resp *http.Response, body []byte) *UnauthorizedError {
	refusal, _ := errors.AsType[*UnauthorizedError](errorAnswer(req, resp, body))
	return refusal
}
