package core

import (
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestTheDocumentedDefaults(t *testing.T) {
	want := strings.Fields(`RATE_BASE=35 BUCKET_CAP=35 CEILING=40 CEILING_WINDOW=1.05s CONCURRENCY=4 CONCURRENCY_TOTAL=16
		P_THROTTLE=0.2 P_RECOVER=0.1 N_THROTTLE=3 N_CACHEONLY=5 N_FAILURES=8 S_RECOVER=10 SLEEP_MIN=2s SLEEP_MAX=5m
		SLEEP_MAX_OUTAGE=10s
		PROBE_SUCCESS=5 COOLDOWN_FACTOR=2 HYSTERESIS=2 MIN_SAMPLES=20 WINDOW=30s WINDOW_RECORDS=300
		RAMP_AFTER=400 THROTTLE_EASE=5s CACHEONLY_AFTER=6 MAX_RETRIES=2 MAX_WAIT=2m
		REQUEST_TIMEOUT=15s AUTO_RECOVER=off BUDGET=off QUOTA_ORPHAN_AFTER=1h LIMITED_BY=address PROCESSES=2`)
	fields := Fields()
	if len(fields) != len(want) {
		t.Fatalf("%d settings, want %d", len(fields), len(want))
	}
	for i, f := range fields {
		if got := strings.ToUpper(f.Key) + "=" + f.Default(); got != want[i] {
			t.Errorf("%s, want %s", got, want[i])
		}
		if f.Doc == "" || f.Range() == "" || f.Key != strings.ToLower(f.Key) {
			t.Errorf("%+v", f)
		}
	}
	if n := reflect.TypeFor[Tuning]().NumField(); n != len(fields) {
		t.Errorf("%d fields in Tuning, %d settings", n, len(fields))
	}
	if err := Default().Validate(); err != nil {
		t.Error(err)
	}
}

// No more grants are remembered.
func TestTheCeilingIsAtMostWhatIsRemembered(t *testing.T) {
	if f, ok := FieldByKey("ceiling"); !ok || f.max != maxGrants {
		t.Errorf("ceiling may be %v, %d grants are remembered", f.max, maxGrants)
	}
}

func TestFieldsReadWhatTheyWrite(t *testing.T) {
	for _, f := range Fields() {
		tu := Default()
		if err := f.Set(&tu, f.Default()); err != nil || f.Get(tu) != f.Default() {
			t.Errorf("%s=%s: %v, read back as %s", f.Key, f.Default(), err, f.Get(tu))
		}
	}
}

func TestHowValuesAreWritten(t *testing.T) {
	tests := []struct{ key, text, want string }{
		{"rate_base", "35.0", "35"},
		{"rate_base", " 20 ", "20"},
		{"rate_base", "0.5", "0.5"},
		{"rate_base", "0", "!"},
		{"rate_base", "-3", "!"},
		{"rate_base", "NaN", "!"},
		{"rate_base", "Inf", "!"},
		{"rate_base", "1e1", "!"},
		{"rate_base", "many", "!"},
		{"rate_base", "", "!"},
		{"concurrency", "4.0", "4"},
		{"concurrency", "4.5", "!"},
		{"concurrency", "0", "!"},
		{"concurrency", "99999999999999999999", "!"},
		{"bucket_cap", "20", "20"},
		{"bucket_cap", "0", "!"},
		{"max_wait", "90", "1m30s"},
		{"max_wait", "90s", "1m30s"},
		{"max_wait", "1.5m", "1m30s"},
		{"max_wait", "2h", "2h"},
		{"max_wait", "0", "0s"},
		{"max_wait", "-1", "!"},
		{"max_wait", "1e9h", "!"},
		{"max_wait", "300000h", "!"},
		{"sleep_min", "2.0", "2s"},
		{"ceiling_window", "1.05", "1.05s"},
		{"auto_recover", "15", "15m"},
		{"auto_recover", "15m", "15m"},
		{"auto_recover", "90s", "1m30s"},
		{"auto_recover", "0", "off"},
		{"auto_recover", "off", "off"},
		{"auto_recover", "on", "!"},
		{"budget", "5000/24h", "5000/24h"},
		{"budget", "5000 / 3600", "5000/1h"},
		{"budget", "off", "off"},
		{"budget", "5000", "!"},
		{"budget", "0/24h", "!"},
		{"budget", "5000/0", "!"},
		{"budget", "/24h", "!"},
		{"budget", "1.5/24h", "!"},
	}
	for _, tt := range tests {
		f, ok := FieldByKey(tt.key)
		if !ok {
			t.Fatal(tt.key)
		}
		tu := Default()
		err := f.Set(&tu, tt.text)
		var wrong *TuningError
		switch {
		case tt.want == "!" && (!errors.As(err, &wrong) || wrong.Keys[0] != tt.key || wrong.Remedy == "" || tu != Default()):
			t.Errorf("%s=%q: %v", tt.key, tt.text, err)
		case tt.want != "!" && (err != nil || f.Get(tu) != tt.want):
			t.Errorf("%s=%q: %v, %s, want %s", tt.key, tt.text, err, f.Get(tu), tt.want)
		}
	}
}

func TestCrossedValuesAreRefused(t *testing.T) {
	tests := []struct {
		change func(*Tuning)
		keys   string
	}{
		{func(t *Tuning) { t.PRecover = 0.2 }, "p_recover p_throttle"},
		{func(t *Tuning) { t.SleepMin = 301 * time.Second }, "sleep_min sleep_max"},
		{func(t *Tuning) { t.RateBase = 41 }, "rate_base ceiling"},
		{func(t *Tuning) { t.Concurrency = 17 }, "concurrency concurrency_total"},
		{func(t *Tuning) { t.NThrottle = 5 }, "n_throttle n_cacheonly"},
		{func(t *Tuning) { t.MinSamples = 301 }, "min_samples window_records"},
		{func(t *Tuning) { t.SRecover = 301 }, "s_recover window_records"},
		{func(t *Tuning) { t.RateBase = math.NaN() }, "rate_base"},
		{func(t *Tuning) { t.Window = time.Millisecond }, "window"},
		{func(t *Tuning) { t.SleepMin = -1 }, "sleep_min"},
		{func(t *Tuning) { t.Budget = Budget{Requests: 5} }, "budget"},
	}
	for _, tt := range tests {
		tu := Default()
		tt.change(&tu)
		var wrong *TuningError
		if err := tu.Validate(); !errors.As(err, &wrong) || strings.Join(wrong.Keys, " ") != tt.keys {
			t.Errorf("%v, want one about %s", err, tt.keys)
			continue
		}
		for i, k := range wrong.Keys {
			if !strings.Contains(wrong.Error(), k+"="+wrong.Values[i]) || !strings.HasSuffix(wrong.Error(), wrong.Remedy) {
				t.Errorf("%v", wrong)
			}
		}
		if len(wrong.Keys) == 2 {
			if len(tu.clamp()) == 0 || tu.Validate() != nil {
				t.Errorf("clamped to %+v: %v", tu, tu.Validate())
			}
		}
	}
}

func TestBucketCapFollowsTheRate(t *testing.T) {
	tu := Default()
	tu.RateBase = 20
	f, _ := FieldByKey("bucket_cap")
	if f.Get(tu) != "20" {
		t.Errorf("bucket_cap %s", f.Get(tu))
	}
}

// A zero field is the default; a chosen zero is a negative value.
func TestZeroFieldsAreDefaults(t *testing.T) {
	if got := (Tuning{}).WithDefaults(); got != Default() {
		t.Errorf("%+v", got)
	}
	got := Tuning{RateBase: 10, MaxRetries: -1, MaxWait: -1}.WithDefaults()
	want := Default()
	want.RateBase, want.MaxRetries, want.MaxWait = 10, -1, -1
	if got != want || got.Validate() != nil {
		t.Errorf("%+v, %v", got, got.Validate())
	}
	for _, key := range []string{"max_retries", "max_wait"} {
		f, _ := FieldByKey(key)
		tu := Default()
		if err := f.Set(&tu, "0"); err != nil || strings.TrimSuffix(f.Get(tu.WithDefaults()), "s") != "0" {
			t.Errorf("%s=0: %v, read back as %s", key, err, f.Get(tu.WithDefaults()))
		}
	}
}

func FuzzFieldSet(f *testing.F) {
	for i, s := range []string{
		"35", "35.0", "2m", "off", "5000/24h", "-1", "1e9", "NaN", "0x1p-2",
		strings.Repeat("9", 400),
	} {
		f.Add(uint8(i), s)
	}
	f.Fuzz(func(t *testing.T, i uint8, text string) {
		field := Fields()[int(i)%len(fields)]
		tu := Default()
		if err := field.Set(&tu, text); err != nil {
			var wrong *TuningError
			if !errors.As(err, &wrong) || tu != Default() {
				t.Fatalf("%v", err)
			}
			return
		}
		again := Default()
		if err := field.Set(&again, field.Get(tu)); err != nil || field.Get(again) != field.Get(tu) {
			t.Errorf("%s=%q is written as %q: %v", field.Key, text, field.Get(tu), err)
		}
	})
}

// An error about a value out of range shows it as it was given: bucket_cap has numbers of its own for "not set".
func TestRefusedValuesAreShownAsGiven(t *testing.T) {
	for key, text := range map[string]string{
		"bucket_cap": "0", "rate_base": "5000", "sleep_min": "0s",
		"ceiling": "1000000", "n_throttle": "-0",
	} {
		field, _ := FieldByKey(key)
		tuning := Default()
		var refused *TuningError
		if err := field.Set(&tuning, " "+text); !errors.As(err, &refused) || len(refused.Values) != 1 ||
			refused.Values[0] != text {
			t.Errorf("%s=%s: %v", key, text, err)
		}
		if tuning != Default() {
			t.Errorf("%s=%s was refused and set", key, text)
		}
	}
}
