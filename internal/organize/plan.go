// Package organize plans how a library is organized: it turns the matches of files into a plan of new names. It reads
// the file system only through a [Disk], and changes nothing.
//
// A [Plan] is a list of units, each a video and the files that belong to it. Its text ([Plan.Write], [Parse]) can be
// read, edited and compared, and is what gets carried out. [Order] returns the order in which that is possible.
package organize

import (
	"path"
	"slices"
	"strings"
	"time"

	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/library"
)

// Verb is what a plan does with a file. The zero value is no verb.
type Verb uint8

// The verbs, by their words in a plan.
const (
	None    Verb = iota
	Link         // a hard link
	Copy         // a copy with the source's times and mode
	Move         // a rename; across file systems, a verified copy that then removes the source
	Symlink      // a symbolic link to the source
	Reflink      // a copy that shares its blocks with the source
	NFO          // an NFO file for media servers; it has no source
)

var verbs = [...]string{
	None: "", Link: "link", Copy: "copy", Move: "move", Symlink: "symlink", Reflink: "reflink",
	NFO: "nfo",
}

// String returns the verb's word in a plan.
func (v Verb) String() string {
	if int(v) >= len(verbs) {
		return ""
	}
	return verbs[v]
}

// VerbOf returns the verb with the word, except NFO; None if there is none.
func VerbOf(word string) Verb {
	for v := Link; v < NFO; v++ {
		if verbs[v] == word {
			return v
		}
	}
	return None
}

// Mode is what a plan does with videos by default: the value of --mode.
type Mode string

// The modes.
const (
	ModeHardlink Mode = "hardlink"
	ModeMove     Mode = "move"
	ModeSymlink  Mode = "symlink"
	ModeCopy     Mode = "copy"
	ModeReflink  Mode = "reflink"
)

var modes = map[Mode]Verb{
	ModeHardlink: Link, ModeMove: Move, ModeSymlink: Symlink, ModeCopy: Copy, ModeReflink: Reflink,
}

// Verb returns what the mode does with a video; None for an unknown mode.
func (m Mode) Verb() Verb { return modes[m] }

// Stamp is a file system's timestamp: seconds since 1970, which may be negative, and nanoseconds from 0 to 999,999,999
// after that second. The zero value may mean "unknown".
type Stamp struct {
	Sec  int64
	Nsec int32
}

// StampOf returns t as a Stamp.
func StampOf(t time.Time) Stamp { return Stamp{Sec: t.Unix(), Nsec: int32(t.Nanosecond())} }

// Root is a source or target folder. It is identified by its file system's type, its inode and its birth time, because
// device numbers and paths change.
type Root struct {
	Type  string // of the file system, such as "ext4"; "-" if unknown
	Inode uint64 // of the folder; 0 if inodes are not stable
	Birth Stamp  // of the folder; zero if the file system doesn't record it
	Path  string // absolute, links resolved
}

// Op is one operation of a unit.
type Op struct {
	Verb   Verb
	Size   int64  // bytes of the source
	MTime  Stamp  // of the source
	Inode  uint64 // of the source; 0 if inodes are not stable
	Source string // relative to the unit's folder, with slashes; "" for NFO
	Note   *Note  // the content of an NFO
	To     string // relative to the unit's target root, with slashes
	Line   int    // the line in the text, from 1
}

// Note is the content of an NFO file: the IDs of an entry, everything known about it (Full), or the episodes of a
// video.
type Note struct {
	Entry
	Full      bool
	Season    int
	Episodes  []int  // empty for the entry itself
	Languages string // of titles, such as "ko-KR,en-US"; "" for those of the settings
}

// Entry names a series or film of TMDB.
type Entry struct {
	Kind string // "tv" or "movie"
	ID   int
}

// Unit is a video and the files that belong to it. It is carried out completely or not at all. The first of Ops is the
// video, unless that is in place already.
type Unit struct {
	Source int    // index of the plan's source
	Target int    // index of the plan's target
	Dir    string // the sources' folder relative to the source root, with slashes; "." for the root itself
	Ops    []Op
	Work   Work // Parse does not read it
	// Follows is set if the unit is an extra or a file about a whole folder, which goes where the videos around it go. It
	// is not part of the text.
	Follows bool
}

// Work identifies a unit's video, for display and events. In a plan's text it is a comment.
type Work struct {
	Entry
	Season     int
	Episodes   []int   // none for a film
	Confidence float64 // 0 to 1, the lower one of the entry and the episode; 0 if there is no video
}

// LeftFile is a file that the plan skips. In a plan's text it is a comment.
type LeftFile struct {
	Path string // as given to match
	Real string // absolute, with the folder's symbolic links resolved; "" if unknown
	Code Code
	Why  lang.Text // details; "" if the code says everything
}

// Plan says what to do with the files of a library, and which ones to skip.
type Plan struct {
	ID      string // the time and four random characters: "20261122-020431-k3f9"
	Made    time.Time
	Mode    Mode
	Layout  string
	Sources []Root
	Targets []Root
	// Folders are existing target folders whose names are too long or would be changed by CleanName. Targets below them
	// keep these names.
	Folders []Folder
	Units   []Unit
	Left    []LeftFile // Parse does not read it
}

// KeepsMode reports whether a plan uses the verb of its mode for at least one video, or moves no videos. Users may edit
// each line, and a copy may replace a mode that can't cross file systems.
func (p *Plan) KeepsMode() bool {
	moved := false
	for i := range p.Units {
		switch verb := p.Units[i].Ops[0].Verb; {
		case verb == p.Mode.Verb(), verb == Copy && p.Mode != ModeMove:
			return true
		case verb != NFO:
			moved = true
		}
	}
	return !moved
}

// Strays returns the targets of sidecars that no longer begin with their video's name, because somebody edited only the
// video's line. Servers would not find them.
func (p *Plan) Strays() []string {
	var out []string
	for i := range p.Units {
		ops := p.Units[i].Ops
		stem := strings.TrimSuffix(ops[0].To, path.Ext(ops[0].To))
		for k := range ops[1:] {
			if op := &ops[1+k]; ops[0].Verb != NFO && op.Verb != NFO && !strings.HasPrefix(op.To, stem) {
				out = append(out, op.To)
			}
		}
	}
	return out
}

// Folder is an existing folder below a target root.
type Folder struct {
	Target int
	Path   string // relative to the target root, with slashes
}

// SourcePath returns the path of an operation's source, or "" for an NFO. The part below the source root has slashes on
// every system.
func (p *Plan) SourcePath(u *Unit, op *Op) string {
	if op.Verb == NFO {
		return ""
	}
	return join(join(p.Sources[u.Source].Path, u.Dir), op.Source)
}

// TargetPath returns the path of an operation's target. The part below the target root has slashes on every system.
func (p *Plan) TargetPath(u *Unit, op *Op) string { return join(p.Targets[u.Target].Path, op.To) }

// Role says what a file is in a library.
type Role string

// The roles.
const (
	RoleVideo    Role = "video"
	RoleSubtitle Role = "subtitle"
	RoleAudio    Role = "audio"
	RoleImage    Role = "image"
	RoleNFO      Role = "nfo"
	RoleFont     Role = "font"
	RoleExtra    Role = "extra"
	RoleOther    Role = "other"
)

var roles = map[string]Role{
	".nfo": RoleNFO,
	".mka": RoleAudio, ".ac3": RoleAudio, ".eac3": RoleAudio, ".dts": RoleAudio, ".flac": RoleAudio, ".aac": RoleAudio,
	".mp3": RoleAudio,
	".jpg": RoleImage, ".jpeg": RoleImage, ".png": RoleImage, ".webp": RoleImage, ".gif": RoleImage, ".bmp": RoleImage,
	".tbn": RoleImage,
	".ttf": RoleFont, ".otf": RoleFont, ".ttc": RoleFont,
}

// RoleOf returns the role of a file with the name's extension.
func RoleOf(name string) Role {
	if role, known := roles[strings.ToLower(path.Ext(name))]; known {
		return role
	}
	switch {
	case library.IsSubtitle(name):
		return RoleSubtitle
	case library.IsVideo(name):
		return RoleVideo
	}
	return RoleOther
}

func followsNobody(name string) bool {
	return IsUnfinished(name) || strings.EqualFold(path.Ext(name), ".torrent")
}

// IsUnfinished reports whether the name is that of an incomplete download, such as "x.mkv.part".
func IsUnfinished(name string) bool {
	switch strings.ToLower(path.Ext(name)) {
	case ".part", ".!qb", ".crdownload", ".aria2", ".partial", ".tmp", ".unfinished":
		return true
	}
	return false
}

// RoleIn returns the role of an operation's file.
func (u *Unit) RoleIn(op *Op) Role {
	if role := RoleOf(op.To); role != RoleVideo || !u.Follows {
		return role
	}
	return RoleExtra
}

// Code says why a file is skipped.
type Code string

// The codes of planning.
const (
	LowConfidence Code = "low_confidence"
	Ambiguous     Code = "ambiguous"
	Unmatched     Code = "unmatched"
	Pending       Code = "pending"
	NoEpisode     Code = "no_episode"
	Extra         Code = "extra"
	NotContiguous Code = "not_contiguous"
	NotRegular    Code = "not_regular"
	SameTarget    Code = "same_target"
	SameFile      Code = "same_file"
	SameFolder    Code = "same_folder"
	TwoFolders    Code = "two_folders"
	NoOwner       Code = "no_owner"
	OutsidePath   Code = "outside_path"
	Exists        Code = "exists"
	OutsideRoot   Code = "outside_root"
	BadName       Code = "bad_name"
	NameTooLong   Code = "name_too_long"
	CrossDevice   Code = "cross_device"
	NoReflink     Code = "no_reflink"
	NoSymlink     Code = "no_symlink"
	PutBack       Code = "put_back"
	TakenAway     Code = "taken_away"
	Unreadable    Code = "io"
)

type meaning struct {
	code     Code
	text     string
	conflict bool
}

var meanings = []meaning{
	{LowConfidence, "not sure enough", false},
	{Ambiguous, "no entry fits certainly enough", false},
	{Unmatched, "TMDB knows nothing that fits", false},
	{Pending, "TMDB could not be asked", false},
	{NoEpisode, "its episode is not known", false},
	{Extra, "an extra, a trailer or a sample", false},
	{NotContiguous, "its episodes are not consecutive", false},
	{NotRegular, "not a regular file", false},
	{SameTarget, "two files would get the same name", true},
	{SameFile, "another hard link to a file in the plan", false},
	{SameFolder, "two works would get the same folder", true},
	{TwoFolders, "it already has two folders", true},
	{NoOwner, "its video is not known", false},
	{OutsidePath, "it is not below PATH", false},
	{Exists, "something else is there", true},
	{OutsideRoot, "a link is in the way, and links are not followed: name the real folder with --to", false},
	{BadName, "its name would be empty", false},
	{NameTooLong, "its name is too long", false},
	{CrossDevice, "its target is on another file system", false},
	{NoReflink, "the file system can't share blocks between files", false},
	{NoSymlink, "the file system has no symbolic links", false},
	{PutBack, "an undo put it back: watch skips it until it, a pin or the index changes", false},
	{TakenAway, "somebody removed it from the library: watch skips it until it, a pin or the index changes", false},
	{Unreadable, "it can't be read", false},
}

// Codes returns the codes of planning.
func Codes() []Code {
	var out []Code
	for _, m := range meanings {
		out = append(out, m.code)
	}
	return out
}

// Meaning returns the text of the code, as a clause.
func (c Code) Meaning() string { return c.meaning().text }

// IsConflict reports whether the code means that names collide.
func (c Code) IsConflict() bool { return c.meaning().conflict }

func (c Code) meaning() (m meaning) {
	if i := slices.IndexFunc(meanings, func(m meaning) bool { return m.code == c }); i >= 0 {
		m = meanings[i]
	}
	return m
}
