package organize

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/nfo"
	"github.com/anivault/anivault/internal/orders"
	"github.com/anivault/anivault/internal/report"
)

// RootInfo is a root folder with the properties of its file system.
type RootInfo struct {
	Root
	GivenPath string // the path as the user wrote it; "" if the user did not give it
	Device    uint64
	Mount     uint64 // the ID of its mount; 0 if unknown
	NameMax   int    // maximum bytes of a name on the file system
	// UnstableInodes is set if inodes change each time the file system is mounted. Plans then omit them.
	UnstableInodes bool
	// NoReflink is set if the file system can't share blocks between files.
	NoReflink bool
}

// Options control how a library is organized.
type Options struct {
	ID             string
	Created        time.Time
	Mode           Mode
	FallBackToCopy bool // copy a file if the mode can't take it to another file system
	Layout         Layout
	MinConfidence  float64
	LabelVersions  bool // label several files of one episode or film as versions, instead of skipping them
	PlaceExtras    bool // put extras into the folder of their series or film
	RenameExisting bool // rename the library's own files to the names that they would get today
	Renumber       bool // rename a show's folder if its numbers change to those of another catalogue
	NFO            NFOOptions
	Replacements   map[string]string
	SkipCode       func(*Item) Code // says why a file that an earlier run placed stays out of the library; may be nil

	// IsOrderPinned says whether a pin of a file's folder has an order; may be nil.
	IsOrderPinned func(file string) bool

	Sources     []RootInfo
	Targets     []RootInfo
	TVTarget    int // index of the target for series
	MovieTarget int // index of the target for films
}

// NFOOptions says which NFO files a plan contains.
type NFOOptions struct {
	Enabled   bool
	ForOrders bool   // also write NFOs for shows whose order <displayorder> has to name
	Full      bool   // include everything known, and write NFOs for episodes; otherwise only IDs
	Languages string // "" for those in the settings; see NFOSpec
}

// serverSuffixBytes is the length of the longest suffix that media servers append to a name: "-landscape.jpg".
const serverSuffixBytes = 15

// maxNameBytes is the maximum length of a name. No target may exceed it, even if its file system allows more, so that
// libraries can be copied to other file systems.
const maxNameBytes = 255

// maxPathBytes is the maximum length of a path: Linux's PATH_MAX without the final zero.
const maxPathBytes = 4095

func (o *Options) newNamer(target int) namer {
	n := namer{
		maxName: min(o.Targets[target].NameMax, maxNameBytes) - serverSuffixBytes,
		maxPath: maxPathBytes - len(o.Targets[target].Path) - 1,
	}
	if len(o.Replacements) > 0 {
		var pairs []string
		for _, from := range slices.Sorted(maps.Keys(o.Replacements)) {
			pairs = append(pairs, from, o.Replacements[from])
		}
		n.replacer = strings.NewReplacer(pairs...)
	}
	return n
}

// Planner makes a plan from the records of a match. It is not safe for concurrent use.
type Planner struct {
	opts          *Options
	namers        []namer      // one for each target
	lastFacts     workFacts    // the facts in the last record, before cleaning
	lastCleaned   *workFacts   // the cleaned form of lastFacts
	lastTags      releaseTags  // as lastFacts
	lastCleanTags *releaseTags // the cleaned form of lastTags
	folders       *folderIndex
	nfos          nfoPlanner
	recordFolders map[string]*recordFolder // the folders of the records, by their path in the records
	ownedFiles    map[*Item]bool           // files that are sidecars of a video
	unowned       []SkippedFile            // sidecars whose video is uncertain
	reportedFiles map[*Item]bool           // files other than videos that are in a unit or listed as skipped
	mixedOrders   []string                 // one folder of each show that has folders with different orders
	otherOrders   []string                 // the folders of shows with numbers in another order than the requested one
	videos        []*video                 // the videos that are not skipped
	allFiles      []*video                 // videos and skipped files, in the order of the records
	conflicts     conflictGroups
}

type recordFolder struct {
	recordDir string  // the path as in records, with a final slash
	dir       *folder // nil if err is set
	err       error
}

// video is a file from a record, or an extra, that a plan places or skips.
type video struct {
	recordDir      string // the folder's path as in the record, with a final slash
	name           string // the name of the file
	kind           fileKind
	code           Code // why the file is skipped; "" if it is not
	why            lang.Text
	dir            *folder
	item           *Item
	source         int
	target         int
	stemLength     int  // the length of targetPath without the extension
	isRename       bool // the file is in the library and gets a new name
	isInPlace      bool // the file is already in the library, at targetPath
	isBeingRenamed bool // the plan renames the file in the library, so the next plan adds files that belong to it
	filesInPlace   int  // the number of files of the unit that are already in place
	splitLinkCount int  // the number of hard-linked files that move to another file system
	entry          *plannedEntry
	work           Work
	order          string // the order of the record's numbers
	orders         *orders.Orders
	named          orders.Place // the numbers in the new name, in the order of the show's folder
	anime          int          // the AniDB id of the video's target folder; 0 for a folder of the whole entry
	facts          *workFacts
	tags           *releaseTags // nil if the name was not parsed
	episodeTitles  string       // the titles of the episodes, joined
	titleInName    string       // the title in the file's name
	seasonInName   int          // in the name, if TMDB counts these episodes in an earlier season; otherwise 0
	episodesInName []float64    // in the name
	sidecars       []sidecar
	label          string        // part of the name that distinguishes versions or parts
	folder         *targetFolder // the target folder
	targetPath     string        // the new path, relative to the target root
	ops            []Op
}

func (v *video) recordPath() string { return v.recordDir + v.name }

func (v *video) targetStem() string { return v.targetPath[:v.stemLength] }

// nameKey identifies a name in a target folder. Names with equal keys are the same on some file system.
type nameKey struct {
	folder folderKey
	name   string
}

// nameKeyOf returns the key of a path in the video's target folder.
func (v *video) nameKeyOf(to string) nameKey {
	return nameKey{v.folder.key, FoldName(strings.TrimPrefix(strings.TrimPrefix(to, v.folder.path), "/"))}
}

type workFacts struct {
	title, originalTitle string
	year                 int
	ids                  report.WorkIDs
}

type releaseTags struct {
	part, version                                                   int
	absolute, edition, resolution, source, video, audio, group, crc string
}

// NewPlanner returns a Planner. Call Add for each record, and then Plan.
func NewPlanner(o Options, disk Disk) *Planner {
	folders := &folderIndex{
		disk: disk, opts: &o,
		listedFolders: map[string]*folder{}, targetFolders: map[targetFolderKey]*targetFolder{},
	}
	p := &Planner{
		opts: &o, folders: folders, nfos: nfoPlanner{opts: &o, folders: folders},
		recordFolders: map[string]*recordFolder{}, reportedFiles: map[*Item]bool{}, lastCleaned: &workFacts{},
		conflicts: conflictGroups{}, ownedFiles: map[*Item]bool{}, lastCleanTags: &releaseTags{},
	}
	for i := range o.Targets {
		p.namers = append(p.namers, o.newNamer(i))
	}
	return p
}

// Plan makes the plan for the added records. details returns a work's titles in all languages and its episode groups,
// or nil if they are not known.
func (p *Planner) Plan(details func(Entry) *nfo.Entry) *Result {
	p.folders.details = func(e Entry) *nfo.Entry { return cmp.Or(details(e), &nfo.Entry{}) }
	p.skipOutsideAndSecondLinks()
	p.assignSidecars()
	var extras []*video // their targets depend on those of the videos around them
	p.videos = slices.DeleteFunc(p.videos, func(v *video) bool {
		if v.kind == kindExtra {
			extras = append(extras, v)
		}
		return v.kind == kindExtra
	})
	if p.opts.Renumber {
		p.skipStatedOrders()
		p.findMixedOrders()
	}
	p.nameVideos()
	p.folders.disk.Prefetch(p.folders.unlistedFolders(p.videos))
	renamed := p.compareWithExisting()
	p.skipSameFolders()
	p.labelSameNames()
	p.skipSharedEpisodes()
	p.videos, p.allFiles = dropSkipped(append(p.videos, renamed...)), append(p.allFiles, renamed...)
	ops := opPlanner{opts: p.opts, folders: p.folders, conflicts: p.conflicts}
	p.videos = ops.plan(nil, p.videos)
	p.videos = ops.plan(p.videos, p.placeExtras(extras)) // which stay if a video does
	p.nfos.addNFOs(p.videos)
	return p.makeResult()
}

func (p *Planner) skipOutsideAndSecondLinks() {
	firsts := map[[2]uint64]*video{} // by device and inode
	for _, v := range p.videos {
		if v.source = p.opts.sourceIndex(v.dir.path); v.source < 0 {
			v.skip(CodeOutsidePath, lang.Textf("%s", v.dir.path))
			continue
		}
		if v.item.isNamed {
			v.skip(CodeSameFile, "it was named before")
			continue
		}
		v.item.isNamed = true
		if v.item.Links < 2 || v.item.Inode == 0 { // without a stable inode, its number means nothing
			continue
		}
		key := [2]uint64{v.item.Device, v.item.Inode}
		switch first := firsts[key]; {
		case first == nil:
			firsts[key] = v
		case first.realPath() < v.realPath():
			v.skip(CodeSameFile, lang.Textf("the same file as %s", first.recordPath()))
		default:
			first.skip(CodeSameFile, lang.Textf("the same file as %s", v.recordPath()))
			firsts[key] = v
		}
	}
	p.videos = dropSkipped(p.videos)
}

func (v *video) realPath() string { return joinPath(v.dir.path, v.item.Name) }

func joinPath(dir, name string) string {
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

func dropSkipped(videos []*video) []*video {
	return slices.DeleteFunc(videos, func(v *video) bool { return v.code != "" })
}

func (d *folderIndex) unlistedFolders(videos []*video) []string {
	var dirs []string
	seen := map[*targetFolder]bool{}
	for _, v := range videos {
		if v.folder == nil || v.folder.dir != nil || seen[v.folder] { // a video without a target folder will be skipped
			continue
		}
		seen[v.folder] = true
		dir := joinPath(d.opts.Targets[v.target].Path, v.folder.path)
		if _, known := d.listedFolders[dir]; !known {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}
