// This file decides the second address: journal, state and controls, touched
// by no limit and no fault.

package tmdbfake

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// Admin gives the handler of the second address:
//
//	GET  /__fake/journal[?format=ndjson]  every request, a JSON array or one object per line
//	GET  /__fake/state                    the summary
//	POST /__fake/scenario                 a scenario in JSON, or ?preset=NAME
//	POST /__fake/reset                    empties the journal and the counts
//	GET  /__fake/clock                    the stand-in's time
//	POST /__fake/clock                    {"advance":"10m","skew":"1h"}
//	POST /__fake/renumber                 flips the season maps now
func (f *Fake) Admin() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /__fake/journal", f.adminJournal)
	mux.HandleFunc("GET /__fake/state", func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, 200, f.State()) })
	mux.HandleFunc("POST /__fake/scenario", f.adminScenario)
	mux.HandleFunc("POST /__fake/reset", func(w http.ResponseWriter, _ *http.Request) {
		f.Reset()
		writeJSON(w, 200, f.State())
	})
	mux.HandleFunc("GET /__fake/clock", func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, 200, f.clockState()) })
	mux.HandleFunc("POST /__fake/clock", f.adminClock)
	mux.HandleFunc("POST /__fake/renumber", func(w http.ResponseWriter, _ *http.Request) {
		f.Renumber()
		writeJSON(w, 200, f.State())
	})
	return mux
}

func (f *Fake) adminJournal(w http.ResponseWriter, r *http.Request) {
	entries := f.Journal()
	if r.URL.Query().Get("format") != "ndjson" {
		writeJSON(w, 200, entries)
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

func (f *Fake) adminScenario(w http.ResponseWriter, r *http.Request) {
	var s Scenario
	var err error
	if name := r.URL.Query().Get("preset"); name != "" {
		s, err = Preset(name)
	} else {
		s, err = ReadScenario(r.Body)
	}
	if err == nil {
		err = f.Apply(s)
	}
	if err != nil {
		writeJSON(w, http.StatusBadRequest, object{"error": err.Error()})
		return
	}
	writeJSON(w, 200, f.State())
}

func (f *Fake) clockState() object {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.nowLocked()
	return object{
		"now": now, "started": f.started, "advanced": f.advanced.String(), "skew": f.skew.String(),
		"scenario_for": now.Sub(f.applied).String(),
	}
}

func (f *Fake) adminClock(w http.ResponseWriter, r *http.Request) {
	var want struct {
		Advance Duration  `json:"advance"`
		Skew    *Duration `json:"skew"`
	}
	dec := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<16))
	dec.DisallowUnknownFields()
	err := dec.Decode(&want)
	if err != nil {
		err = fmt.Errorf("read the clock's change: %w", err)
	} else {
		err = f.Advance(time.Duration(want.Advance))
	}
	if err != nil {
		writeJSON(w, http.StatusBadRequest, object{"error": err.Error()})
		return
	}
	if want.Skew != nil {
		f.SkewDate(time.Duration(*want.Skew))
	}
	writeJSON(w, 200, f.clockState())
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v) // the client may be gone
}
