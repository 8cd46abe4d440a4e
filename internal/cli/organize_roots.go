package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/anivault/anivault/internal/fsx"
	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/library"
	"github.com/anivault/anivault/internal/match"
	"github.com/anivault/anivault/internal/orders"
	"github.com/anivault/anivault/internal/organize"
	"github.com/anivault/anivault/internal/organize/disk"
	"github.com/anivault/anivault/internal/report"
	"github.com/anivault/anivault/internal/ui"
)

func (o *organizeRun) openRoots(ctx context.Context, args []string) error {
	set := o.cfg.Organize
	tv, movies := cmp.Or(set.ToTV, set.To), cmp.Or(set.ToMovies, set.To)
	if tv == "" || movies == "" {
		return usagef("for example: --to /srv/library (with --in-place, the library itself); organize.to in the config file "+
			"sets it for good", "no --to given: where should the library be?")
	}
	for _, to := range []struct {
		dir, flag string
		index     *int
	}{{tv, "--to-tv", &o.options.TVTarget}, {movies, "--to-movies", &o.options.MovieTarget}} {
		place, err := disk.RootOf(to.dir)
		if errors.Is(err, fs.ErrNotExist) && o.offerToMakeTarget(ctx, to.dir) {
			place, err = disk.RootOf(to.dir)
		}
		if of, ok := errors.AsType[*fs.PathError](err); ok { // its path may be a parent of the folder
			err = fmt.Errorf("%s: %w", ui.Printable(to.dir), of.Err)
		}
		switch {
		case ctx.Err() != nil:
			return &exitError{code: max(exitStatusOfSignal(ctx), exitInterrupted)}
		case err != nil:
			if to.dir == set.To {
				to.flag = "--to"
			}
			return usagef("make the folder first, or check the spelling: a disk may not be mounted", "%s: %v", to.flag, err)
		}
		place.NoReflink = o.options.Mode == organize.ModeReflink && fsx.CantReflink(place.Path)
		*to.index = addRoot(&o.options.Targets, place)
	}
	for _, arg := range args {
		info, err := os.Stat(arg)
		switch {
		case o.recordsFile == "" && err != nil:
			continue // the record of this path has the error
		case errors.Is(err, fs.ErrNotExist):
			return missingPathError(arg)
		case err != nil:
			return &exitError{code: exitUsage, err: err}
		case o.recordsFile != "" && !info.IsDir():
			return usagef("name its folder, or keep only its record", "--from: %s is not a folder", ui.Printable(arg))
		}
		dir := arg
		if !info.IsDir() {
			dir = filepath.Dir(arg)
		}
		place, err := disk.RootOf(dir)
		if err != nil {
			return &exitError{code: exitUsage, err: err}
		}
		if err := o.checkNoOverlap(place.Path, info.IsDir(), arg); err != nil {
			return err
		}
		place.GivenPath = filepath.ToSlash(filepath.Clean(dir))
		addRoot(&o.options.Sources, place)
	}
	return nil
}

// offerToMakeTarget asks at the terminal whether to make the library's folder, and reports whether it has made it. It
// does not make one unasked, because the folder may be on a disk that is not mounted.
func (o *organizeRun) offerToMakeTarget(ctx context.Context, dir string) bool {
	if o.yes || o.forWatch || !o.f.streams.InTTY || !o.f.streams.ErrTTY {
		return false
	}
	yes, err := o.f.confirm(ctx, false, lang.Textf("%s does not exist. Make this folder?", ui.Printable(dir)), "")
	return err == nil && yes && os.MkdirAll(dir, 0o755) == nil
}

func addRoot(roots *[]organize.RootInfo, p organize.RootInfo) int {
	if i := slices.IndexFunc(*roots, func(r organize.RootInfo) bool { return r.Path == p.Path }); i >= 0 {
		return i
	}
	*roots = append(*roots, p)
	return len(*roots) - 1
}

func (o *organizeRun) checkNoOverlap(source string, isFolder bool, shown string) error {
	if o.inPlace {
		return nil
	}
	for _, t := range o.options.Targets {
		if organize.IsBelow(source, t.Path) || isFolder && organize.IsBelow(t.Path, source) {
			hint := lang.Text("--in-place organizes a library where it is, by moving files; otherwise name another --to")
			if o.forWatch {
				hint = "watch needs one folder for new files and another for the library: give another --to"
			}
			return usagef(hint, "%s and --to %s overlap: one is inside the other", ui.Printable(shown), ui.Printable(t.Path))
		}
	}
	return nil
}

// folderRoots finds the source roots of records without PATH arguments: for each file system, the deepest folder that
// contains all of its files.
type folderRoots struct {
	commonFolders map[uint64]string // by device
	devices       []uint64          // in the order of their first record
	seen          map[string]bool
}

// add includes the folder of a record. It skips a folder that does not exist: the planner reports each of its files.
func (f *folderRoots) add(o *organizeRun, dir string) error {
	if f.seen[dir] {
		return nil
	}
	if f.seen == nil {
		f.seen, f.commonFolders = map[string]bool{}, map[uint64]string{}
	}
	f.seen[dir] = true
	place, err := disk.RootOf(dir)
	if err != nil {
		return nil //nolint:nilerr // see above
	}
	if err := o.checkNoOverlap(place.Path, false, dir); err != nil {
		return err
	}
	before, known := f.commonFolders[place.Device]
	if !known {
		f.devices = append(f.devices, place.Device)
		before = place.Path
	}
	for !organize.IsBelow(place.Path, before) {
		before = path.Dir(before)
	}
	f.commonFolders[place.Device] = before
	return nil
}

func (f *folderRoots) roots() ([]organize.RootInfo, error) {
	var out []organize.RootInfo
	for _, device := range f.devices {
		place, err := disk.RootOf(f.commonFolders[device])
		if err != nil {
			return nil, err
		}
		addRoot(&out, place)
	}
	return out, nil
}

type jsonRecord struct {
	Type string `json:"type"`
	report.Record
	PathBytes []byte `json:"path_base64"`
}

func (o *organizeRun) readRecords() error {
	in, err := openInput(o.f, o.recordsFile)
	if err != nil {
		return err
	}
	defer in.Close()
	number := 0
	bad := func(format string, what any) error {
		const hint = "records are what anivault match --format ndjson prints, one per line"
		return usagef(hint, format, o.recordsFile, number, what)
	}
	return library.ReadList(in, false, func(line string) error {
		number++
		if strings.TrimSpace(line) == "" {
			return nil
		}
		var r jsonRecord
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			return bad("--from %s: line %d is not a record: %v", err)
		}
		switch {
		case r.Type == "summary":
			return nil
		case r.Type != "match" || r.Path == "":
			return bad("--from %s: line %d is not a record of match: its type is %q", r.Type)
		case !slices.ContainsFunc(report.Statuses(), func(s report.StatusInfo) bool { return s.Status == r.Status }):
			return bad("--from %s: line %d: %s is not a status", ui.Printable(string(r.Status)))
		}
		if len(r.PathBytes) > 0 {
			r.Path = string(r.PathBytes)
		}
		if o.ordered {
			putInOrder(&r.Record, o.cfg.Match.Order)
		}
		return o.Match(r.Record)
	})
}

// putInOrder gives a record the numbers of an order, by its own orders.
func putInOrder(r *report.Record, order string) {
	if r.Orders == nil && r.Order == "" && r.Season != nil {
		r.Orders = &orders.Orders{TMDB: &orders.Place{Season: *r.Season, Episodes: r.Episodes}}
	}
	if r.Kind == string(match.TV) && r.Orders != nil && cmp.Or(r.Order, orders.TMDB) != order {
		r.Renumber(order, r.Orders.In(order))
	}
}

// printUnowned lists the files that are in no unit by extension, the most frequent first: "3 .txt, 1 .url".
func printUnowned(f *factory, list []report.Unowned) {
	const most = 8
	var parts []string
	others := 0
	for i, u := range list {
		if i < most {
			what := ui.Printable(cmp.Or(u.Extension, lang.Say("without extension")))
			parts = append(parts, lang.Sprintf("%d %s", u.Files, what))
			continue
		}
		others += u.Files
	}
	if others > 0 {
		parts = append(parts, lang.Sprintf("%d more", others))
	}
	if len(parts) > 0 {
		f.say("not in the plan, so they stay where they are: %s\n", strings.Join(parts, ", "))
	}
}
