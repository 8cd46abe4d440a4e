package organize

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"

	"github.com/anivault/anivault/internal/library"
	"github.com/anivault/anivault/internal/report"
)

// Planner makes a plan of records. It is for one goroutine.
type Planner struct {
	o       Options
	disk    Disk
	uses    [fields]bool // what the templates name
	namers  []namer      // by target
	folders map[string]*folder
	given   memo[string, origin]
	works   memo[facts, facts]
	read    memo[tags, tags]
	spots   map[string]*spot // by target and planned folder
	entries memo[entryKey, entry]
	strays  []LeftFile     // that no video can be said to own
	stays   map[string]int // files in source folders that are in no unit, by extension
	videos  []*video
	all     []*video // videos, and what was left at once, in the order of the records
	first   map[identity]*video
	needs   map[*video][]string // paths that other moves of the plan must free first
	scratch values

	// Room for what many files have one of.
	spareVideos []video
	spareOps    []Op
	spareInts   []int
}

// memo keeps what was made of a key. Keys that are asked for again in a row cost a comparison.
type memo[K comparable, V any] struct {
	key   K
	value *V
	all   map[K]*V
}

func (m *memo[K, V]) of(key K, value func(K) *V) *V {
	if m.value != nil && m.key == key {
		return m.value
	}
	v, known := m.all[key]
	if !known {
		if m.all == nil {
			m.all = map[K]*V{}
		}
		v = value(key)
		m.all[key] = v
	}
	m.key, m.value = key, v
	return v
}

// room returns n zero values of a block, and begins another block where it has not as many.
func room[T any](block *[]T, n int) []T {
	if cap(*block)-len(*block) < n {
		*block = make([]T, 0, max(n, 512))
	}
	start := len(*block)
	*block = (*block)[:start+n]
	return (*block)[start : start+n : start+n]
}

// origin is a folder as records name it, and what it is.
type origin struct {
	dir *folder // nil with an error
	err error
}

// identity is what makes two names one file.
type identity struct{ device, inode uint64 }

// video is a record with what becomes of it.
type video struct {
	given   string // the folder as the record names it, with its slash
	name    string // of the file
	code    Code   // why it is left; "" while it is planned
	why     string
	dir     *folder
	item    *Item
	source  int32
	target  int32
	stem    int32 // the length of its target without what follows the stem
	inPlace int32 // files that need nothing
	entry   *entry
	work    Work
	facts   *facts
	tags    *tags  // nil: nothing was read of its name
	titles  string // of its episodes
	belongs []sidecar
	label   string // that tells it from another version or part
	spot    *spot  // the folder it gets
	to      string // its target
	ops     []Op
}

// path is the file as its record names it.
func (v *video) path() string { return v.given + v.name }

// base is its target without what follows the stem.
func (v *video) base() string { return v.to[:v.stem] }

// facts are what a work's names are made of. All of it are names already (CleanName) once a Planner has them.
type facts struct {
	title, original string
	year            int
	ids             report.WorkIDs
}

// tags are what was read of a file's name, likewise. What no template names and every file has another of is left out.
type tags struct {
	part, version                                                   int
	absolute, edition, resolution, source, video, audio, group, crc string
}

// Result is a plan and what it leaves.
type Result struct {
	Plan
	InPlace int            // files that are where they belong already
	Stays   map[string]int // files in no unit that stay where they are, by extension
}

// Warnings tells what a person should know before the plan is carried out.
func (r *Result) Warnings() []string {
	const most = 240 // UTF-16 units below the root; Windows' limit of 260 with room for a share's name
	long, first := 0, ""
	for i := range r.Units {
		for k := range r.Units[i].Ops {
			to := r.Units[i].Ops[k].To
			if len(to) > most && len(utf16.Encode([]rune(to))) > most {
				long++
				first = cmp.Or(first, to)
			}
		}
	}
	if long == 0 {
		return nil
	}
	return []string{fmt.Sprintf("long_path: Windows clients may not open %d of the targets, whose paths have more than %d characters: %s", long, most, first)}
}

// NewPlanner returns a planner without records.
func NewPlanner(o Options, disk Disk) *Planner {
	p := &Planner{
		o: o, disk: disk, uses: o.Layout.uses(), folders: map[string]*folder{}, spots: map[string]*spot{}, stays: map[string]int{},
		first: map[identity]*video{}, needs: map[*video][]string{},
	}
	for i := range o.Targets {
		p.namers = append(p.namers, o.namer(i))
	}
	return p
}

// From says which roots the records' files lie below, where Options could not.
func (p *Planner) From(sources []Place) { p.o.Sources = sources }

// Add takes a record. What it refers to is copied: remembered records share memory with the next ones.
func (p *Planner) Add(r *report.Record) {
	v := &room(&p.spareVideos, 1)[0]
	v.given, v.name = path.Split(r.Path)
	p.all = append(p.all, v)
	v.code, v.why = p.judge(r)
	if v.code != "" {
		return
	}
	p.know(v, r)
	p.locate(v)
	if v.code == "" {
		p.videos = append(p.videos, v)
	}
}

// know keeps what a record says of its file.
func (p *Planner) know(v *video, r *report.Record) {
	v.target = int32(p.o.Movies)
	if r.Kind == "tv" {
		v.target = int32(p.o.TV)
	}
	of := facts{title: r.Title, original: r.OriginalTitle, year: r.Year}
	if r.IDs != nil {
		of.ids = *r.IDs
	}
	v.facts = p.works.of(of, p.cleanFacts)
	if q := r.Parsed; q != nil {
		read := tags{
			part: q.Part, version: q.Version, resolution: q.Resolution, source: q.Source, video: q.Video, audio: q.Audio, group: q.Group,
		}
		if p.uses[fieldCRC] {
			read.crc = q.Checksum
		}
		if q.Absolute && p.uses[fieldAbsolute] {
			read.absolute = absolute(q.Episodes)
		}
		v.tags = p.read.of(read, p.cleanTags)
	}
	v.work = Work{Entry: Entry{Kind: r.Kind, ID: r.TMDBID}, Confidence: certainty(r)}
	if len(r.Episodes) > 0 {
		v.work.Episodes = room(&p.spareInts, len(r.Episodes))
		copy(v.work.Episodes, r.Episodes)
	}
	if r.Season != nil {
		v.work.Season = *r.Season
	}
	v.titles = episodeTitle(r.EpisodeTitles, len(r.Episodes))
}

func (p *Planner) cleanFacts(f facts) *facts {
	n := &p.namers[0] // what is replaced is the same in all of them
	f.title, f.original, f.ids.IMDB = n.text(f.title), n.text(f.original), n.text(f.ids.IMDB)
	return &f
}

func (p *Planner) cleanTags(t tags) *tags {
	n := &p.namers[0]
	for _, text := range []*string{&t.edition, &t.resolution, &t.source, &t.video, &t.audio, &t.group, &t.crc} {
		*text = n.text(*text)
	}
	return &t
}

// certainty is the smaller of a record's estimates.
func certainty(r *report.Record) float64 {
	c := 1.0
	for _, estimate := range []*float64{r.Confidence, r.EpisodeConfidence} {
		if estimate != nil {
			c = min(c, *estimate)
		}
	}
	return c
}

// judge returns why a record is left, "" where it is to be planned.
func (p *Planner) judge(r *report.Record) (Code, string) {
	switch r.Status {
	case report.Matched:
	case report.Ambiguous:
		return Ambiguous, contenders(r)
	case report.Unmatched:
		return Unmatched, ""
	case report.Pending:
		return Pending, r.Reason
	case report.Skipped:
		if r.Reason == library.SkipIrregular || r.Reason == library.SkipBrokenLink {
			return NotRegular, r.Reason
		}
		return Extra, r.Reason
	case report.Failed:
		return Unreadable, r.Reason
	}
	switch {
	case r.TMDBID <= 0 || r.Kind != "tv" && r.Kind != "movie":
		return Unmatched, "the record names no entry"
	case r.Kind == "tv" && (r.Season == nil || len(r.Episodes) == 0):
		return NoEpisode, r.Reason
	case certainty(r) < p.o.MinConfidence && r.Source != "pin":
		return LowConfidence, percent(certainty(r)) + " " + Entry{r.Kind, r.TMDBID}.String()
	case r.Kind == "tv" && !p.o.Layout.gaps && !contiguous(r.Episodes):
		return NotContiguous, "its episodes are " + numbers(r.Episodes)
	}
	return "", ""
}

func percent(x float64) string { return strconv.Itoa(int(x*100)) + " %" }

// contenders are the two likeliest entries: "tv/1 41 %, tv/2 40 %".
func contenders(r *report.Record) string {
	var out []string
	for _, c := range r.Candidates[:min(2, len(r.Candidates))] {
		out = append(out, Entry{c.Kind, c.TMDBID}.String()+" "+percent(c.Confidence))
	}
	return strings.Join(out, ", ")
}

func contiguous(episodes []int) bool {
	for i := 1; i < len(episodes); i++ {
		if episodes[i] != episodes[i-1]+1 {
			return false
		}
	}
	return true
}

func numbers(list []int) string {
	var out []string
	for _, n := range list {
		out = append(out, strconv.Itoa(n))
	}
	return strings.Join(out, ", ")
}

// leave takes a file out of the plan.
func (v *video) leave(code Code, why string) { v.code, v.why = code, why }

// locate finds a record's file on the disk.
func (p *Planner) locate(v *video) {
	at := p.given.of(v.given, p.locateFolder)
	if at.err != nil {
		v.leave(Unreadable, at.err.Error())
		return
	}
	v.dir = at.dir
	v.item = v.dir.find(v.name)
	switch {
	case v.dir.err != nil:
		v.leave(Unreadable, v.dir.err.Error())
	case v.item == nil:
		v.leave(Unreadable, "it is not there any more")
	case v.item.Type != TypeRegular:
		v.leave(NotRegular, "")
	default:
		v.name = v.item.Name // so that the record's own can be freed
	}
}

func (p *Planner) locateFolder(given string) *origin {
	real, err := p.disk.Real(cmp.Or(given, "."))
	if err != nil {
		return &origin{err: err}
	}
	return &origin{dir: p.list(real)}
}

// leaveOutside finds the roots of all files, and leaves those that lie below none.
func (p *Planner) leaveOutside() {
	sources := map[*folder]int{}
	for _, v := range p.videos {
		source, known := sources[v.dir]
		if !known {
			source = p.sourceOf(v.dir.path)
			sources[v.dir] = source
		}
		if v.source = int32(source); source < 0 {
			v.leave(OutsidePath, v.dir.path)
		}
	}
	p.compact()
}

// sourceOf returns the longest source root that holds a folder, -1 where none does.
func (p *Planner) sourceOf(dir string) int {
	best := -1
	for i := range p.o.Sources {
		root := p.o.Sources[i].Path
		if IsBelow(dir, root) && (best < 0 || len(root) > len(p.o.Sources[best].Path)) {
			best = i
		}
	}
	return best
}

// IsBelow reports whether a path is a folder or lies in it.
func IsBelow(name, folder string) bool {
	rest, ok := strings.CutPrefix(name, strings.TrimSuffix(folder, "/"))
	return ok && (rest == "" || rest[0] == '/')
}

// below returns a path relative to a folder that holds it, "." for itself.
func below(name, folder string) string {
	rest := strings.TrimPrefix(name[len(strings.TrimSuffix(folder, "/")):], "/")
	return cmp.Or(rest, ".")
}

// list returns a folder, which is read once.
func (p *Planner) list(dir string) *folder {
	f, known := p.folders[dir]
	if !known {
		f = &folder{path: dir}
		f.items, f.err = p.disk.List(dir)
		p.folders[dir] = f
	}
	return f
}

// Plan makes the plan of all records.
func (p *Planner) Plan() *Result {
	p.leaveOutside()
	p.leaveSecondNames()
	p.own()
	p.nameAll()
	p.leaveSameFolders()
	p.tellApart()
	for _, v := range p.videos {
		p.operate(v)
	}
	p.leaveCollisions()
	return p.result()
}

// leaveSecondNames leaves all names of a file but the first in byte order.
func (p *Planner) leaveSecondNames() {
	for _, v := range p.videos {
		if v.item.Links < 2 || v.item.Inode == 0 {
			continue
		}
		key := identity{v.item.Device, v.item.Inode}
		first, known := p.first[key]
		switch {
		case !known:
			p.first[key] = v
		case first.item == v.item:
			v.leave(SameFile, "it was named before")
		case first.at() < v.at():
			v.leave(SameFile, "the same file as "+first.path())
		default:
			first.leave(SameFile, "the same file as "+v.path())
			p.first[key] = v
		}
	}
	p.compact()
}

// at is where the video is.
func (v *video) at() string { return join(v.dir.path, v.item.Name) }

// join joins a folder and a name below it, of which both are in their shortest form.
func join(dir, name string) string {
	switch {
	case dir == "." || dir == "":
		return name
	case name == ".":
		return dir
	case strings.HasSuffix(dir, "/"):
		return dir + name
	}
	return dir + "/" + name
}

// compact forgets what is left.
func (p *Planner) compact() {
	p.videos = slices.DeleteFunc(p.videos, func(v *video) bool { return v.code != "" })
}

// result makes the plan of what is not left.
func (p *Planner) result() *Result {
	r := &Result{Plan: Plan{
		ID: p.o.ID, Made: p.o.Made, Mode: p.o.Mode, Layout: p.o.Layout.Name, Folders: p.ownNames(),
	}, Stays: p.stays}
	for _, s := range p.o.Sources {
		r.Sources = append(r.Sources, s.Root)
	}
	for _, t := range p.o.Targets {
		r.Targets = append(r.Targets, t.Root)
	}
	r.Units = make([]Unit, 0, len(p.videos))
	for _, v := range p.all {
		if v.code != "" {
			r.Left = append(r.Left, LeftFile{Path: v.path(), Code: v.code, Why: v.why})
			continue
		}
		r.InPlace += int(v.inPlace)
		for i := range v.belongs {
			s := &v.belongs[i]
			if s.code != "" {
				r.Left = append(r.Left, LeftFile{Path: join(s.dir.path, s.item().Name), Code: s.code, Why: s.why})
				continue
			}
			if ext := extension(s.item().Name); p.stays[ext] == 1 {
				delete(p.stays, ext)
			} else {
				p.stays[ext]--
			}
		}
		if len(v.ops) > 0 {
			r.Units = append(r.Units, Unit{
				Source: int(v.source), Target: int(v.target), Dir: below(v.dir.path, p.o.Sources[v.source].Path), Ops: v.ops, Work: v.work,
			})
		}
	}
	r.Left = append(r.Left, p.strays...)
	return r
}
