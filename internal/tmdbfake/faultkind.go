// This file decides which faults there are and at which stage of a request
// each strikes: the one table of them.

package tmdbfake

import (
	"net/http"
	"slices"
	"time"
)

// stage is a point in the life of a request.
type stage uint8

const (
	stageConn   stage = iota // when a connection is accepted
	stageHeader              // the headers of any answer, a refusal's too
	stagePre                 // before the request is looked at
	stageBody                // while the answer is written
)

type faultKind struct {
	stage stage
	about string
}

// faultKinds is the table. What Go's client reports for each is asserted in
// fault_test.go.
var faultKinds = map[string]faultKind{
	"conn_reset":   {stageConn, "RST as soon as the connection stands"},
	"hello_reset":  {stageConn, "RST upon the client's first bytes, such as a TLS ClientHello"},
	"conn_silent":  {stageConn, "the connection stands and never answers"},
	"conn_garbage": {stageConn, "bytes that are not HTTP"},

	"date_skew":  {stageHeader, "Date is off by skew"},
	"no_date":    {stageHeader, "no Date"},
	"age":        {stageHeader, "Age of delay"},
	"stale_etag": {stageHeader, "an ETag that nothing will ever match"},

	"delay":        {stagePre, "the answer begins after delay"},
	"status":       {stagePre, "status, code, body and retry_after as given"},
	"not_modified": {stagePre, "304, asked for or not"},
	"redirect":     {stagePre, "302 to location"},
	"reset":        {stagePre, "RST before an answer"},
	"close":        {stagePre, "FIN before an answer"},
	"silent":       {stagePre, "no answer until the client leaves"},

	"cut_json":        {stageBody, "half of the JSON, headers consistent"},
	"abort":           {stageBody, "half of a chunked body, then cut off"},
	"short":           {stageBody, "Content-Length too long for what follows"},
	"short_unflushed": {stageBody, "as short, cut off before anything left"},
	"gzip_headerless": {stageBody, "gzip without Content-Encoding"},
	"gzip_double":     {stageBody, "gzip twice, said once"},
	"gzip_fake":       {stageBody, "Content-Encoding: gzip, plain body"},
	"gzip_cut":        {stageBody, "half of a gzip body"},
	"reset_body":      {stageBody, "RST in the middle of the body"},
	"drip":            {stageBody, "bytes at a time, every so often"},
	"huge":            {stageBody, "a JSON body of bytes"},
}

// FaultKinds lists the kinds of fault by name.
func FaultKinds() []string {
	out := make([]string, 0, len(faultKinds))
	for k := range faultKinds {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

// rule is a fault in force, with its count of matching requests.
type rule struct {
	Fault
	number int // its place, from 1: part of the key of its chances
	count  int
}

// strikes gives the actions of a stage that befall a request, in the order of
// the rules. The n-th match of a rule has the same fate whatever ran beside
// it. r is nil for a connection.
func (f *Fake) strikes(st stage, r *http.Request, ip string) []Action {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.rules) == 0 {
		return nil
	}
	since := Duration(f.nowLocked().Sub(f.applied))
	var out []Action
	for _, u := range f.rules {
		if faultKinds[u.Do.Kind].stage != st || since < u.From || u.To != 0 && since >= u.To {
			continue
		}
		if !u.Match.fits(r, ip, f.seed) {
			continue
		}
		u.count++
		if !u.Match.Nth.Has(u.count) || u.Match.Every > 1 && u.count%u.Match.Every != 0 {
			continue
		}
		if u.P > 0 && u.P < 1 && pcg(f.seed, "fault", u.number, u.count).Float64() >= u.P {
			continue
		}
		f.struck[u.Do.Kind]++
		out = append(out, u.Do)
	}
	return out
}

// Apply replaces the scenario: its clock and its counts start anew.
func (f *Fake) Apply(s Scenario) error {
	if err := s.Validate(); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if s.Limits != "" {
		l, err := ParseLimits(s.Limits)
		if err != nil {
			return err
		}
		f.limits, f.model = l, l.NewModel()
	}
	f.scenario, f.applied = s, f.nowLocked()
	f.rules = nil
	for i, fault := range s.Faults {
		f.rules = append(f.rules, &rule{Fault: fault, number: i + 1})
	}
	f.renumberAt = time.Time{}
	if s.RenumberAfter > 0 {
		f.renumberAt = f.applied.Add(time.Duration(s.RenumberAfter))
	}
	return nil
}
