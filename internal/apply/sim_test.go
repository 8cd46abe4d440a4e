package apply

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/text/unicode/norm"

	"github.com/anivault/anivault/internal/organize"
)

// sim is a file system in memory that can be killed before every single effect, loses what was not synced, fails, and
// has the oddities of real ones.
type sim struct {
	world
	traits
	opened  [2]int                        // folders that are open, and the most that ever were
	effects int                           // so far
	killAt  int                           // before this effect, from 1; 0: never
	faults  map[int]error                 // by effect: what it fails with
	lie     bool                          // an effect that fails has happened anyway
	fail    func(name string) error       // what an effect fails with, by its words
	before  func(effect int, what string) // called before each
	onRead  func()                        // called before a file is read
	pending []change                      // what is not durable yet
	durable *world                        // nil: power losses are not simulated

	workers int // of engines; 0: one
}

type traits struct {
	fold     bool // names that differ in case are one
	nfd      bool // names are stored decomposed
	noRename bool // RENAME_NOREPLACE: EINVAL, where the name is free
	replaces bool // it is taken, and replaces
	noLinks  bool
	noClones bool
	stuck    bool  // on the file system of the sources there are neither hard links nor NOREPLACE
	loose    bool  // a renamed file has another inode
	coarse   bool  // times have 2 s
	distant  bool  // on the other file system they have 4 s
	nameMax  int   // 0: 255
	bare     bool  // copies can't keep attributes
	room     int64 // bytes that may still be written; 0: 1 MiB
}

// world is what there is. Folders know their entries by the number of what lies there.
type world struct {
	nodes map[int]*node
	last  int
	clock int64
}

type node struct {
	typ      organize.ItemType
	ino      uint64
	dev      uint64
	mode     uint32
	uid, gid uint32
	mtime    int64
	birth    int64
	links    int
	data     string
	kids     map[string]int
	sealed   bool // of a folder: its names can't be changed; of a file: it can't be read
}

// change is one effect on a world.
type change struct {
	kind      string
	dirs      []int // whose entries or attributes change; data: none
	node      int
	name, as  string
	text      string
	at, clock int64
	mode      uint32
	uid, gid  uint32
	mtime     organize.Stamp
}

type killed struct{}

func newSim() *sim {
	s := &sim{world: world{nodes: map[int]*node{}, last: 1, clock: 1000}, faults: map[int]error{}}
	s.nodes[1] = &node{typ: organize.TypeDir, kids: map[string]int{}, mode: 0o755, ino: 1, dev: 1, mtime: 1000, birth: 1}
	s.nodes[s.add("/data/", "")].dev = dataDevice
	for _, dir := range []string{"/data/history/", "/src/", "/lib/", "/elsewhere/", "/far/"} {
		s.add(dir, "")
	}
	s.nodes[s.at("/far")].dev = 2
	return s
}

// dataDevice is the file system of the journals, which has no oddities.
const dataDevice = 9

func (s *sim) odd(id int) bool { return s.nodes[id].dev != dataDevice }

func (w *world) clone() world {
	out := world{nodes: make(map[int]*node, len(w.nodes)), last: w.last, clock: w.clock}
	for id, n := range w.nodes {
		c := *n
		c.kids = maps.Clone(n.kids)
		out.nodes[id] = &c
	}
	return out
}

// clone is the same file system without faults.
func (s *sim) clone() *sim {
	return &sim{world: s.world.clone(), traits: s.traits, faults: map[int]error{}, workers: s.workers}
}

// arrive counts what is about to change something, before it looks at anything.
func (s *sim) arrive(what string) {
	s.effects++
	if s.killAt == s.effects {
		panic(killed{})
	}
	if s.before != nil {
		s.before(s.effects, what)
	}
}

// sealedBy is the error where the names of one of the folders can't be changed.
func (s *sim) sealedBy(dirs ...int) error {
	for _, id := range dirs {
		if n := s.nodes[id]; n != nil && n.sealed {
			return syscall.EACCES
		}
	}
	return nil
}

// effect changes something, or fails.
func (s *sim) effect(name string, c change) error {
	err := s.faults[s.effects]
	if err == nil && slices.Contains([]string{"mkdir", "create", "symlink", "rmdir", "unlink", "link", "rename"}, c.kind) {
		dirs := c.dirs
		if c.kind == "mkdir" || c.kind == "rmdir" {
			dirs = dirs[:1] // the second is itself
		}
		err = s.sealedBy(dirs...)
	}
	if s.fail != nil && err == nil {
		err = s.fail(name)
	}
	if err != nil && !s.lie {
		return fmt.Errorf("%s: %w", name, err)
	}
	s.clock++
	c.clock = s.clock
	if c.kind != "" {
		s.do(&c)
		if s.durable != nil {
			s.pending = append(s.pending, c)
		}
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// do changes the world. Changes of what a power loss took away do nothing.
func (w *world) do(c *change) {
	w.clock = max(w.clock, c.clock)
	n := w.nodes[c.node]
	var dirs []*node
	for _, id := range c.dirs {
		dirs = append(dirs, w.nodes[id])
		if w.nodes[id] == nil && !(c.kind == "mkdir" && id == c.node) {
			return
		}
	}
	if n == nil && c.kind != "mkdir" && c.kind != "create" && c.kind != "symlink" {
		return
	}
	switch c.kind {
	case "symlink":
		w.last = max(w.last, c.node)
		w.nodes[c.node] = &node{
			typ: organize.TypeLink, ino: uint64(c.node), dev: dirs[0].dev, data: c.text, links: 1,
			mtime: c.clock,
		}
		dirs[0].kids[c.name] = c.node
	case "mkdir", "create":
		typ, mode, kids := organize.TypeRegular, uint32(0o600), map[string]int(nil)
		if c.kind == "mkdir" {
			typ, mode, kids = organize.TypeDir, 0o700, map[string]int{}
		}
		w.last = max(w.last, c.node)
		if n != nil { // its content was synced before its name
			dirs[0].kids[c.name] = c.node
			break
		}
		w.nodes[c.node] = &node{
			typ: typ, kids: kids, mode: mode, ino: uint64(c.node), dev: dirs[0].dev, mtime: c.clock, birth: c.clock, links: 1,
			uid: c.uid, gid: c.gid,
		}
		dirs[0].kids[c.name] = c.node
	case "rmdir", "unlink":
		n.links--
		delete(dirs[0].kids, c.name)
	case "link":
		n.links++
		dirs[1].kids[c.as] = c.node
		dirs[1].mtime = c.clock
		return
	case "rename":
		delete(dirs[0].kids, c.name)
		dirs[1].kids[c.as] = c.node
		dirs[1].mtime = c.clock
		if c.at > 0 {
			n.ino = uint64(c.at)
		}
	case "mode":
		n.mode = c.mode
		return
	case "owner":
		n.uid, n.gid = c.uid, c.gid
		return
	case "mtime":
		n.mtime = c.mtime.Sec
		return
	case "write":
		for int64(len(n.data)) < c.at+int64(len(c.text)) {
			n.data += strings.Repeat("\x00", int(c.at)+len(c.text)-len(n.data))
		}
		n.data = n.data[:c.at] + c.text + n.data[int(c.at)+len(c.text):]
		n.mtime = c.clock
		return
	}
	dirs[0].mtime = c.clock
}

// flush makes durable what changes the folders, and all that came before it there. With no folders it is everything.
func (s *sim) flush(all bool, folders ...int) {
	if s.durable == nil {
		return
	}
	need := map[int]bool{}
	for _, f := range folders {
		need[f] = true
	}
	keep := make([]bool, len(s.pending))
	for i := len(s.pending) - 1; i >= 0; i-- {
		c := &s.pending[i]
		keep[i] = all || slices.ContainsFunc(c.dirs, func(d int) bool { return need[d] })
		if keep[i] {
			for _, d := range c.dirs {
				need[d] = true
			}
		}
	}
	var rest []change
	for i := range s.pending {
		if keep[i] {
			s.durable.do(&s.pending[i])
		} else {
			rest = append(rest, s.pending[i])
		}
	}
	s.pending = rest
}

// powerLoss returns what is there after it: what was synced and any part of the rest, folders in the order of their
// changes.
func (s *sim) powerLoss(r *rand.Rand) *sim {
	out := &sim{world: s.durable.clone(), traits: s.traits, faults: map[int]error{}}
	odds := r.Float64()
	cut := map[int]bool{}
	for i := range s.pending {
		c := &s.pending[i]
		lost := r.Float64() < odds
		for _, d := range c.dirs {
			lost = lost || cut[d]
		}
		if lost {
			for _, d := range c.dirs {
				cut[d] = true
			}
			continue
		}
		out.do(c)
	}
	return out
}

func (s *sim) protect() {
	d := s.world.clone()
	s.durable, s.pending = &d, nil
}

// key is what a name is compared by.
func (s *sim) key(name string) string {
	if s.nfd {
		name = norm.NFD.String(name)
	}
	if s.fold {
		name = strings.ToLower(name)
	}
	return name
}

func (s *sim) stored(name string) string {
	if s.nfd {
		return norm.NFD.String(name)
	}
	return name
}

// look returns the entry of a name and how it is spelt.
func (s *sim) look(dir int, name string) (int, string, error) {
	most := 255
	if s.nameMax > 0 {
		most = s.nameMax
	}
	if len(name) > most {
		return 0, "", syscall.ENAMETOOLONG
	}
	d := s.nodes[dir]
	if id, ok := d.kids[s.stored(name)]; ok {
		return id, s.stored(name), nil
	}
	if s.fold {
		for n, id := range d.kids {
			if s.key(n) == s.key(name) {
				return id, n, nil
			}
		}
	}
	return 0, "", syscall.ENOENT
}

// at returns the node of an absolute path; 0 for none.
func (s *sim) at(p string) int {
	at := 1
	for part := range strings.SplitSeq(strings.Trim(p, "/"), "/") {
		if part == "" {
			continue
		}
		n := s.nodes[at]
		if n.kids == nil {
			return 0
		}
		next, ok := n.kids[part]
		if !ok {
			return 0
		}
		at = next
	}
	return at
}

// add makes a file or, with a trailing slash, a folder and those above it.
func (s *sim) add(p, data string) int {
	at := 1
	parts := strings.Split(strings.Trim(p, "/"), "/")
	for i, part := range parts {
		part = s.stored(part)
		id, there := s.nodes[at].kids[part]
		if !there {
			s.last++
			id = s.last
			n := &node{typ: organize.TypeDir, kids: map[string]int{}, mode: 0o755, links: 1}
			if i == len(parts)-1 && !strings.HasSuffix(p, "/") {
				n = &node{typ: organize.TypeRegular, data: data, mode: 0o644, links: 1}
			}
			s.clock += 2
			n.ino, n.dev, n.mtime, n.birth = uint64(id), s.nodes[at].dev, s.clock&^1, s.clock
			s.nodes[id] = n
			s.nodes[at].kids[part] = id
			s.nodes[at].mtime = s.clock
		}
		at = id
	}
	return at
}

// also gives a file another name.
func (s *sim) also(p, as string) {
	id := s.at(p)
	dir := s.at(path.Dir(as))
	s.nodes[dir].kids[path.Base(as)] = id
	s.nodes[id].links++
}

// tree says what there is below a path, a line each: names, contents, modes and, with times, folders' times.
func (s *sim) tree(below string, times bool) []string {
	var out []string
	var walk func(id int, p string)
	walk = func(id int, p string) {
		n := s.nodes[id]
		line := fmt.Sprintf("%s %o %d:%d", p, n.mode, n.uid, n.gid)
		switch {
		case n.typ == organize.TypeRegular:
			line += fmt.Sprintf(" %d %q", n.mtime, n.data)
		case n.typ == organize.TypeLink:
			line += " -> " + n.data
		case n.typ == organize.TypeDir && times:
			line += fmt.Sprintf("/ %d", n.mtime)
		}
		out = append(out, line)
		for _, name := range slices.Sorted(maps.Keys(n.kids)) {
			walk(n.kids[name], path.Join(p, name))
		}
	}
	walk(s.at(below), below)
	return out
}

// contents returns how many names each content has below a path.
func (s *sim) contents(below string) map[string]int {
	out := map[string]int{}
	var walk func(id int)
	walk = func(id int) {
		n := s.nodes[id]
		if n.typ == organize.TypeRegular {
			out[n.data]++
		}
		for name, kid := range n.kids {
			if !strings.HasSuffix(name, ".part") { // a copy that is not whole
				walk(kid)
			}
		}
	}
	walk(s.at(below))
	return out
}

// Root implements FS.
func (s *sim) Root(p string) (organize.Root, error) {
	id := s.at(p)
	if id == 0 {
		return organize.Root{}, syscall.ENOENT
	}
	r := organize.Root{Type: "ext4", Path: p, Inode: s.nodes[id].ino, Birth: organize.Stamp{Sec: s.nodes[id].birth}}
	if s.loose {
		r.Type, r.Inode = "fuse", 0
	}
	return r, nil
}

// Open implements FS.
func (s *sim) Open(p string) (Dir, error) {
	id := s.at(p)
	if id == 0 {
		return nil, syscall.ENOENT
	}
	return s.openDir(id), nil
}

func (s *sim) openDir(id int) Dir {
	s.opened[0]++
	s.opened[1] = max(s.opened[1], s.opened[0])
	return &simDir{s, id}
}

// MayLink implements FS.
func (s *sim) MayLink(Info) bool { return true }

type simDir struct {
	s  *sim
	id int
}

func (d *simDir) Close() error         { d.s.opened[0]--; return nil }
func (d *simDir) CheckWritable() error { return d.s.sealedBy(d.id) }
func (d *simDir) Stat() (Info, error)  { return d.s.info(d.id), nil }
func (d *simDir) Names() ([]string, error) {
	return slices.Sorted(maps.Keys(d.s.nodes[d.id].kids)), nil
}

func (s *sim) info(id int) Info {
	n := s.nodes[id]
	t := n.mtime
	if s.coarse {
		t &^= 1
	}
	if s.distant && n.dev == 2 {
		t &^= 3
	}
	return Info{
		Type: n.typ, Mode: n.mode, UID: n.uid, GID: n.gid, Size: int64(len(n.data)), MTime: organize.Stamp{Sec: t},
		BirthTime: organize.Stamp{Sec: n.birth}, Inode: n.ino, Device: n.dev, Links: uint64(n.links),
	}
}

func (d *simDir) Lstat(name string) (Info, error) {
	id, _, err := d.s.look(d.id, name)
	if err != nil {
		return Info{}, err
	}
	return d.s.info(id), nil
}

func (d *simDir) OpenDir(name string) (Dir, error) {
	id, _, err := d.s.look(d.id, name)
	switch {
	case err != nil:
		return nil, err
	case d.s.nodes[id].typ == organize.TypeLink:
		return nil, syscall.ELOOP
	case d.s.nodes[id].typ != organize.TypeDir:
		return nil, syscall.ENOTDIR
	}
	return d.s.openDir(id), nil
}

func (d *simDir) make(kind, name string) (int, error) {
	d.s.arrive("")
	if _, _, err := d.s.look(d.id, name); err == nil {
		return 0, syscall.EEXIST
	} else if !isMissing(err) {
		return 0, err
	}
	d.s.last++
	id := d.s.last
	c := change{kind: kind, dirs: []int{d.id}, node: id, name: d.s.stored(name)}
	if kind == "mkdir" {
		c.dirs = append(c.dirs, id)
	}
	return id, d.s.effect(kind+" "+name, c)
}

func (d *simDir) Mkdir(name string) error { _, err := d.make("mkdir", name); return err }

func (d *simDir) Rmdir(name string) error {
	d.s.arrive("")
	id, spelt, err := d.s.look(d.id, name)
	switch {
	case err != nil:
		return err
	case d.s.nodes[id].kids == nil:
		return syscall.ENOTDIR
	case len(d.s.nodes[id].kids) > 0:
		return syscall.ENOTEMPTY
	}
	return d.s.effect("rmdir "+name, change{kind: "rmdir", dirs: []int{d.id, id}, node: id, name: spelt})
}

func (d *simDir) Unlink(name string) error {
	d.s.arrive("unlink")
	id, spelt, err := d.s.look(d.id, name)
	if err != nil {
		return err
	}
	return d.s.effect("unlink "+name, change{kind: "unlink", dirs: []int{d.id}, node: id, name: spelt})
}

func (d *simDir) Link(name string, to Dir, as string) error {
	d.s.arrive("link")
	id, _, err := d.s.look(d.id, name)
	if err != nil {
		return err
	}
	into := to.(*simDir)
	switch _, _, err := d.s.look(into.id, as); {
	case d.s.noLinks && d.s.odd(d.id), d.s.stuck && d.s.nodes[d.id].dev == 1:
		return syscall.EPERM
	case d.s.nodes[into.id].dev != d.s.nodes[id].dev:
		return syscall.EXDEV
	case err == nil:
		return syscall.EEXIST
	case !isMissing(err):
		return err
	}
	return d.s.effect("link "+name+" "+as, change{
		kind: "link", dirs: []int{into.id, into.id}, node: id, name: name,
		as: d.s.stored(as),
	})
}

func (d *simDir) Rename(name string, to Dir, as string) error {
	d.s.arrive("")
	id, spelt, err := d.s.look(d.id, name)
	if err != nil {
		return err
	}
	into := to.(*simDir)
	_, _, taken := d.s.look(into.id, as)
	switch {
	case d.s.nodes[into.id].dev != d.s.nodes[id].dev:
		return syscall.EXDEV
	case taken == nil && !(d.s.replaces && d.s.odd(d.id)):
		return syscall.EEXIST
	case d.s.noRename && d.s.odd(d.id), d.s.stuck && d.s.nodes[d.id].dev == 1:
		return syscall.EINVAL
	case taken != nil && !isMissing(taken):
		return taken
	}
	c := change{kind: "rename", dirs: []int{d.id, into.id}, node: id, name: spelt, as: d.s.stored(as)}
	if d.s.loose && d.s.odd(d.id) {
		d.s.last++
		c.at = int64(d.s.last)
	}
	return d.s.effect("rename "+name+" "+as, c)
}

func (d *simDir) SetMode(mode uint32) error {
	d.s.arrive("")
	return d.s.effect("mode", change{kind: "mode", dirs: []int{d.id}, node: d.id, mode: mode})
}

func (d *simDir) SetOwner(uid, gid uint32) error {
	d.s.arrive("")
	return d.s.effect("owner", change{kind: "owner", dirs: []int{d.id}, node: d.id, uid: uid, gid: gid})
}

func (d *simDir) SetMTime(t organize.Stamp) error {
	d.s.arrive("")
	return d.s.effect("mtime", change{kind: "mtime", dirs: []int{d.id}, node: d.id, mtime: t})
}

func (d *simDir) Sync() error {
	d.s.arrive("")
	err := d.s.effect("sync", change{})
	if err == nil {
		d.s.flush(false, d.id)
	}
	return err
}

func (d *simDir) SyncFS() error {
	d.s.arrive("")
	err := d.s.effect("syncfs", change{})
	if err == nil {
		d.s.flush(true)
	}
	return err
}

func (d *simDir) Symlink(text, name string) error {
	d.s.arrive("")
	if _, _, err := d.s.look(d.id, name); err == nil {
		return syscall.EEXIST
	} else if !isMissing(err) {
		return err
	}
	d.s.last++
	return d.s.effect("symlink "+name, change{
		kind: "symlink", dirs: []int{d.id}, node: d.s.last, name: d.s.stored(name),
		text: text,
	})
}

func (d *simDir) Readlink(name string) (string, error) {
	id, _, err := d.s.look(d.id, name)
	if err != nil {
		return "", err
	}
	return d.s.nodes[id].data, nil
}

func (d *simDir) FreeBytes() (uint64, error) { return uint64(cmp.Or(d.s.room, 1<<20)), nil }

func (d *simDir) Create(name string) (File, error) {
	id, err := d.make("create", name)
	return &simFile{d.s, id}, err
}

func (d *simDir) OpenForWriting(name string) (File, error) {
	id, _, err := d.s.look(d.id, name)
	return &simFile{d.s, id}, err
}

func (d *simDir) OpenForReading(name string) (File, error) {
	id, _, err := d.s.look(d.id, name)
	return &simFile{d.s, id}, cmp.Or(err, d.s.sealedBy(id))
}

type simFile struct {
	s  *sim
	id int
}

func (f *simFile) Close() error        { return nil }
func (f *simFile) Stat() (Info, error) { return f.s.info(f.id), nil }

func (f *simFile) ReadAt(p []byte, off int64) (int, error) {
	if f.s.onRead != nil {
		f.s.onRead()
	}
	data := f.s.nodes[f.id].data
	if off >= int64(len(data)) {
		return 0, io.EOF
	}
	n := copy(p, data[off:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (f *simFile) WriteAt(p []byte, off int64) (int, error) {
	f.s.arrive("")
	err := f.s.effect("write", change{kind: "write", node: f.id, text: string(p), at: off})
	if err != nil {
		return 0, err
	}
	return len(p), nil
}

func (f *simFile) Allocate(size int64) error {
	f.s.arrive("")
	return f.s.effect("allocate", change{kind: "write", node: f.id, at: size})
}

func (f *simFile) Truncate(size int64) error {
	f.s.arrive("")
	if size == int64(len(f.s.nodes[f.id].data)) {
		return nil
	}
	return f.s.effect("extend", change{kind: "write", node: f.id, at: size})
}

func (f *simFile) Clone(from File) error {
	f.s.arrive("")
	if f.s.noClones {
		return syscall.EOPNOTSUPP
	}
	return f.s.effect("clone", change{kind: "write", node: f.id, text: f.s.nodes[from.(*simFile).id].data})
}

func (f *simFile) CopyMetadata(_ File, info Info, owner bool) (whole bool, err error) {
	for _, c := range []change{
		{kind: "owner", uid: info.UID, gid: info.GID}, {kind: "mode", mode: info.Mode}, {kind: "mtime", mtime: info.MTime},
	} {
		f.s.arrive("")
		c.dirs, c.node = []int{f.id}, f.id
		if err := f.s.effect(c.kind, c); err != nil {
			return false, err
		}
	}
	return !f.s.bare, nil
}

func (f *simFile) Lock() error { return nil }

func (f *simFile) DropCache() {}

// Sync makes the content durable: changes without folders.
func (f *simFile) Sync() error {
	f.s.arrive("")
	err := f.s.effect("fsync", change{})
	if err != nil || f.s.durable == nil {
		return err
	}
	if f.s.durable.nodes[f.id] == nil {
		n := *f.s.nodes[f.id]
		f.s.durable.nodes[f.id] = &n
		f.s.durable.last = max(f.s.durable.last, f.id)
	}
	var rest []change
	for i := range f.s.pending {
		if c := &f.s.pending[i]; c.node == f.id && slices.Contains([]string{"write", "mode", "owner", "mtime"}, c.kind) {
			f.s.durable.do(c)
		} else {
			rest = append(rest, *c)
		}
	}
	f.s.pending = rest
	return nil
}
