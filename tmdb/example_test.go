package tmdb_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"

	"github.com/anivault/anivault/tmdb"
)

// standIn answers a few paths the way TMDB does.
func standIn() *httptest.Server {
	bodies := map[string]string{
		"/3/search/tv": `{"page":1,"results":[
			{"id":9000001,"name":"Lantern Keepers","original_name":"灯守り","first_air_date":"2019-04-03"}],
			"total_pages":1,"total_results":1}`,
		"/3/tv/9000001": `{"id":9000001,"name":"Lantern Keepers","seasons":[{"season_number":1,"episode_count":2}],
			"season/1":{
				"season_number":1,
				"episodes":[{"id":9100001,"episode_number":62,"name":"Oil"},{"id":9100002,"episode_number":63,"name":"Wick"}]
			},
			"translations":{"translations":[{"iso_639_1":"ko","iso_3166_1":"KR","data":{"name":"등불지기"}}]}}`,
	}
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json;charset=utf-8")
		body, ok := bodies[r.URL.Path]
		switch {
		case r.Header.Get("Authorization") != "Bearer a-token":
			w.WriteHeader(http.StatusUnauthorized)
			body = `{"success":false,"status_code":7,"status_message":"Invalid API key: You must be granted a valid key."}`
		case !ok:
			w.WriteHeader(http.StatusNotFound)
			body = `{"success":false,"status_code":34,"status_message":"The resource you requested could not be found."}`
		}
		_, _ = io.WriteString(w, body)
	}))
}

// From a title to the episodes of the series, in two requests.
func Example() {
	server := standIn()
	defer server.Close()
	ctx := context.Background()

	client, err := tmdb.New(tmdb.Options{BaseURL: server.URL, Token: "a-token"})
	if err != nil {
		fmt.Println(err)
		return
	}
	page, _, err := client.SearchTV(ctx, tmdb.SearchTVOptions{Query: "lantern keepers", Year: 2019})
	if err != nil {
		fmt.Println(err)
		return
	}
	show, responses, err := client.TVComplete(ctx, page.Results[0].ID, tmdb.DetailOptions{
		Append: []string{tmdb.AppendTranslations},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(
		show.Name, "/", show.Translations.Translations[0].Data.Label(), "after", len(responses), "request of details",
	)
	for _, e := range show.AppendedSeasons[1].Episodes {
		fmt.Printf("S01E%d %s\n", e.EpisodeNumber, e.Name)
	}
	// Output:
	// Lantern Keepers / 등불지기 after 1 request of details
	// S01E62 Oil
	// S01E63 Wick
}

// What TMDB does not have is ErrNotFound; the *Error has its words.
func ExampleError() {
	server := standIn()
	defer server.Close()
	client, err := tmdb.New(tmdb.Options{BaseURL: server.URL, Token: "a-token"})
	if err != nil {
		fmt.Println(err)
		return
	}
	_, _, err = client.Movie(context.Background(), 9999999, tmdb.DetailOptions{})
	var answer *tmdb.Error
	fmt.Println(errors.Is(err, tmdb.ErrNotFound), errors.As(err, &answer))
	fmt.Println(answer.HTTPStatus, answer.Code, answer.Message)
	// Output:
	// true true
	// 404 34 The resource you requested could not be found.
}

// A refused key fails every later call without a request.
func ExampleKeyLatch() {
	server := standIn()
	defer server.Close()
	client, err := tmdb.New(tmdb.Options{BaseURL: server.URL, Token: "a-wrong-token"})
	if err != nil {
		fmt.Println(err)
		return
	}
	for range 2 {
		_, _, err := client.TV(context.Background(), 9000001, tmdb.DetailOptions{})
		var refused *tmdb.UnauthorizedError
		fmt.Println(errors.As(err, &refused), refused.WasSent, refused.Cause.Code)
	}
	// Output:
	// true true 7
	// true false 7
}

// The transports can be used by any HTTP client.
func ExampleNewWire() {
	transport := tmdb.NewKeyLatch(tmdb.NewWire(tmdb.NewHTTPTransport(tmdb.TransportOptions{
		Proxy: http.ProxyFromEnvironment,
	})))
	client := &http.Client{Transport: transport, CheckRedirect: tmdb.CheckRedirect}
	fmt.Println(client != nil)
	// Output: true
}
