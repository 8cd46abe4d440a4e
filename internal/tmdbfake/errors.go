package tmdbfake

import (
	"net/http"

	"github.com/anivault/anivault/internal/upstream"
)

// codeText holds the messages of the codes that the stand-in itself uses.
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

// class groups endpoints by how long the CDN keeps their answers.
type class uint8

const (
	classError class = iota
	classSearch
	classDetails
	classStatic
)

// refuse returns the answer for a TMDB code.
func refuse(code int) answer {
	return answer{status: upstream.StatusOf(code), body: errorBody(code, "")}
}

// errorBody returns the JSON of an error; text "" takes the code's own words.
func errorBody(code int, text string) object {
	if text == "" {
		text = codeText[code]
	}
	return object{"success": false, "status_code": code, "status_message": text}
}

// invalid returns the other error form, which has no code.
func invalid(text string) answer {
	return answer{status: http.StatusUnprocessableEntity, body: object{"errors": []string{text}}}
}
