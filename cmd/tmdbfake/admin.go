package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/anivault/anivault/internal/tmdbfake"
	"github.com/anivault/anivault/internal/upstream"
)

// admin returns the handler of the second address, which no limit and no fault
// touches:
//
//	GET  /__fake/journal[?format=ndjson]  every request, a JSON array or one object per line
//	GET  /__fake/state                    the summary
//	POST /__fake/scenario                 a scenario in JSON, or ?preset=NAME
//	POST /__fake/reset                    empties the journal and the counts
//	GET  /__fake/clock                    the stand-in's time
//	POST /__fake/clock                    {"advance":"10m","skew":"1h"}
//	POST /__fake/renumber                 flips the season maps now
func admin(f *tmdbfake.Fake) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /__fake/journal", func(w http.ResponseWriter, r *http.Request) { serveJournal(f, w, r) })
	mux.HandleFunc("GET /__fake/state",
		func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, http.StatusOK, f.State()) })
	mux.HandleFunc("POST /__fake/scenario", func(w http.ResponseWriter, r *http.Request) {
		answer(w, setScenario(f, r), func() any { return f.State() })
	})
	mux.HandleFunc("POST /__fake/reset", func(w http.ResponseWriter, _ *http.Request) {
		f.Reset()
		writeJSON(w, http.StatusOK, f.State())
	})
	mux.HandleFunc("GET /__fake/clock",
		func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, http.StatusOK, clockOf(f)) })
	mux.HandleFunc("POST /__fake/clock", func(w http.ResponseWriter, r *http.Request) {
		answer(w, setClock(f, w, r), func() any { return clockOf(f) })
	})
	mux.HandleFunc("POST /__fake/renumber", func(w http.ResponseWriter, _ *http.Request) {
		f.Renumber()
		writeJSON(w, http.StatusOK, f.State())
	})
	return mux
}

func serveJournal(f *tmdbfake.Fake, w http.ResponseWriter, r *http.Request) {
	entries := f.Journal()
	if r.URL.Query().Get("format") != "ndjson" {
		writeJSON(w, http.StatusOK, entries)
		return
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	for _, e := range entries {
		if enc.Encode(e) != nil {
			return
		}
	}
}

func setScenario(f *tmdbfake.Fake, r *http.Request) error {
	var s upstream.Scenario
	var err error
	if name := r.URL.Query().Get("preset"); name != "" {
		s, err = upstream.Preset(name)
	} else {
		s, err = upstream.ReadScenario(r.Body)
	}
	if err != nil {
		return err
	}
	return f.Apply(s)
}

func clockOf(f *tmdbfake.Fake) map[string]any {
	c := f.ReadClock()
	return map[string]any{
		"now": c.Now, "started": c.Started, "advanced": c.Advanced.String(), "skew": c.Skew.String(),
		"scenario_for": c.ScenarioFor.String(),
	}
}

func setClock(f *tmdbfake.Fake, w http.ResponseWriter, r *http.Request) error {
	var want struct {
		Advance upstream.Duration  `json:"advance"`
		Skew    *upstream.Duration `json:"skew"`
	}
	dec := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<16))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&want); err != nil {
		return fmt.Errorf("read the clock's change: %w", err)
	}
	if err := f.Advance(time.Duration(want.Advance)); err != nil {
		return err
	}
	if want.Skew != nil {
		f.SkewDate(time.Duration(*want.Skew))
	}
	return nil
}

func answer(w http.ResponseWriter, err error, now func() any) {
	if err != nil {
		writeJSON(w, http.StatusBadRequest, map[string]string{"error": err.Error()})
		return
	}
	writeJSON(w, http.StatusOK, now())
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v) // the client may be gone
}
