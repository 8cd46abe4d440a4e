// This file decides how the stand-in says no: TMDB's codes, their HTTP status
// and their words.

package tmdbfake

import "net/http"

// codeStatus is the HTTP status that belongs to a TMDB code.
var codeStatus = map[int]int{
	2: 501, 3: 401, 4: 405, 5: 422, 6: 404, 7: 401, 8: 403, 9: 503, 10: 401, 11: 500, 14: 401, 15: 500, 16: 401,
	17: 401, 18: 400, 19: 406, 20: 422, 22: 400, 23: 400, 24: 504, 25: 429, 26: 400, 27: 400, 28: 400, 29: 400,
	30: 401, 31: 401, 32: 401, 33: 401, 34: 404, 35: 401, 36: 401, 37: 404, 38: 401, 39: 401, 41: 422, 42: 405,
	43: 502, 44: 500, 45: 403, 46: 503, 47: 400,
}

// codeText is what the stand-in says for the codes it uses of its own accord.
var codeText = map[int]string{
	7:  "Invalid API key: You must be granted a valid key.",
	9:  "Service offline: This service is temporarily offline, try again later.",
	10: "Suspended API key: Access to your account has been suspended, contact TMDB.",
	11: "Internal error: Something went wrong, contact TMDB.",
	20: "Invalid date range: Should be a range no longer than 14 days.",
	22: "Invalid page: Pages start at 1 and max at 500. They are expected to be an integer.",
	23: "Invalid date: Format needs to be YYYY-MM-DD.",
	24: "Your request to the backend server timed out. Try again.",
	25: "Your request count (41) is over the allowed limit of (40).",
	27: "Too many append to response objects: The maximum number of remote calls is 20.",
	34: "The resource you requested could not be found.",
	42: "Method not supported: This service does not support that method.",
	43: "Couldn't connect to the backend server.",
	46: "The API is undergoing maintenance. Try again later.",
}

// answer is a finished answer before it is encoded.
type answer struct {
	status int
	body   any
	kind   class
}

// class groups endpoints by how long the edge keeps them.
type class uint8

const (
	classError class = iota
	classSearch
	classDetails
	classStatic
)

// refuse gives the answer for a TMDB code.
func refuse(code int) answer {
	status, ok := codeStatus[code]
	if !ok {
		status = http.StatusInternalServerError
	}
	return answer{status: status, body: errorBody(code, "")}
}

// errorBody gives the JSON of an error; text "" takes the code's own words.
func errorBody(code int, text string) object {
	if text == "" {
		text = codeText[code]
	}
	return object{"success": false, "status_code": code, "status_message": text}
}

// invalid gives the other error form, which has no code.
func invalid(text string) answer {
	return answer{status: http.StatusUnprocessableEntity, body: object{"errors": []string{text}}}
}
