package cli

import (
	"cmp"
	"context"
	"crypto/sha256"
	_ "embed" // the unit
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/anivault/anivault/internal/app"
	"github.com/anivault/anivault/internal/apply"
	"github.com/anivault/anivault/internal/config"
	"github.com/anivault/anivault/internal/index"
	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/lockfile"
	"github.com/anivault/anivault/internal/organize"
	"github.com/anivault/anivault/internal/pins"
	"github.com/anivault/anivault/internal/ui"
	"github.com/anivault/anivault/internal/watch"
)

type watchRun struct {
	f     *factory
	cmd   *cobra.Command
	match matchOptions
	cfg   *config.Config

	format    string
	printUnit bool

	path    string // the watched folder: the argument, made absolute
	tree    *watch.Tree
	targets []organize.Root // the libraries, as they were at the start
	state   *watch.State
	warned  map[string]bool               // keys of warnOnce
	placed  map[string][]apply.PlacedFile // the files that each run placed; the key is the run's id and stage
}

func newWatch(f *factory) *cobra.Command {
	w := watchRun{
		f: f, match: matchOptions{f: f, warned: new(app.WarnOnce)},
		warned: map[string]bool{}, placed: map[string][]apply.PlacedFile{},
	}
	cmd := f.setRun(command("watch"), organizeFormats, func(c invocation) error {
		w.cmd, w.format = c.cmd, c.format
		return w.run(c.cmd.Context(), c.args)
	})
	flags := cmd.Flags()
	addPlanFlags(cmd)
	addSettingFlags(cmd, flags, "watch.settle", "watch.rescan", "watch.poll")
	flags.BoolVar(&w.printUnit, "print-unit", false, "print a systemd unit that runs this command, and exit")
	addMatchFlags(cmd, &w.match)
	return cmd
}

func (w *watchRun) run(ctx context.Context, args []string) error {
	if err := w.prepare(args); err != nil || w.printUnit {
		return err
	}
	dir := filepath.Join(w.cfg.Dirs.State, "watch")
	if err := lockfile.MkdirAll(dir); err != nil {
		return err
	}
	name := sha256.Sum256([]byte(w.tree.Root.Path))
	file := filepath.Join(dir, hex.EncodeToString(name[:8]))
	release, err := w.lockFolder(ctx, file+".lock")
	if err != nil {
		return err
	}
	defer release()
	roots := append([]organize.Root{w.tree.Root}, w.targets...)
	if w.state, err = watch.ReadState(file+".json", roots, w.settingsHash); err != nil {
		return err
	}
	w.tree.Root, w.targets = roots[0], roots[1:]
	conf := watch.Config{
		Settle: w.cfg.Watch.Settle, Rescan: w.cfg.Watch.Rescan, Poll: w.cfg.Watch.Poll, State: w.state, Disk: w.tree,
		InputsDigest: func() string { version, _ := w.pinsAndIndex(); return version },
		Batch:        w.organizeBatch,
		OnEvent:      w.printEvent,
		Save:         func() { w.save(file + ".json") },
	}
	notices, err := watch.Listen(w.tree, w.cfg.Dirs.Data)
	if err != nil {
		w.printEvent(watch.NoNotices, ".", err)
	} else {
		conf.Notices = notices
		defer notices.Close()
	}
	w.f.say("watching %s; Ctrl-C ends it\n", ui.Printable(w.path))
	defer startNotices(ctx, func() *config.Config { return w.cfg }, func(err error) { w.f.warn("%v", err) })()
	w.resume(ctx)
	err = watch.New(conf).Run(ctx)
	if ctx.Err() != nil {
		return &exitError{code: max(exitStatusOfSignal(ctx), exitInterrupted)}
	}
	return err
}

func (w *watchRun) prepare(args []string) (err error) {
	if err := w.match.checkExcludes(); err != nil {
		return err
	}
	if w.cfg, _, err = w.match.open(w.cmd, args); err != nil {
		return err
	}
	if w.path, err = filepath.Abs(args[0]); err != nil {
		return err
	}
	if err := checkHook(w.cfg); err != nil {
		return err
	}
	e, err := openEngine(w.cfg)
	if err != nil {
		return err
	}
	e.Journals.Close()
	if w.tree, err = watch.Open(w.path); err != nil {
		return usagef("name a folder; anivault organize handles a single file", "%v", err)
	}
	o, err := w.newOrganizeRun()
	if err != nil {
		return err
	}
	w.targets = mapped(o.options.Targets, func(t organize.RootInfo) organize.Root { return t.Root })
	if w.printUnit { // only after the checks: the unit would only repeat what they refuse
		return w.printSystemdUnit()
	}
	return nil
}

func (w *watchRun) newOrganizeRun() (*organizeRun, error) {
	o := &organizeRun{
		f: w.f, match: w.match, cfg: w.cfg, forWatch: true, yes: true, partial: true, format: w.format,
		started: time.Now(), wait: time.Hour,
	}
	return o, o.prepare(w.cmd, []string{w.path})
}

func (w *watchRun) lockFolder(ctx context.Context, file string) (release func(), err error) {
	release, err = lockfile.Acquire(ctx, file, lockfile.Exclusive, 0)
	switch {
	case errors.Is(err, lockfile.ErrBusy):
		return nil, exitErrorf(exitIncomplete, "only one process can watch a folder",
			"%s is already being watched: %s", ui.Printable(w.path), readLockHolder(file))
	case err != nil:
		return nil, err
	}
	return release, writeLockHolder(file)
}

// settingsHash returns a hash of the folders and of all settings that change the result. A state that was saved with
// another hash is not used.
func (w *watchRun) settingsHash(roots []organize.Root) string {
	set := w.cfg.Organize
	set.Exec = nil
	text, err := json.Marshal([]any{roots[0], roots[1:], set, w.cfg.Match, w.cfg.TMDB.Languages, w.match.exclude})
	if err != nil {
		panic(err) // a bug: plain values can always be encoded
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

func (w *watchRun) save(file string) {
	if err := cmp.Or(lockfile.MkdirAll(filepath.Dir(file)), w.state.Write(file)); err != nil {
		w.warnOnce(file, func() { w.f.warn("%v; watching continues, and the next start looks at all folders again", err) })
		return
	}
	delete(w.warned, file)
}

// pinsAndIndex returns a text that changes whenever the pins or the index change, and the time of the last change.
func (w *watchRun) pinsAndIndex() (version string, changed time.Time) {
	for _, file := range []string{pins.Open(w.cfg.Dirs.Data).Path(), filepath.Join(w.cfg.Dirs.Data, index.FileName)} {
		if info, err := os.Stat(file); err == nil {
			version += fmt.Sprint(info.Size(), " ", info.ModTime().UnixNano(), ", ")
			if info.ModTime().After(changed) {
				changed = info.ModTime()
			}
		}
	}
	return version, changed
}

func (w *watchRun) printEvent(e watch.Event, name string, err error) {
	where := ui.Printable(filepath.Join(w.path, filepath.FromSlash(name)))
	switch e {
	case watch.FolderLost:
		w.f.warn("%v; waiting until it is back", err)
	case watch.FolderFound:
		w.f.say("%s is back\n", where)
	case watch.NoNotices:
		w.f.warn("%s sends no notifications (%v): it is scanned every %s", where, err, ui.Countdown(w.cfg.Watch.Poll))
		if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EMFILE) { // the limit of watches
			printHint(w.f.streams, "raise the limit: "+
				"sysctl fs.inotify.max_user_watches=524288 fs.inotify.max_user_instances=512")
		}
	case watch.FolderUnreadable:
		w.f.warn("%s can't be read: %v", where, err)
	case watch.VideoBeingWritten:
		w.f.say("%s\n", lang.Sprintf("%s is open for writing: it is organized once it is closed", where))
	}
}

// systemdUnitText is a unit for systemd's user manager. It has no ReadWritePaths or similar setting: those would put
// PATH and the library on separate mounts, and hard links can't cross mounts.
//
//go:embed watch.service
var systemdUnitText string

func (w *watchRun) printSystemdUnit() error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	words := []string{program, "watch", w.path}
	w.cmd.Flags().Visit(func(flag *pflag.Flag) {
		if flag.Name == "print-unit" {
			return
		}
		values := []string{flag.Value.String()}
		if list, ok := flag.Value.(pflag.SliceValue); ok {
			values = list.GetSlice()
		}
		for _, v := range values {
			names := slices.Contains(pathFlags, flag.Name) && (flag.Name != "exec" || strings.Contains(v, "/"))
			if abs, err := filepath.Abs(v); err == nil && names {
				v = abs // the service has another working folder
			}
			words = append(words, "--"+flag.Name+"="+v)
		}
	})
	words = mapped(words, func(s string) string { return quoteUnitWord(s, true) })
	environment := ""
	for _, kv := range withoutSecrets(w.f.environ) {
		address, ok := strings.CutPrefix(kv, "ANIVAULT_COORDINATOR=")
		if u, err := url.Parse(address); ok && err == nil {
			if _, shown := u.User.Password(); shown {
				return usagef("write it into a file, and name that file in ANIVAULT_COORDINATOR_PASSWORD_FILE",
					"--print-unit: the unit would show the password in ANIVAULT_COORDINATOR")
			}
		}
		if strings.HasPrefix(kv, "ANIVAULT_") {
			environment += "Environment=" + quoteUnitWord(kv, false) + "\n"
		}
	}
	_, err = fmt.Fprintf(w.f.streams.Out, systemdUnitText, "~/.config/systemd/user/anivault-watch.service",
		strings.ReplaceAll(w.path, "%", "%%"), environment, strings.Join(words, " "))
	return err
}

var pathFlags = []string{"to", "to-tv", "to-movies", "exec", "config", "log-file", "metrics-file", "metrics-textfile"}

// quoteUnitWord quotes a word for a systemd unit; in a command it also escapes $, which begins a variable.
func quoteUnitWord(s string, inCommand bool) string {
	s = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "%", "%%").Replace(s)
	if inCommand {
		s = strings.ReplaceAll(s, "$", "$$")
	}
	return `"` + s + `"`
}
