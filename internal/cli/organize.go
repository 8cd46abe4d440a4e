package cli

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/anivault/anivault/internal/app"
	"github.com/anivault/anivault/internal/apply"
	"github.com/anivault/anivault/internal/config"
	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/nfo"
	"github.com/anivault/anivault/internal/orders"
	"github.com/anivault/anivault/internal/organize"
	"github.com/anivault/anivault/internal/organize/disk"
	"github.com/anivault/anivault/internal/pins"
	"github.com/anivault/anivault/internal/report"
	"github.com/anivault/anivault/internal/run"
	"github.com/anivault/anivault/internal/ui"
)

var organizeFormats = []string{"table", "ndjson"}

type organizeRun struct {
	f *factory

	match       matchOptions
	recordsFile string // a file of records to read instead of matching
	ordered     bool   // the user has chosen an order of numbers
	planFile    string // the file to save the plan to
	inPlace     bool
	forWatch    bool // run by watch, which has no --in-place
	strict      bool
	yes         bool // carry the plan out
	partial     bool
	wait        time.Duration
	format      string

	onFileFailed func(source string) // see applyRun

	cfg     *config.Config
	options organize.Options
	disk    disk.Disk
	planner *organize.Planner
	folders folderRoots // the source roots without a PATH argument
	started time.Time
	pins    *pins.Set // with inPlace
	warned  []string  // the paths of pins with an offset that a warning has named

	omittedLines int // of the plan, which is taller than the terminal
}

func newOrganize(f *factory) *cobra.Command {
	o := organizeRun{f: f, match: matchOptions{f: f}}
	cmd := f.setRun(command("organize"), organizeFormats, func(c invocation) error {
		o.format = c.format
		err := o.run(c.cmd, c.args)
		for errors.Is(err, apply.ErrOutdated) && o.recordsFile != "-" && o.match.filesFrom != "-" { // stdin is read only once
			f.say("another run has changed the library meanwhile; the plan is made again\n")
			err = o.run(c.cmd, c.args)
		}
		return f.sendNotices(c.cmd.Context(), o.cfg, err)
	})
	flags := cmd.Flags()
	addPlanFlags(cmd)
	flags.BoolVar(&o.inPlace, "in-place", false, "allow --to inside PATH, or PATH inside --to; files are moved")
	flags.StringVar(&o.recordsFile, "from", "",
		"read the records of match --format ndjson from `FILE` (- for stdin) instead of matching; PATH may be left out")
	flags.StringVar(&o.planFile, "plan", "", "write the plan's text to `FILE` (- for stdout)")
	flags.BoolVar(&o.yes, "yes", false, "carry the plan out without asking, as anivault apply does")
	flags.BoolVar(&o.partial, "partial", false, "skip the units that can't be carried out, and do the rest")
	flags.DurationVar(&o.wait, "wait", 0, "wait up to `TIME` for another run to end")
	flags.BoolVar(&o.strict, "strict", false, "exit with 3 if a file is skipped or in conflict")
	addListFlags(flags, &o.match)
	addInteractiveFlags(flags, &o.match)
	addMatchFlags(cmd, &o.match)
	return cmd
}

func addPlanFlags(cmd *cobra.Command) {
	addSettingFlags(cmd, cmd.Flags(), "organize.to", "organize.to_tv", "organize.to_movies", "organize.mode",
		"organize.or", "organize.layout", "organize.min_confidence", "organize.on_conflict", "organize.extras",
		"organize.nfo", "organize.exec")
	cmd.Flags().Bool(renameExistingFlag, false,
		"also rename files already in the library whose names would be different today")
}

const renameExistingFlag = "rename-existing"

func (o *organizeRun) run(cmd *cobra.Command, args []string) error {
	o.started, o.disk, o.folders = time.Now(), disk.Disk{}, folderRoots{}
	// Matching keeps little of what it allocates, so garbage is collected seldom, and more often while the plan is made.
	defer debug.SetGCPercent(debug.SetGCPercent(300))
	if err := o.check(cmd, args); err != nil {
		return err
	}
	var produce run.Producer
	var err error
	if o.recordsFile != "" {
		o.cfg, err = o.f.load(cmd)
	} else {
		o.match.onFolder = o.disk.AddWalked
		o.cfg, produce, err = o.match.open(cmd, args)
	}
	if err != nil {
		return err
	}
	if err := o.prepare(cmd, args); err != nil {
		return err
	}
	var incomplete error
	if o.recordsFile != "" {
		err = o.readRecords()
	} else {
		o.match.recordWriter = o
		o.match.interactiveCommand, o.match.asksNext = o.match.commandThatAsks(cmd), o.canPrompt()
		if m, least := &o.cfg.Match, o.cfg.Organize.MinConfidence; o.match.interactive { // ask about what would be skipped
			m.MinConfidence, m.MinEpisodeConfidence = max(m.MinConfidence, least), max(m.MinEpisodeConfidence, least)
		}
		err = o.match.run(cmd.Context(), o.cfg, produce)
		if known, ok := errors.AsType[*exitError](err); ok && known.code == exitIncomplete {
			incomplete, err = err, nil // the other files are planned anyway
		}
	}
	if err != nil {
		return err
	}
	debug.SetGCPercent(100)
	return o.finish(cmd.Context(), incomplete)
}

func (o *organizeRun) check(cmd *cobra.Command, args []string) error {
	ofMatch := []string{"interactive", "files-from", "exclude", "type", "min-episode-confidence", "include-adult"}
	if i := slices.IndexFunc(ofMatch, cmd.Flags().Changed); i >= 0 && cmd.Flags().Changed("from") {
		return usagef("leave one of them out", "--from and --%s can't be used together: --from matches nothing", ofMatch[i])
	}
	switch {
	case o.planFile != "" && cmd.Flags().Changed("format"):
		return usagef("leave one of them out", "--plan and --format can't be used together: a plan has its own format")
	case o.yes && o.planFile != "":
		return usagef("leave one of them out",
			"--yes and --plan can't be used together: one carries the plan out, the other saves it")
	case o.yes && !apply.Supported:
		return errUnsupported
	case o.recordsFile == "" && o.match.filesFrom == "" && len(args) == 0:
		return usagef("for example: anivault organize ~/Downloads --to /srv/library", "no PATH given")
	}
	if err := o.match.check(args); err != nil {
		return err
	}
	if o.planFile == "" || o.planFile == "-" {
		return nil
	}
	if info, err := os.Stat(o.planFile); err == nil && info.Mode().IsRegular() {
		return planExistsError(o.planFile)
	}
	return checkWritable("--plan", o.planFile, "library.plan")
}

func (o *organizeRun) prepare(cmd *cobra.Command, args []string) error {
	set := o.cfg.Organize
	layout, err := organize.NewLayout(set.Layout, set.Template)
	if err != nil {
		return templateError(o.cfg, err)
	}
	order := o.cfg.Match.Order
	if why := layout.RefuseOrder(order); why != "" {
		return usagef(why, "the layout %s can't have the order %s", set.Layout, ui.Printable(order))
	}
	o.ordered = order != orders.TMDB || cmd.Flags().Changed("order")
	rename, _ := cmd.Flags().GetBool(renameExistingFlag) // false for a command without this flag
	o.options = organize.Options{
		ID: apply.NewID(o.started), Created: o.started, Mode: set.Mode, FallBackToCopy: set.ModeFallback == "copy",
		Layout: layout, MinConfidence: set.MinConfidence, LabelVersions: set.OnConflict == "version",
		Renumber:    o.inPlace && o.ordered,
		PlaceExtras: set.Extras == "follow", RenameExisting: rename, Replacements: set.Replace,
		NFO: organize.NFOOptions{
			Enabled:   set.NFO == "ids" || set.NFO == "full" || set.NFO == "auto" && layout.NFOByDefault,
			Full:      set.NFO == "full",
			ForOrders: set.NFO != "off" && layout.DisplayOrder,
		},
	}
	if cmd.Flags().Changed("language") { // apply has no such flag, so the plan has to name the languages
		o.options.NFO.Languages = strings.Join(o.cfg.TMDB.Languages, ",")
	}
	if o.inPlace && o.options.Mode != organize.ModeMove {
		if cmd.Flags().Changed("mode") {
			return usagef("add --mode move, or leave --mode out", "--in-place moves files; --mode %s can't", set.Mode)
		}
		o.options.Mode = organize.ModeMove
	}
	if o.inPlace {
		if o.pins, err = pins.Open(o.cfg.Dirs.Data).Load(); err != nil {
			return err
		}
		o.options.IsOrderPinned = func(file string) bool {
			p, known := o.pins.ForPath(file)
			return known && p.Order != ""
		}
	}
	if err := o.openRoots(cmd.Context(), args); err != nil {
		return err
	}
	o.planner = organize.NewPlanner(o.options, &o.disk)
	return nil
}

func templateError(cfg *config.Config, err error) error {
	bad, ok := errors.AsType[*organize.TemplateError](err)
	if !ok {
		return err
	}
	t := cfg.Organize.Template
	names := map[string]string{t.Show: "show", t.Season: "season", t.Movie: "movie", t.Episode: "episode"}
	reason := lang.Textf("%s, at character %d", bad.Problem, bad.Position)
	if bad.Field != "" {
		fields := mapped(organize.Fields(), func(f organize.Field) string { return f.Name })
		if near, found := config.Nearest(bad.Field, fields); found {
			reason = lang.Textf("%s; did you mean %s?", reason, "{"+near+"}")
		}
	}
	return cfg.ErrorFor("organize.template."+names[bad.Template], reason)
}

func (o *organizeRun) Match(r report.Record) error {
	if len(o.options.Sources) == 0 {
		if err := o.folders.add(o, filepath.Dir(r.Path)); err != nil {
			return err
		}
	}
	if o.inPlace && r.Source == "pin" {
		abs, _ := filepath.Abs(r.Path)
		if p, known := o.pins.ForPath(abs); known && p.Offset != 0 && !slices.Contains(o.warned, p.Path) {
			o.warned = append(o.warned, p.Path)
			o.f.warn("the pin of %s adds %d to the numbers in names each time: remove it after this run: anivault unpin %s",
				ui.Printable(p.Path), p.Offset, ui.ShellWord(p.Path))
		}
	}
	r.Path = filepath.ToSlash(r.Path)
	o.planner.Add(&r)
	return nil
}

func (o *organizeRun) Flush() error { return nil }

func (o *organizeRun) Close(report.Summary) error { return nil }

func (o *organizeRun) finish(ctx context.Context, incomplete error) error {
	if len(o.options.Sources) == 0 {
		roots, err := o.folders.roots()
		if err != nil {
			return err
		}
		o.planner.SetSources(roots)
	}
	if ctx.Err() != nil {
		return &exitError{code: max(exitStatusOfSignal(ctx), exitInterrupted)}
	}
	result := o.plan(ctx)
	if o.recordsFile == "" && len(o.disk.WalkedFolders()) == 0 {
		result.UnownedByExtension = nil // the user named files, not their folders
	}
	o.planner = nil // frees half of the memory
	var err error
	switch {
	case o.planFile == "-":
		err = result.Write(o.f.streams.Out)
	case o.yes:
		return cmp.Or(o.apply(ctx, result), o.strictError(result, incomplete))
	case o.planFile != "":
		err = savePlan(o.planFile, result.Write)
	case o.format == "ndjson":
		err = o.printOps(result)
	case o.shouldPrompt(result):
		const linesBelow = 7 // the summary, its hints and the prompt
		o.omittedLines, err = printTree(o.f, result, false, max(o.f.streams.OutHeight()-linesBelow, 0))
	default:
		_, err = printTree(o.f, result, true, 0)
	}
	if exit, ok := errors.AsType[*exitError](err); ok {
		return exit
	} else if err != nil {
		return &exitError{code: exitInternal, err: lang.Error("write the plan: %w", err)}
	}
	o.printPlanSummary(result)
	if o.shouldPrompt(result) {
		return cmp.Or(o.promptForPlan(ctx, result), o.strictError(result, incomplete))
	}
	return o.strictError(result, incomplete)
}

// plan makes the plan. Cached answers tell under which other titles the library may have a show, and which episode
// groups it has.
func (o *organizeRun) plan(ctx context.Context) *organize.Result {
	cached := nfoBuilder{cfg: o.cfg, warn: func(err error) { o.f.warn("%v", err) }, apps: map[string]*app.App{}}
	defer cached.close()
	return o.planner.Plan(func(e organize.Entry) *nfo.Entry {
		return cached.loadEntry(ctx, &organize.NFOSpec{Entry: e})
	})
}

func (o *organizeRun) strictError(r *organize.Result, incomplete error) error {
	switch {
	case incomplete != nil:
		return incomplete
	case o.strict && len(r.Skipped) > 0:
		return &exitError{code: exitStrict}
	}
	return nil
}

func (o *organizeRun) printPlanSummary(r *organize.Result) {
	s := summarize(o, r)
	copied := 0 // with --or copy, what a link can't reach
	for i := range r.Units {
		if r.Units[i].Ops[0].Verb == organize.VerbCopy && r.Mode != organize.ModeCopy {
			copied += len(r.Units[i].Ops)
		}
	}
	parts := []lang.Text{lang.Textf("%s %s", lang.Text(r.Mode), lang.Count(s.Planned-copied, "file"))}
	skipped, conflicts := "skip %d", "%d in conflict"
	if o.omittedLines > 0 {
		parts[0], conflicts = lang.Textf("%s (p lists them)", parts[0]), "%d in conflict (p lists them)"
	}
	if o.shouldPrompt(r) {
		skipped = "skip %d (l lists them)"
	}
	for _, c := range []struct {
		text string
		n    int
	}{{"copy %d", copied}, {skipped, s.Left}, {conflicts, s.Conflicts}, {"%d already in place", s.InPlace}} {
		if c.n > 0 {
			parts = append(parts, lang.Textf(c.text, lang.Number(c.n)))
		}
	}
	o.f.say("Plan: %s. Nothing has changed yet.\n", lang.Join(parts, ", "))
	for _, w := range r.Warnings() {
		o.f.warn("%s", w)
	}
	printUnowned(o.f, s.Unowned)
	cycles := 0
	for _, step := range organize.OrderSteps(&r.Plan) {
		cycles = max(cycles, step.TempNumber)
	}
	if cycles > 0 {
		o.f.say("%s of files that swap names: one of each waits as %s meanwhile\n",
			lang.Count(cycles, "cycle"), organize.TempName(r.ID, 1))
	}
	codes := mapped(r.Skipped, func(l organize.SkippedFile) organize.Code { return l.Code })
	if !o.f.quiet && !o.options.LabelVersions && slices.Contains(codes, organize.CodeSameTarget) {
		printHint(o.f.streams, "--on-conflict version keeps several versions of a film side by side (with --layout plex, "+
			"of an episode too), where their names tell them apart")
	}
	asked := []organize.Code{
		organize.CodeLowConfidence, organize.CodeAmbiguous, organize.CodeUnmatched, organize.CodeNoEpisode,
	}
	if o.recordsFile == "" && !o.match.interactive && !o.f.quiet && o.f.streams.InTTY &&
		slices.ContainsFunc(codes, func(c organize.Code) bool { return slices.Contains(asked, c) }) {
		printHint(o.f.streams, "with --interactive it asks about the files that it skips, one title at a time")
	}
	switch {
	case o.f.quiet || s.Planned == 0 || o.shouldPrompt(r):
	case o.planFile == "":
		o.f.say("next: the same command with --plan library.plan saves the plan, with --yes carries it out\n")
	case o.planFile != "-":
		o.f.say("saved: %s\n", ui.ShellWord(o.planFile))
		o.f.say("next: anivault apply %s\n", ui.PathWord(o.planFile))
	}
}
