// Package admin shows and changes a gateway that runs: an API for programs, and pages that need no script. It is
// reached by the token of a client that was made with --admin, and by nobody else.
//
//	server.go     the listener, who may pass, what each address is
//	session.go    logins and their cookies
//	view.go       what is shown
//	change.go     what is changed, by the API and by the pages' forms; package operate does it
//	pages.go      the pages
//	rings.go      what was, for the charts; chart.go draws them
//	events.go     the log's last lines
package admin

import (
	"time"

	"github.com/anivault/anivault/internal/app"
	"github.com/anivault/anivault/internal/config"
)

// Gateway is what is shown and changed.
type Gateway interface {
	// Config is the configuration in force.
	Config() *config.Config
	// Upstream is its way to TMDB, with limiter, accounts and metrics.
	Upstream() *app.Gateway
	// ClientUse returns how many questions of a client wait, and when it last asked, zero for never.
	ClientUse(name string) (waiting int, last time.Time)
}
