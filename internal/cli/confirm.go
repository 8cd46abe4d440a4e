package cli

import (
	"bufio"
	"context"
	"errors"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/ui"
)

// yesFlag adds the flag that answers what confirmed asks.
func yesFlag(cmd *cobra.Command, yes *bool) {
	cmd.Flags().BoolVar(yes, "yes", false, "do it without asking; only on a terminal is anything asked")
}

// confirmed reports whether to do what question asks about: a person at a terminal says so, a script is not asked. Who says no
// is told otherwise.
func (f *factory) confirmed(ctx context.Context, yes bool, question, otherwise lang.Text) (bool, error) {
	if yes || !f.streams.InTTY || !f.streams.ErrTTY {
		return true, nil
	}
	p := person{out: f.streams.Err, lines: bufio.NewReader(f.streams.In), width: f.streams.Width}
	answer, err := p.read(ctx, ui.Hanging(lang.Say(question), f.streams.ErrWidth()-len(" [y/N] "), 0)+" [y/N] ")
	switch {
	case ctx.Err() != nil:
		return false, &failure{code: max(signalStatus(ctx), exitInterrupted)}
	case err != nil && !errors.Is(err, io.EOF): // with it nobody says yes
		return false, err
	}
	switch strings.ToLower(answer) {
	case "y", "yes":
		return true, nil
	}
	f.say("%s", otherwise)
	return false, nil
}
