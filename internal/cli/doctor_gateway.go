package cli

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/anivault/anivault/internal/config"
	"github.com/anivault/anivault/internal/gateway"
	"github.com/anivault/anivault/internal/ui"
)

// checkGateway checks what serve checks before it listens, and asks a running gateway how it is.
func checkGateway(ctx context.Context, cfg *config.Config, offline bool) finding {
	own := *cfg
	err := own.ForServe()
	if err == nil {
		err = gateway.Check(&own)
	}
	if err != nil {
		return fault("gateway", "would not start: "+err.Error(), "correct this; anivault serve check says whether it is mended")
	}
	f := finding{what: "gateway", state: "settings are valid; " + ui.Count(len(own.Serve.Clients), "client")}
	if offline {
		return f
	}
	const patience = 2 * time.Second
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	running, err := gateway.FindRunning(ctx, &own)
	if other, ok := errors.AsType[*gateway.NotOursError](err); ok {
		f.state += "; " + other.Error()
		f.fix = "to run a gateway, name another address: serve.listen, or anivault serve --listen ADDR"
		return f
	}
	switch {
	case running == nil:
		f.state += "; none runs"
	case !running.Ready:
		f.state, f.fix = running.Addr+" shuts down", "wait until it has ended"
	case len(running.Degraded) > 0:
		f.state, f.fix = running.Addr+" serves, degraded: "+strings.Join(running.Degraded, ", "), "anivault status; meanwhile it answers from the cache"
	default:
		f.state = running.Addr + " serves; " + running.State
	}
	return f
}
