package app

import (
	"net/url"
	"reflect"
	"testing"

	"github.com/anivault/anivault/internal/config"
)

// A decision is replayed only for the settings and local inputs under which it was made.
func TestDecisionsHaveTheScopeOfTheirInputs(t *testing.T) {
	base := func() *config.Config {
		return &config.Config{TMDB: config.TMDB{BaseURL: &url.URL{Host: "a"}, Languages: []string{"en-US"}}}
	}
	before := decisionScope(base(), "1", "2")
	if decisionScope(base(), "9", "2") == before || decisionScope(base(), "1", "9") == before ||
		decisionScope(base(), "12", "") == before {
		t.Error("other pins or another index have the same scope")
	}
	for name, change := range map[string]func(*config.Config){
		"address":  func(c *config.Config) { c.TMDB.BaseURL = &url.URL{Host: "b"} },
		"language": func(c *config.Config) { c.TMDB.Languages = []string{"ko-KR", "en-US"} },
	} {
		cfg := base()
		if change(cfg); decisionScope(cfg, "1", "2") == before {
			t.Errorf("another %s has the same scope", name)
		}
	}
	for field := range reflect.TypeFor[config.Match]().Fields() {
		cfg := base()
		switch v := reflect.ValueOf(&cfg.Match).Elem().FieldByIndex(field.Index); v.Kind() {
		case reflect.String:
			v.SetString("tv")
		case reflect.Float64:
			v.SetFloat(0.5)
		case reflect.Bool:
			v.SetBool(true)
		case reflect.Int:
			v.SetInt(3)
		default:
			t.Fatalf("this test can't change %s", field.Name)
		}
		if same := decisionScope(cfg, "1", "2") == before; same != (field.Name == "Jobs" || field.Name == "Order") {
			t.Errorf("another %s has the same scope: %v", field.Name, same)
		}
	}
}
