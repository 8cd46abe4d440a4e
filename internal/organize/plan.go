// Package organize decides how a library is put in order: from what is known of each file it makes a plan of names. It
// is pure: what the file system holds comes in as values, and nothing is changed.
//
// A [Plan] is a list of units, each a video with what belongs to it. Its text ([Plan.Write], [Parse]) is made for eyes,
// editors and diff, and is what is carried out. [Order] says in which order the renames of a plan can be done.
package organize

import (
	"path"
	"slices"
	"strings"
	"time"

	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/library"
)

// Verb is what happens to one file. The zero value is no verb.
type Verb uint8

// The verbs, by their words in a plan.
const (
	None    Verb = iota
	Link         // a hard link: one more name for the file
	Copy         // a copy with the source's times and mode
	Move         // a rename; over file systems a proven copy, then the source goes
	Symlink      // a symbolic link to the source
	Reflink      // a copy that shares its blocks with the source
	NFO          // a small file for media servers is written; it has no source
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

// VerbOf returns the verb that moves or multiplies a file and has that word; None where there is none.
func VerbOf(word string) Verb {
	for v := Link; v < NFO; v++ {
		if verbs[v] == word {
			return v
		}
	}
	return None
}

// Mode is what a plan does with videos unless a unit says otherwise: a word of --mode.
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

// Stamp is a point in time as file systems keep it: seconds since 1970, which may be negative, and nanoseconds from 0
// to 999,999,999 after that second. The zero value stands for "unknown" where a field allows that.
type Stamp struct {
	Sec  int64
	Nsec int32
}

// StampOf returns t as a Stamp.
func StampOf(t time.Time) Stamp { return Stamp{Sec: t.Unix(), Nsec: int32(t.Nanosecond())} }

// Root is a folder below which files are taken or put. It is known again by the type of its file system, its own inode
// and its birth time: no device number and no path, which change.
type Root struct {
	Type  string // of the file system, as "ext4"; "-" where it is not known
	Inode uint64 // of the folder; 0 where inodes are not stable
	Birth Stamp  // of the folder; zero where the file system has none
	Path  string // absolute, links resolved
}

// Op is one line of a unit and its target.
type Op struct {
	Verb   Verb
	Size   int64  // bytes of the source
	MTime  Stamp  // of the source
	Inode  uint64 // of the source; 0 where inodes are not stable
	Source string // relative to the unit's folder, with slashes; "" for NFO
	Note   *Note  // NFO: what is written
	To     string // relative to the unit's target root, with slashes
	Line   int    // where Parse found it, from 1
}

// Note is what a file for media servers says: which entry a folder or film is, with Full all that is known of it, or
// which episodes a video holds.
type Note struct {
	Entry
	Full      bool
	Season    int
	Episodes  []int  // none: it is about the entry
	Languages string // in which titles are shown, as "ko-KR,en-US"; "": those of the settings
}

// Entry names a series or film of TMDB.
type Entry struct {
	Kind string // "tv" or "movie"
	ID   int
}

// Unit is a video and what belongs to it. It is carried out whole or not at all. The first of Ops is the video, where
// it is not where it belongs already.
type Unit struct {
	Source int    // which of the plan's sources, from 0
	Target int    // which of the plan's targets, from 0
	Dir    string // the folder of the sources, relative to the source root, with slashes; "." for the root itself
	Ops    []Op
	Work   Work // what the video is; not read from a text
	// Follows is set where there is no video, or an extra: a file that goes where the videos around it go. Not read from a
	// text.
	Follows bool
}

// Work is what a unit's video is, for eyes and events. In a plan's text it is a comment.
type Work struct {
	Entry
	Season     int
	Episodes   []int   // none for a film
	Confidence float64 // 0 to 1, the smaller of the entry's and the episode's; 0 where there is no video
}

// LeftFile is a file that stays where it is. In a plan's text it is a comment.
type LeftFile struct {
	Path string // as it was given to match
	Real string // absolute, links of its folder resolved; "" where that is not known
	Code Code
	Why  lang.Text // for people; "" where the code says it all
}

// Plan is what is to be done, and what is left alone.
type Plan struct {
	ID      string // "20261122-020431-k3f9": the time it was made and four random characters
	Made    time.Time
	Mode    Mode
	Layout  string
	Sources []Root
	Targets []Root
	// Folders are folders of the targets that exist under names which CleanName would change or which are too long: a
	// target below one of them keeps that name.
	Folders []Folder
	Units   []Unit
	Left    []LeftFile // not read from a text
}

// KeepsMode reports whether a plan does with a video what its mode says, or nothing with any. It does what its lines
// say, and a person may have changed each of them; a copy may stand for a mode that can't cross file systems.
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

// Strays returns the targets of files that belong to a video and no longer begin with its name, as after an edit of the
// video's line alone: no server finds them there.
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

// Folder is a folder below a target root, under the name it has.
type Folder struct {
	Target int
	Path   string // relative to the target root, with slashes
}

// SourcePath returns the path of an operation's source, "" if it has none. The part below the source root has slashes
// on every system.
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

// RoleOf returns what a file is by its extension.
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

// IsUnfinished reports whether a file is a download that is not complete, by its name.
func IsUnfinished(name string) bool {
	switch strings.ToLower(path.Ext(name)) {
	case ".part", ".!qb", ".crdownload", ".aria2", ".partial", ".tmp", ".unfinished":
		return true
	}
	return false
}

// RoleIn returns what a file of a unit is.
func (u *Unit) RoleIn(op *Op) Role {
	if role := RoleOf(op.To); role != RoleVideo || !u.Follows {
		return role
	}
	return RoleExtra
}

// Code says why a file is left where it is.
type Code string

// The codes of files that planning leaves.
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
	{PutBack, "an undo put it back: watch skips it until it, a pin or the index changes", false},
	{TakenAway, "somebody removed it from the library: watch skips it until it, a pin or the index changes", false},
	{Unreadable, "it can't be read", false},
}

// Codes returns the codes of files that planning leaves.
func Codes() []Code {
	var out []Code
	for _, m := range meanings {
		out = append(out, m.code)
	}
	return out
}

// Meaning returns what the code says, a clause.
func (c Code) Meaning() string { return c.meaning().text }

// IsConflict reports whether names are in each other's way.
func (c Code) IsConflict() bool { return c.meaning().conflict }

func (c Code) meaning() (m meaning) {
	if i := slices.IndexFunc(meanings, func(m meaning) bool { return m.code == c }); i >= 0 {
		m = meanings[i]
	}
	return m
}
