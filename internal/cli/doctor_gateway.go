package cli

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/anivault/anivault/internal/config"
	"github.com/anivault/anivault/internal/gateway"
	"github.com/anivault/anivault/internal/lang"
)

// checkGateway checks what serve checks before it listens, and asks a running gateway how it is.
func checkGateway(ctx context.Context, cfg *config.Config, offline bool) finding {
	own := *cfg
	err := own.ForServe()
	if err == nil {
		err = gateway.Check(&own)
	}
	if err != nil {
		return fault("gateway", lang.Textf("would not start: %s", err), "correct this; anivault serve check says whether it is mended")
	}
	f := finding{what: "gateway", state: lang.Textf("settings are valid; %s", lang.Count(len(own.Serve.Clients), "client"))}
	if offline {
		return f
	}
	const patience = 2 * time.Second
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	running, err := gateway.FindRunning(ctx, &own)
	if other, ok := errors.AsType[*gateway.NotOursError](err); ok {
		f.state = lang.Textf("%s; %s", f.state, other)
		f.fix = "to run a gateway, name another address: serve.listen, or anivault serve --listen ADDR"
		return f
	}
	switch {
	case running == nil:
		f.state = lang.Textf("%s; none runs", f.state)
	case !running.Ready:
		f.state, f.fix = lang.Textf("%s shuts down", running.Addr), "wait until it has ended"
	case len(running.Degraded) > 0:
		f.state, f.fix = lang.Textf("%s serves, degraded: %s", running.Addr, strings.Join(running.Degraded, ", ")), "anivault status; meanwhile it answers from the cache"
	default:
		f.state = lang.Textf("%s serves; %s", running.Addr, running.State)
	}
	return f
}
