package gateway

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/anivault/anivault/internal/config"
)

func TestARunningGatewayIsFound(t *testing.T) {
	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	plain := start(t, setup{})
	socket := "unix:" + t.TempDir() + "/s"
	start(t, setup{listen: socket})
	for name, row := range map[string]struct {
		listen []string
		addr   string
		bad    bool
	}{
		"one that runs": {
			[]string{strings.TrimPrefix(plain.url, "http://")},
			strings.TrimPrefix(plain.url, "http://"), false,
		},
		"the second one": {
			[]string{"127.0.0.1:1", strings.TrimPrefix(plain.url, "http://")},
			strings.TrimPrefix(plain.url, "http://"), false,
		},
		"all addresses": {
			[]string{":" + plain.url[strings.LastIndex(plain.url, ":")+1:]},
			":" + plain.url[strings.LastIndex(plain.url, ":")+1:], false,
		},
		"on a socket":             {[]string{socket}, socket, false},
		"none":                    {[]string{"127.0.0.1:1"}, "", false},
		"something else is there": {[]string{strings.TrimPrefix(other.URL, "http://")}, "", true},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := &config.Config{}
			cfg.Serve.Listen = row.listen
			found, err := FindRunning(t.Context(), cfg)
			if errors.As(err, new(*OtherProgramError)) != row.bad {
				t.Fatal(err)
			}
			if row.addr == "" {
				if found != nil {
					t.Errorf("found %+v", found)
				}
				return
			}
			if found == nil || found.Addr != row.addr || !found.Ready || found.State != "Normal" || len(found.Degraded) != 0 {
				t.Errorf("found %+v", found)
			}
		})
	}
}

// A gateway that does not see the others says so in the word for what it shares.
func TestAGatewayOnItsOwnSaysSo(t *testing.T) {
	b := start(t, setup{})
	for coordinator, want := range map[string]string{"file": "store_alone", "redis": "coordinator_lost"} {
		s := *b.service.g.settings.Load()
		cfg := *s.cfg
		cfg.Coordinator = coordinator
		s.cfg = &cfg
		b.service.g.settings.Store(&s)
		if got := b.service.g.isolationReason(); got != want {
			t.Errorf("%s: %s", coordinator, got)
		}
	}
}
