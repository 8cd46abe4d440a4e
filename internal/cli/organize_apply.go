package cli

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
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
	var text bytes.Buffer
	if err := writePlan(&text, r); err != nil {
		return nil, err
	}
	return organize.Parse(text.String())
}

// asks reports whether somebody can be asked what to do with the plan.
func (o *organizing) asks(c *command, r *organize.Result) bool {
	return apply.Supported && o.plan == "" && !o.yes && o.format == "table" && len(r.Units) > 0 &&
		c.streams.InTTY && c.streams.OutTTY && c.streams.ErrTTY
}

// ask lets a person decide what becomes of a plan: nothing, unless something else is typed.
func (c *command) ask(ctx context.Context, o *organizing, r *organize.Result) error {
	p := person{out: c.streams.Err, lines: bufio.NewReader(c.streams.In), width: c.streams.Width}
	plan, err := readBack(r)
	if err != nil {
		return err
	}
	var edited []byte
	var bad error // why what was edited can't be carried out
	for {
		answer, err := p.read(ctx, lang.Say("a apply, e edit, s save, Enter nothing > "))
		if err != nil {
			return &failure{code: max(signalStatus(ctx), exitInterrupted)}
		}
		switch strings.ToLower(answer) {
		case "", "n", "nothing":
			c.say("nothing was changed\n")
			return nil
		case "a", "apply":
			if bad != nil {
				complain(c.streams, bad.Error())
				continue
			}
			a := o.applying(r)
			if edited != nil {
				a = &applying{partial: o.partial, wait: o.wait, format: o.format, began: o.began}
			}
			return c.carryOut(ctx, o.cfg, a, plan)
		case "e", "edit":
			if edited, err = c.edit(ctx, r, edited); err != nil {
				return err
			}
			if plan, bad = organize.Parse(string(edited)); bad != nil {
				complain(c.streams, bad.Error())
			}
		case "s", "save":
			if saved, err := c.save(ctx, &p, r, edited); saved || err != nil {
				return err
			}
		}
	}
}

// edit opens the plan, or what was made of it before, in the person's editor and returns the new text.
func (c *command) edit(ctx context.Context, r *organize.Result, text []byte) ([]byte, error) {
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
		return nil, &failure{exitUsage, fmt.Errorf("edit the plan: %w", err), "set VISUAL or EDITOR to the editor you use; nothing was changed"}
	}
	return os.ReadFile(file.Name())
}

// save writes the plan, or what was made of it, to a new file that the person names. It reports whether that could be done.
func (c *command) save(ctx context.Context, p *person, r *organize.Result, edited []byte) (bool, error) {
	const standard = "library.plan"
	name, err := p.read(ctx, lang.Sprintf("file [%s] > ", standard))
	if err != nil {
		return false, &failure{code: max(signalStatus(ctx), exitInterrupted)}
	}
	name = cmp.Or(name, standard)
	err = keepPlan(name, func(w io.Writer) error {
		if edited != nil {
			_, err := w.Write(edited)
			return err
		}
		return writePlan(w, r)
	})
	if err != nil {
		complain(c.streams, err.Error())
		return false, nil
	}
	c.say("saved: %s\n", ui.ShellWord(name))
	return true, nil
}

// keepPlan writes a plan to a file that is not there yet: what stands in its place may have been edited.
func keepPlan(path string, fill func(io.Writer) error) error {
	err := atomicfile.WriteNew(path, 0o600, fill)
	if errors.Is(err, fs.ErrExist) {
		return planExists(path)
	}
	return err
}

// planExists is the failure of writing a plan over something.
func planExists(path string) error {
	return &failure{
		exitUsage, fmt.Errorf("%q is there already, and is not replaced", path), "name another file, or remove that one first",
	}
}
