package cli

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"strings"

	"github.com/anivault/anivault/internal/apply"
	"github.com/anivault/anivault/internal/atomicfile"
	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/organize"
	"github.com/anivault/anivault/internal/ui"
)

// applyPlanned carries the plan out that was just made. What was left is told with it.
func (c *command) applyPlanned(ctx context.Context, o *organizing, r *organize.Result) error {
	plan, err := readBack(r)
	if err != nil {
		return err
	}
	if o.format != "ndjson" {
		if err := c.printTree(r); err != nil {
			return err
		}
	}
	for _, w := range r.Warnings() {
		c.warn("%s", w)
	}
	return c.carryOut(ctx, o.cfg, o.applying(r), plan)
}

// applying is what apply has to know of a plan that was just made.
func (o *organizing) applying(r *organize.Result) *applying {
	a := &applying{partial: o.partial, wait: o.wait, format: o.format, began: o.began, units: r.Units}
	s := summarize(o, r)
	a.left, a.planned = r.Left, &s
	return a
}

// readBack returns a plan as it comes back from its text, so that the same is carried out as would be saved.
func readBack(r *organize.Result) (*organize.Plan, error) {
	text, err := planText(r)
	if err != nil {
		return nil, err
	}
	return organize.Parse(text)
}

// asks reports whether somebody can be asked what to do with the plan.
func (o *organizing) asks(c *command, r *organize.Result) bool {
	return apply.Supported && o.plan == "" && !o.yes && o.format == "table" && len(r.Units) > 0 &&
		c.streams.InTTY && c.streams.OutTTY && c.streams.ErrTTY
}

// asking is a plan that a person decides about, and may have edited.
type asking struct {
	*command
	o      *organizing
	r      *organize.Result
	p      person
	plan   *organize.Plan
	edited []byte // nil: the plan is as it was made
	bad    error  // why what was edited can't be carried out
}

const askHelp = "a carries the plan out, e opens it in your editor, s saves it to a file, q or Enter leaves all as it is\n"

// ask lets a person decide what becomes of a plan: nothing, unless something else is typed.
func (c *command) ask(ctx context.Context, o *organizing, r *organize.Result) error {
	plan, err := readBack(r)
	if err != nil {
		return err
	}
	a := asking{command: c, o: o, r: r, plan: plan, p: person{out: c.streams.Err, lines: bufio.NewReader(c.streams.In), width: c.streams.Width}}
	for {
		answer, err := a.p.read(ctx, lang.Say("a apply, e edit, s save, q or Enter nothing, ? help > "))
		if err != nil {
			return a.given(ctx, err)
		}
		switch strings.ToLower(answer) {
		case "", "n", "nothing", "q", "quit":
			c.say("nothing was changed\n")
			return nil
		case "a", "apply":
			if a.bad != nil {
				c.say("the plan can't be carried out as it was edited; e opens it again\n")
				continue
			}
			return a.apply(ctx)
		case "e", "edit":
			if err := a.edit(ctx); err != nil {
				return a.given(ctx, err)
			}
		case "s", "save":
			if saved, err := a.save(ctx); saved || err != nil {
				return a.given(ctx, err)
			}
		case "?", "help":
			c.say(askHelp)
		default:
			c.say("%s is none of the answers: %s", ui.Printable(answer), lang.Say(askHelp))
		}
	}
}

// given returns the end of asking: who closes the terminal's input leaves all as it is.
func (a *asking) given(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return &failure{code: max(signalStatus(ctx), exitInterrupted)}
	case errors.Is(err, io.EOF):
		a.say("nothing was changed\n")
		return nil
	}
	return err
}

func (a *asking) apply(ctx context.Context) error {
	how := a.o.applying(a.r)
	if a.edited != nil {
		how = &applying{partial: a.o.partial, wait: a.o.wait, format: a.o.format, began: a.o.began}
	}
	return a.carryOut(ctx, a.o.cfg, how, a.plan)
}

// edit takes the plan as the person's editor leaves it. That there is no editor ends nothing.
func (a *asking) edit(ctx context.Context) error {
	text, err := a.openEditor(ctx, a.r, a.edited)
	if told, ok := errors.AsType[*failure](err); ok && ctx.Err() == nil {
		printError(a.streams, told)
		return nil
	}
	if err != nil {
		return err
	}
	a.edited = text
	if a.plan, a.bad = organize.Parse(string(text)); a.bad != nil {
		a.listProblems("plan", a.bad)
		a.say("the plan can't be carried out as it was edited; e opens it again\n")
		return nil //nolint:nilerr // it was said, and the person is asked again
	}
	files := 0
	for i := range a.plan.Units {
		files += len(a.plan.Units[i].Ops)
	}
	a.say("edited: the plan has %s in %s now; a carries it out\n", lang.Count(files, "file"), lang.Count(len(a.plan.Units), "unit"))
	return nil
}

// openEditor opens the plan, or what was made of it before, in the person's editor and returns the new text.
func (c *command) openEditor(ctx context.Context, r *organize.Result, text []byte) ([]byte, error) {
	if text == nil {
		var b bytes.Buffer
		if err := writePlan(&b, r); err != nil {
			return nil, err
		}
		text = b.Bytes()
	}
	file, err := os.CreateTemp("", "anivault-*.plan")
	if err != nil {
		return nil, err
	}
	defer os.Remove(file.Name())
	_, err = file.Write(text)
	if closing := file.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return nil, err
	}
	words := strings.Fields(cmp.Or(c.getenv("VISUAL"), c.getenv("EDITOR"), "vi"))
	editor := exec.CommandContext(ctx, words[0], append(words[1:], file.Name())...)
	editor.Stdin, editor.Stdout, editor.Stderr = c.streams.In, c.streams.Out, c.streams.Err
	if err := editor.Run(); err != nil {
		return nil, &failure{exitUsage, lang.Error("edit the plan: %w", err), "set VISUAL or EDITOR to the editor you use; nothing was changed"}
	}
	edited, err := os.ReadFile(file.Name())
	if err != nil {
		return nil, &failure{exitUsage, lang.Error("the editor has left no plan"), "the plan is as it was; e opens it again"}
	}
	return edited, nil
}

// save writes the plan, or what was made of it, to a new file that the person names. It reports whether that could be done.
func (a *asking) save(ctx context.Context) (bool, error) {
	const standard = "library.plan"
	name, err := a.p.read(ctx, lang.Sprintf("file [%s], q back > ", standard))
	if err != nil {
		return false, err
	}
	if name == "q" {
		return false, nil
	}
	name = cmp.Or(name, standard)
	err = keepPlan(name, func(w io.Writer) error {
		if a.edited != nil {
			_, err := w.Write(a.edited)
			return err
		}
		return writePlan(w, a.r)
	})
	if err != nil {
		printError(a.streams, err)
		return false, nil
	}
	a.say("saved: %s\n", ui.ShellWord(name))
	a.say("next: anivault apply %s\n", ui.ShellWord(name))
	return true, nil
}

// keepPlan writes a plan to a file that is not there yet: what stands in its place may have been edited.
func keepPlan(path string, fill func(io.Writer) error) error {
	err := atomicfile.WriteNew(path, 0o600, fill)
	if errors.Is(err, fs.ErrExist) {
		return planExists(path)
	}
	if of, ok := errors.AsType[*fs.PathError](err); ok { // it has the name that the file had on the way
		return &failure{exitUsage, lang.Error("write %s: %w", ui.Printable(path), of.Err), "name a file in a folder that is there and that you may write to"}
	}
	return err
}

// planExists is the failure of writing a plan over something.
func planExists(path string) error {
	return &failure{
		exitUsage, lang.Error("%q is there already, and is not replaced", path), "name another file, or remove that one first",
	}
}
