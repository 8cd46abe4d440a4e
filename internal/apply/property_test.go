package apply

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/anivault/anivault/internal/organize"
)

var trees = flag.Int("trees", 0, "how many random trees are put in order and killed before every effect; 0: a few")

// stage is a simulated file system with a plan for it.
type scene struct {
	*sim
	plan *organize.Plan
	opts Options
}

func engineOf(s *sim) *Engine {
	dir, err := s.Open("/data/history")
	if err != nil {
		panic(err)
	}
	e := &Engine{
		System: s, Journals: dir, Now: func() time.Time { return time.Unix(1_800_000_000, 0) }, InheritOwner: true,
		NFOContent: noteOf,
	}
	if s.workers > 1 {
		return withWorkers(e, s)
	}
	return e
}

// notCached is the id of an entry that is not in the cache.
const notCached = 404

// written begins every file for media servers in tests.
const written = "<tvshow>\n"

// noteOf is what files for media servers hold in tests.
func noteOf(_ context.Context, n *organize.NFOSpec) []byte {
	if n.ID == notCached {
		return nil
	}
	return []byte(written + fmt.Sprintf("<uniqueid type=\"tmdb\">%d</uniqueid> %s", n.ID, n))
}

// names that files and folders have in random trees.
var nameWords = []string{
	"a.mkv", "b.mkv", "c.mkv", "A.mkv", "d 01.mkv", "e - 02 (1080p) [8D7F2A11].mkv", "진격의 거인 7화.mkv",
	"カウボーイビバップ.mkv", "cafe\u0301.mkv", "caf\u00e9 2.mkv", strings.Repeat("x",
		230) + ".mkv", "f.srt", "g.nfo", "h.mkv", "i.mkv",
}

var folderWords = []string{".", "Season 1", "Show", "Show/Season 2", "카우보이", "deep/er/still"}

// newScene makes a random tree and a random plan for it.
func newScene(seed uint64, world traits) scene {
	r := rand.New(rand.NewPCG(seed, 7))
	s := newSim()
	s.traits = world
	inPlace := r.IntN(2) == 0
	target := "/lib"
	switch {
	case inPlace:
		target = "/src"
	case r.IntN(2) == 0:
		target = "/far"
	}
	var files []string
	seen := map[string]bool{}
	for range 2 + r.IntN(6) {
		p := s.stored(path.Join("/src", folderWords[r.IntN(len(folderWords))], nameWords[r.IntN(len(nameWords))]))
		if key := strings.ToLower(p); s.at(p) == 0 && !seen[key] {
			seen[key] = true
			id := s.add(p, fmt.Sprint("content of ", p))
			s.nodes[id].mode = []uint32{0o644, 0o444, 0o600}[r.IntN(3)]
			if r.IntN(6) == 0 {
				s.nodes[id].data = ""
			}
			files = append(files, p)
		}
	}
	for range r.IntN(3) { // what is in no plan
		s.add(path.Join([]string{"/src", "/lib"}[r.IntN(2)], folderWords[r.IntN(len(folderWords))],
			fmt.Sprintf("other %d.txt", r.IntN(9))), "other")
	}
	if r.IntN(3) == 0 && !s.noLinks {
		s.also(files[0], "/lib/seed.mkv")
	}
	for _, p := range []string{"/src/Show", "/lib", "/src"} {
		if n := s.nodes[s.at(p)]; n != nil && r.IntN(2) == 0 {
			n.mode, n.uid, n.gid = 0o2775, 7, 8
		}
	}
	return scene{s, randomPlan(r, s, files, target, inPlace), Options{Partial: r.IntN(3) > 0}}
}

// randomPlan takes new names and, where it moves, names that others have.
func randomPlan(r *rand.Rand, s *sim, files []string, target string, inPlace bool) *organize.Plan {
	p := &organize.Plan{
		ID: "20261122-020431-k3f9", Created: time.Unix(1_790_000_000, 0).UTC(), Mode: organize.ModeMove,
		Layout: "jellyfin",
	}
	for i, root := range []string{"/src", target} {
		known, err := s.Root(root)
		if err != nil {
			panic(err)
		}
		if i == 0 {
			p.Sources = append(p.Sources, known)
		} else {
			p.Targets = append(p.Targets, known)
		}
	}
	verbs := []organize.Verb{
		organize.VerbLink, organize.VerbMove, organize.VerbMove, organize.VerbCopy, organize.VerbSymlink,
		organize.VerbReflink,
	}
	switch {
	case inPlace:
		verbs = verbs[1:3]
	case s.noLinks || target == "/far":
		verbs = verbs[1:5]
	}
	pool := make([]string, 0, 2*len(files))
	for i, f := range files {
		below := strings.TrimPrefix(f, "/src/")
		pool = append(pool, fmt.Sprintf("New %d/Season 01/episode %d.mkv", r.IntN(3), i))
		if inPlace {
			pool = append(pool, below, path.Join(path.Dir(below), strings.ToUpper(path.Base(below[:1]))+path.Base(below)[1:]))
		}
		if r.IntN(8) == 0 {
			pool = append(pool, below+"/lies below a file.mkv")
		}
	}
	r.Shuffle(len(pool), func(i, j int) { pool[i], pool[j] = pool[j], pool[i] })
	taken := map[string]bool{}
	verb := verbs[r.IntN(len(verbs))]
	for _, f := range files {
		if r.IntN(6) == 0 || len(pool) == 0 {
			continue
		}
		info := s.info(s.at(f))
		op := organize.Op{Verb: verb, Size: info.Size, MTime: info.MTime, Inode: info.Inode, Source: path.Base(f)}
		if s.loose {
			op.Inode = 0
		}
		for len(pool) > 0 && (op.To == "" || taken[strings.ToLower(op.To)]) {
			op.To, pool = pool[0], pool[1:]
		}
		taken[strings.ToLower(op.To)] = true
		dir := strings.TrimPrefix(strings.TrimPrefix(path.Dir(f), "/src"), "/")
		if dir == "" {
			dir = "."
		}
		if last := len(p.Units) - 1; last >= 0 && p.Units[last].Dir == dir && r.IntN(2) == 0 {
			p.Units[last].Ops = append(p.Units[last].Ops, op)
		} else {
			verb = verbs[r.IntN(len(verbs))]
			op.Verb = verb
			p.Units = append(p.Units, organize.Unit{Dir: dir, Ops: []organize.Op{op}})
		}
		if r.IntN(4) == 0 {
			last := &p.Units[len(p.Units)-1]
			note := &organize.NFOSpec{
				Entry: organize.Entry{Kind: "tv", ID: []int{7, 8, notCached}[r.IntN(3)]},
				Full:  r.IntN(2) == 0,
			}
			to := fmt.Sprintf("New %d/tvshow %d.nfo", r.IntN(3), len(p.Units))
			if !taken[to] {
				taken[to] = true
				last.Ops = append(last.Ops, organize.Op{Verb: organize.VerbNFO, NFO: note, To: to})
			}
		}
	}
	return p
}

// parsed returns the plan as it comes back from its text; nil where the text is refused.
func parsed(p *organize.Plan) *organize.Plan {
	var text bytes.Buffer
	if err := p.Write(&text); err != nil {
		return nil
	}
	back, err := organize.Parse(text.String())
	if err != nil {
		return nil
	}
	return back
}

// dies runs f and reports whether it was killed.
func dies(f func()) bool {
	end := make(chan bool, 1)
	go func() { // killed ends its goroutine, or panics
		dead := true
		defer func() {
			if r := recover(); r != nil {
				if _, ok := r.(killed); !ok {
					panic(r)
				}
			}
			end <- dead
		}()
		f()
		dead = false
	}()
	return <-end
}

// action is what is done with a run.
type action struct {
	name string
	do   func(*sim) (*Outcome, error)
}

func (sc scene) actions() (apply, resume, undo action) {
	id := sc.plan.ID
	apply = action{"apply", func(s *sim) (*Outcome, error) {
		return engineOf(s).Apply(context.Background(), sc.plan,
			sc.opts)
	}}
	resume = action{"resume", func(s *sim) (*Outcome, error) { return engineOf(s).Resume(context.Background(), id) }}
	undo = action{"undo", func(s *sim) (*Outcome, error) {
		return engineOf(s).Undo(context.Background(), id,
			UndoOptions{})
	}}
	return apply, resume, undo
}

// has reports whether the run has a journal.
func (s *sim) has(id string) bool { return s.at("/data/history/"+journalName(id)) != 0 }

// checker compares what is there with what has to be there.
type checker struct {
	t             *testing.T
	sc            scene
	before, after []string       // the trees before the run and after it, the second without folders' times
	contents      map[string]int // before
	runs          int
}

func (c *checker) lost(s *sim, when string) {
	c.t.Helper()
	there := contentsOf(s)
	for content, n := range c.contents {
		if now := there[content]; now < n {
			c.t.Fatalf("%s: %q has %d names, not %d:\n%s", when, content, now, n, strings.Join(all(s, false), "\n"))
		}
	}
}

func all(s *sim, times bool) []string {
	return slices.Concat(s.tree("/src", times), s.tree("/lib", times), s.tree("/far", times))
}

// ends carries an action out to its end and compares the tree.
func (c *checker) ends(s *sim, a action, when string) {
	c.t.Helper()
	c.runs++
	s = s.clone()
	out, err := a.do(s)
	if err != nil || out.Unfinished {
		c.t.Fatalf("%s, %s: %+v %v", when, a.name, out, err)
	}
	want, times := c.after, false
	if a.name == "undo" {
		want, times = c.before, true
	}
	if diff := cmp.Diff(want, all(s, times)); diff != "" {
		c.t.Fatalf("%s, %s (-want +got):\n%s", when, a.name, diff)
	}
}

// kills carries an action out again and again, killed before each of its effects, and hands over what is then there.
func (c *checker) kills(s *sim, a action, when string, then func(s *sim, when string)) {
	c.t.Helper()
	for k := 1; ; k++ {
		now := s.clone()
		now.killAt = k
		if !dies(func() { _, _ = a.do(now) }) {
			return
		}
		c.runs++
		at := fmt.Sprintf("%s, %s killed before effect %d", when, a.name, k)
		c.lost(now, at)
		then(now, at)
	}
}

// worlds are file systems with their oddities.
var worlds = map[string]traits{
	"plain": {}, "folds case": {fold: true}, "decomposes": {nfd: true}, "without NOREPLACE": {noRename: true},
	"NOREPLACE ignored": {replaces: true}, "no hard links": {noLinks: true},
	"unstable inodes": {loose: true}, "2 s times": {coarse: true},
}

// A run is killed before every single effect of apply, then resumed and undone, and these are killed as well before
// every single effect: nothing is ever lost, resuming gives the tree of a run that was not disturbed, and undoing that
// before it.
func TestKilledBeforeEveryEffect(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some ten seconds")
	}
	for name, world := range worlds {
		t.Run(name, func(t *testing.T) {
			runs, files := 0, 0
			for seed := range uint64(max(*trees, 2)) {
				sc := newScene(seed, world)
				if sc.plan = parsed(sc.plan); sc.plan == nil {
					continue // names that no plan has
				}
				r, f := killEverywhere(t, fmt.Sprint("seed ", seed), sc)
				runs, files = runs+r, files+f
			}
			t.Logf("%d runs, %d files put in place", runs, files)
		})
	}
}

// drawn is a scene of one folder: files that lie there, and "a > b" for moves, "a = b" for links, ":" for copies, "~"
// for clones, "@" for symbolic links, "! b" for what is written about entry 7, "!9 b" about another; units are parted
// by semicolons.
func drawn(world traits, target, files, plan string) scene {
	s := newSim()
	s.traits = world
	for f := range strings.FieldsSeq(files) {
		if from, also, linked := strings.Cut(f, "="); linked {
			s.also(path.Join("/src", also), path.Join("/src", from))
			continue
		}
		s.add(path.Join("/src", f), "content of "+f)
	}
	p := randomPlan(rand.New(rand.NewPCG(1, 1)), s, nil, target, true)
	for unit := range strings.SplitSeq(plan, ";") {
		u := organize.Unit{Dir: "."}
		for line := range strings.SplitSeq(unit, ",") {
			w := strings.Fields(line)
			if about, is := strings.CutPrefix(w[0], "!"); is {
				note := &organize.NFOSpec{Entry: organize.Entry{Kind: "tv", ID: 7}}
				if id, err := strconv.Atoi(about); err == nil {
					note.ID = id
				}
				u.Ops = append(u.Ops, organize.Op{Verb: organize.VerbNFO, NFO: note, To: w[1]})
				continue
			}
			info := s.info(s.at(path.Join("/src", w[0])))
			op := organize.Op{
				Verb:   organize.VerbMove,
				Size:   info.Size,
				MTime:  info.MTime,
				Inode:  info.Inode,
				Source: w[0],
				To:     w[2],
			}
			if verb, known := map[string]organize.Verb{
				"=": organize.VerbLink, ":": organize.VerbCopy, "~": organize.VerbReflink, "@": organize.VerbSymlink,
			}[w[1]]; known {
				op.Verb = verb
			}
			u.Ops = append(u.Ops, op)
		}
		p.Units = append(p.Units, u)
	}
	return scene{s, p, Options{}}
}

func TestKilledInHardPlans(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some ten seconds")
	}
	for _, row := range []struct {
		name   string
		world  traits
		target string
		files  string
		plan   string
		want   int // files that are put in place
	}{
		{"a cycle of three renames, which a loop of mv makes one file", traits{}, "/src", "1 2 3", "1 > 2; 2 > 3; 3 > 1", 3},
		{"the same without NOREPLACE", traits{noRename: true}, "/src", "1 2 3", "1 > 2; 2 > 3; 3 > 1", 3},
		{"a swap in another case, where case folds", traits{fold: true}, "/src", "a b", "a > B; b > A", 2},
		{"only the case changes, where case folds", traits{fold: true}, "/src", "a.mkv", "a.mkv > A.mkv", 1},
		{"only the case changes, where it does not", traits{}, "/src", "a.mkv", "a.mkv > A.mkv", 1},
		{
			"only the case changes, where case folds and nothing can exclude",
			traits{fold: true, noRename: true},
			"/src",
			"a.mkv", "a.mkv > A.mkv", 1,
		},
		{"a chain", traits{}, "/src", "1 2 3", "1 > 2; 2 > 3; 3 > 4", 3},
		{"a file whose name is to be a folder", traits{}, "/src", "a x", "x > a/1; a > b", 2},
		{"a file whose own name is to be its folder", traits{}, "/src", "a", "a > a/1", 1},
		{"a link takes the name that a move frees", traits{}, "/src", "a x", "x = a; a > b", 2},
		{"folders are emptied", traits{}, "/lib", "d/e/1 d/2 f/3 f/keep", "d/e/1 > S/1, d/2 > S/2; f/3 > S/3", 3},
		{"into the folder that another file leaves", traits{}, "/src", "d/1 2", "d/1 > e/1; 2 > d/2", 2},
		{"two names of one file change places", traits{}, "/src", "a b=a", "a > b; b > a", 0},
		{"of two names of one file each goes elsewhere", traits{}, "/lib", "a b=a", "a > x; b > y", 2},
		{"a target that is there", traits{}, "/src", "a b", "a > b", 0},
		{"hard links", traits{}, "/lib", "a b", "a = x/1, b = x/2", 2},
		{"copies", traits{}, "/lib", "a b", "a : x/1, b : x/2", 2},
		{"copies to another file system without NOREPLACE", traits{noRename: true}, "/far", "a b", "a : x/1, b : x/2", 2},
		{"clones", traits{}, "/lib", "a b", "a ~ x/1, b ~ x/2", 2},
		{"clones where the file system has none", traits{noClones: true}, "/lib", "a", "a ~ x/1", 0},
		{"clones to another file system", traits{}, "/far", "a", "a ~ x/1", 0},
		{"symbolic links", traits{}, "/far", "d/a b", "d/a @ x/y/1; b @ 2", 2},
		{"moves to another file system", traits{}, "/far", "d/a d/b c", "d/a > x/1, d/b > x/2; c > x/3", 3},
		{"the same without NOREPLACE", traits{noRename: true}, "/far", "d/a c", "d/a > x/1; c > x/3", 2},
		{"the same with inodes that are not stable", traits{loose: true}, "/far", "d/a c", "d/a > x/1; c > x/3", 2},
		{"the same where times are coarser", traits{distant: true}, "/far", "d/a d/b c", "d/a > x/1, d/b > x/2; c > x/3", 3},
		{"moves from where they could not be brought back to", traits{stuck: true}, "/far", "d/a b", "d/a > x/1; b : x/2", 1},
		{"a video moves, and what belongs to it is copied", traits{}, "/far", "a b", "a > x/1, b : x/2", 2},
		{"a video is linked, and what belongs to it is copied", traits{}, "/lib", "a b", "a = x/1, b : x/2", 2},
		{
			"a video is linked, and the NFO for servers is written",
			traits{},
			"/lib", "a", "a = x/1, ! x/tvshow.nfo",
			2,
		},
		{"the same without NOREPLACE", traits{noRename: true}, "/lib", "a", "a = x/1, ! x/tvshow.nfo", 2},
		{"the same with inodes that are not stable", traits{loose: true}, "/far", "a", "a > x/1, ! x/tvshow.nfo", 2},
		{"something is written, and nothing else is to do", traits{}, "/lib", "a", "! x/tvshow.nfo; ! x/y/2.nfo", 2},
		{"what is to be written is not known any more", traits{}, "/lib", "a", "a > x/1, !404 x/tvshow.nfo", 1},
		{
			"what is written takes the name that a move frees",
			traits{},
			"/src", "a tvshow.nfo",
			"tvshow.nfo > old.nfo; a > x/1, ! tvshow.nfo", 3,
		},
		{"what is to be written, where something else is", traits{}, "/src", "a tvshow.nfo", "a > x/1, ! tvshow.nfo", 1},
		{"hard links to another file system", traits{}, "/far", "a", "a = x", 0},
		{"nothing can exclude and nothing can link", traits{noRename: true, noLinks: true}, "/lib", "a", "a > b", 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			sc := drawn(row.world, row.target, row.files, row.plan)
			if _, files := killEverywhere(t, row.name, sc); files != row.want {
				t.Errorf("%d files were put in place, not %d", files, row.want)
			}
		})
	}
}

// Symbolic links can hold whole paths; one that leads to its file already is in place, whichever way it says so.
func TestAbsoluteLinks(t *testing.T) {
	sc := drawn(traits{}, "/far", "d/a b", "d/a @ x/y/1; b @ 2")
	sc.opts.AbsoluteLinks = true
	if _, files := killEverywhere(t, "absolute links", sc); files != 2 {
		t.Errorf("%d files were put in place", files)
	}
	for _, absolute := range []bool{true, false} {
		s := sc.clone()
		out, err := engineOf(s).Apply(context.Background(), sc.plan, Options{AbsoluteLinks: absolute})
		if err != nil || out.Count(StatusDone) != 2 {
			t.Fatalf("%+v %v", out, err)
		}
		want := "../../../src/d/a"
		if absolute {
			want = "/src/d/a"
		}
		if got := s.nodes[s.at("/far/x/y/1")].data; got != want {
			t.Errorf("it leads to %s, not to %s", got, want)
		}
		if out, err = engineOf(s).Apply(context.Background(), sc.plan, Options{AbsoluteLinks: !absolute}); err != nil ||
			out.Count(StatusInPlace) != 2 {
			t.Errorf("%+v %v", out, err)
		}
	}
}

// killEverywhere returns how often something was carried out, and how many files the run that nobody killed put in
// place.
func killEverywhere(t *testing.T, where string, sc scene) (runs, files int) {
	t.Helper()
	c := &checker{t: t, sc: sc, before: all(sc.sim, true), contents: contentsOf(sc.sim)}
	apply, resume, undo := sc.actions()
	whole := sc.clone()
	out, err := apply.do(whole)
	if err != nil || out.Unfinished {
		t.Fatalf("%s: %+v %v", where, out, err)
	}
	c.after = all(whole, false)
	c.lost(whole, where)
	if !whole.has(sc.plan.ID) {
		return 0, 0 // nothing could be carried out
	}
	again := func(s *sim, when string) {
		c.ends(s, resume, when)
		c.ends(s, undo, when)
	}
	c.kills(sc.sim, apply, where, func(s *sim, when string) {
		if !s.has(sc.plan.ID) {
			if diff := cmp.Diff(c.before, all(s, true)); diff != "" {
				t.Fatalf("%s: changed before the journal was there:\n%s", when, diff)
			}
			c.ends(s, apply, when)
			return
		}
		again(s, when)
		c.kills(s, resume, when, again)
		c.kills(s, undo, when, again)
	})
	c.ends(whole, undo, where)
	c.kills(whole, undo, where, again)
	return c.runs, out.Count(StatusDone)
}
