package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/anivault/anivault/internal/app"
	"github.com/anivault/anivault/internal/decide"
	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/library"
	"github.com/anivault/anivault/internal/match"
	"github.com/anivault/anivault/internal/pins"
	"github.com/anivault/anivault/internal/release"
	"github.com/anivault/anivault/internal/title"
	"github.com/anivault/anivault/internal/ui"
)

func newPin(f *factory) *cobra.Command {
	var season, offset int
	var episodes, order string
	var offline, force bool
	cmd := f.setRun(command("pin"), nil, func(c invocation) error {
		p, err := pinSubject(f, c.args[0])
		if err != nil {
			return err
		}
		if p.Kind, p.ID, err = pins.ParseEntry(c.args[1]); err != nil {
			return usagef("for example: anivault pin PATH tv/26209", "%s", err)
		}
		if c.cmd.Flags().Changed("season") {
			p.Season = &season
		}
		p.Offset, p.Order = offset, order
		if c.cmd.Flags().Changed("episode") {
			if err := setEpisodes(&p, episodes); err != nil {
				return err
			}
		}
		if err := p.Validate(); err != nil {
			return usagef("see: anivault pin --help", "%s", err)
		}
		if err := lookUpPin(f, c.cmd, &p, offline, force); err != nil {
			return err
		}
		return changePins(f, c.cmd, func(s *pins.Set) (lang.Text, error) {
			old, err := s.Put(p)
			if err != nil {
				return "", err
			}
			if old != nil && old.String() != p.String() {
				return lang.Textf("pinned %s, instead of %s", describePin(p), pinTargetText(*old)), nil
			}
			return lang.Textf("pinned %s", describePin(p)), nil
		})
	})
	cmd.Flags().IntVar(&season, "season", 0, "TMDB's `NUMBER` of the season that the files belong to (0: specials)")
	cmd.Flags().IntVar(&offset, "offset", 0, "`NUMBER` added to the episode numbers in the names; may be negative")
	cmd.Flags().StringVar(&episodes, "episode", "",
		"the `NUMBER` of the episode in that one file: 5, 5-6 or 5,7 (without --season, of season 1)")
	cmd.Flags().StringVar(&order, "order", "",
		"count the whole series in the `ORDER` tmdb, absolute, tvdb, anidb or group:NAME, whatever match.order says")
	cmd.Flags().BoolVar(&force, "force", false, "pin an entry that TMDB does not have")
	cmd.Flags().BoolVar(&offline, "offline", false, "don't ask TMDB about the entry; use what is cached")
	cmd.ValidArgsFunction = f.completePin
	return cmd
}

// setEpisodes makes p the pin of one existing file's episodes.
func setEpisodes(p *pins.Pin, text string) (err error) {
	if info, err := os.Stat(p.Path); p.Path == "" || err != nil || info.IsDir() {
		return usagef("for example: anivault pin Show/video.mkv tv/26209 --season 1 --episode 5",
			"--episode is for one file that exists")
	}
	if p.Season == nil && p.Kind == match.TV {
		p.Season = new(1)
	}
	if p.Episodes, err = pins.ParseEpisodes(text); err != nil {
		return usagef("see: anivault pin --help", "--episode: %s", err)
	}
	return nil
}

// lookUpTimeout limits the wait for the name of an entry: the pin is saved even without it.
const lookUpTimeout = 5 * time.Second

// lookUpPin sets the name of a pin. Unless force is set, it refuses an entry that TMDB does not have. It warns if the
// entry has no such season or episode. Without a key it uses only the cache, and only warns.
func lookUpPin(f *factory, cmd *cobra.Command, p *pins.Pin, offline, force bool) error {
	cfg, err := f.load(cmd)
	if err != nil {
		return err
	}
	cfg.Tuning.MaxWait = min(cfg.Tuning.MaxWait, lookUpTimeout)
	offline = offline || cfg.LacksKey()
	var absent error
	err = withApp(cmd.Context(), f, cfg, offline, func(run *app.App) error {
		e, err := run.Entry(cmd.Context(), p.Kind, p.ID)
		if err == nil {
			p.Name = title.WithYear(e.Title, e.Year)
			switch name := ui.Printable(p.Name); {
			case p.Season == nil:
			case !e.HasSeason(*p.Season):
				f.warn("%s, %s, has no season %d", p.Entry(), name, *p.Season)
			case len(e.FindEpisodes(*p.Season, p.Episodes)) < len(p.Episodes):
				f.warn("%s, %s, has no season %d episode %s", p.Entry(), name, *p.Season, ui.Numbers(p.Episodes, ","))
			}
			return nil
		}
		if !errors.Is(err, match.ErrNoEntry) {
			if _, why := app.Explain(err); !offline && cmd.Context().Err() == nil {
				f.warn("can't check whether TMDB has %s: %s", p.Entry(), why)
			}
			return context.Cause(cmd.Context()) // after Ctrl-C, nothing is pinned
		}
		other := map[match.Kind]match.Kind{match.TV: match.Movie, match.Movie: match.TV}[p.Kind]
		hint := lang.Text("anivault search finds entries")
		if e, err := run.Entry(cmd.Context(), other, p.ID); err == nil {
			hint = lang.Textf("%s/%d is %s", other, p.ID, ui.Printable(title.WithYear(e.Title, e.Year)))
		}
		if offline || force {
			f.warn("TMDB has no %s; %s", p.Entry(), hint)
			return nil
		}
		absent = usagef(hint, "TMDB has no %s; --force pins it anyway", p.Entry())
		return nil
	})
	if absent != nil {
		return absent
	}
	if refused, ok := errors.AsType[*exitError](err); ok && refused.code == exitUnauthorized { // the warning says so
		return nil
	}
	return err
}

func (f *factory) completePin(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) != 1 {
		return nil, cobra.ShellCompDirectiveDefault
	}
	cfg, err := f.load(cmd)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	run, err := app.Open(cfg, app.Options{Offline: true, Warn: func(error) {}})
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	defer func() { _ = run.Close() }() // an error is harmless after reading
	text := cmp.Or(release.Parse(filepath.ToSlash(args[0])).Title, args[0])
	found, _, _ := run.Search(cmd.Context(), decide.TitleSearch{Text: text}) // after an error it offers the results so far
	return mapped(found, func(f decide.SearchResult) string {
		label := ui.Escaped(title.WithYear(f.Hit.Title, f.Hit.Year))
		return fmt.Sprintf("%s/%d\t%s", f.Hit.Kind, f.Hit.ID, label)
	}), cobra.ShellCompDirectiveNoFileComp
}

func changePins(f *factory, cmd *cobra.Command, change func(*pins.Set) (lang.Text, error)) error {
	cfg, err := f.load(cmd)
	if err != nil {
		return err
	}
	var message lang.Text
	_, err = pins.Open(cfg.Dirs.Data).Update(context.WithoutCancel(cmd.Context()), func(s *pins.Set) error {
		message, err = change(s)
		return err
	})
	if err == nil {
		f.say("%s\n", message)
	}
	return err
}

func describePin(p pins.Pin) lang.Text {
	what := lang.Textf("%s", ui.Printable(p.PathOrTitle()))
	if p.Title != "" {
		what = lang.Textf("the title %s", what)
	}
	target := pinTargetText(p)
	if p.Name != "" {
		target += ", " + ui.Escaped(p.Name)
	}
	return lang.Textf("%s: %s", what, target)
}

// pinTargetText returns the entry, season, offset and episodes of a pin: "tv/1 season 1 offset 12".
func pinTargetText(p pins.Pin) string {
	entry := p.Entry()
	if p.Season != nil {
		entry += " " + lang.Sprintf("season %d", *p.Season)
	}
	if p.Offset != 0 {
		entry += fmt.Sprintf(" offset %d", p.Offset)
	}
	if len(p.Episodes) > 0 {
		entry += " " + lang.Sprintf("episode %s", ui.Numbers(p.Episodes, ","))
	}
	if p.Order != "" {
		entry += " " + lang.Sprintf("order %s", ui.Printable(p.Order))
	}
	return entry
}

func pinSubject(f *factory, arg string) (pins.Pin, error) {
	if _, err := os.Lstat(arg); err != nil {
		if !strings.Contains(filepath.ToSlash(arg), "/") && !library.IsVideo(arg) {
			return pins.Pin{Title: arg}, nil
		}
		f.warn("%s does not exist", ui.Printable(arg))
	}
	path, err := filepath.Abs(arg)
	if err != nil {
		return pins.Pin{}, lang.Error("resolve %s: %w", ui.Printable(arg), err)
	}
	return pins.Pin{Path: pins.RealPath(path)}, nil
}

func newUnpin(f *factory) *cobra.Command {
	return f.setRun(command("unpin"), nil, func(c invocation) error {
		return changePins(f, c.cmd, func(s *pins.Set) (lang.Text, error) {
			var said []lang.Text
			for _, arg := range c.args {
				old, err := removePin(s, arg)
				if err != nil {
					return "", err
				}
				said = append(said, lang.Textf("unpinned %s", describePin(*old)))
			}
			return lang.Join(said, "\n"), nil
		})
	})
}

func removePin(s *pins.Set, arg string) (*pins.Pin, error) {
	if path, err := filepath.Abs(arg); err == nil {
		if old := cmp.Or(s.Remove(pins.Pin{Path: path}), s.Remove(pins.Pin{Path: pins.RealPath(path)})); old != nil {
			return old, nil
		}
	}
	if old := s.Remove(pins.Pin{Title: arg}); old != nil {
		return old, nil
	}
	return nil, usagef("anivault pins lists what is pinned", "nothing is pinned for %s", ui.Printable(arg))
}

func newPins(f *factory) *cobra.Command {
	return f.setRunWithConfig(command("pins"), textOrJSON, func(c invocation) error {
		store := pins.Open(c.cfg.Dirs.Data)
		set, err := store.Load()
		if err != nil {
			return err
		}
		for _, warning := range set.Warnings(store.Path()) {
			f.warn("%v", warning)
		}
		if c.format == "json" {
			return f.printJSON(jsonPins{
				store.Path(), append([]pins.Pin{}, set.All()...), append([]pins.Problem{}, set.Problems()...),
			})
		}
		return pinsText(f.streams.Out, store.Path(), set)
	})
}

func pinsText(out io.Writer, path string, set *pins.Set) error {
	for _, p := range set.All() {
		line := ui.Escaped(p.String())
		if p.Name != "" {
			line += "  # " + ui.Escaped(p.Name)
		}
		if _, err := fmt.Fprintln(out, line); err != nil {
			return err
		}
	}
	state := "edit it as you like"
	if set.Len() == 0 {
		state = "nothing is pinned yet"
	}
	_, err := fmt.Fprintf(out, "# %s (%s)\n", ui.Escaped(path), lang.Say(state))
	return err
}

type jsonPins struct {
	File     string         `json:"file" doc:"where the pins are kept"`
	Pins     []pins.Pin     `json:"pins" doc:"each pin"`
	Problems []pins.Problem `json:"problems" doc:"lines that can't be understood"`
}
