// Package organize plans how to organize a library: it turns the matches of files into a plan of new names. It reads
// the file system only through a [Disk], and changes nothing.
//
// A [Plan] is a list of units. A unit is a video with the files that belong to it. Users can read, edit and compare the
// text of a plan ([Plan.Write], [Parse]), and package apply carries it out. [OrderSteps] orders its steps.
package organize

import (
	"cmp"
	_ "embed" // for the meanings of codes
	"path"
	"slices"
	"strings"
	"time"

	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/library"
	"github.com/anivault/anivault/internal/orders"
	"github.com/anivault/anivault/internal/wordlist"
)

// Verb is what a plan does with a file. The zero value is VerbNone.
type Verb uint8

// The verbs. String returns their words in a plan.
const (
	VerbNone    Verb = iota
	VerbLink         // a hard link
	VerbCopy         // a copy with the source's times and mode
	VerbMove         // a rename; between file systems, a verified copy and then the removal of the source
	VerbSymlink      // a symbolic link to the source
	VerbReflink      // a copy that shares its blocks with the source
	VerbNFO          // an NFO file for media servers; it has no source
)

var verbWords = [...]string{
	VerbNone: "", VerbLink: "link", VerbCopy: "copy", VerbMove: "move", VerbSymlink: "symlink", VerbReflink: "reflink",
	VerbNFO: "nfo",
}

// String returns the verb's word in a plan.
func (v Verb) String() string { return verbWords[v] }

// ParseVerb returns the verb with the given word, except VerbNFO. It returns VerbNone for other words.
func ParseVerb(word string) Verb { return Verb(slices.Index(verbWords[VerbLink:VerbNFO], word) + 1) }

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

var modeVerbs = map[Mode]Verb{
	ModeHardlink: VerbLink, ModeMove: VerbMove, ModeSymlink: VerbSymlink, ModeCopy: VerbCopy, ModeReflink: VerbReflink,
}

// Verb returns what the mode does with a video; VerbNone for an unknown mode.
func (m Mode) Verb() Verb { return modeVerbs[m] }

// Stamp is a time in a file system: seconds since 1970, which may be negative, and the nanoseconds after that second.
// The zero value often means "unknown".
type Stamp struct {
	Sec  int64
	Nsec int32
}

// StampOf returns t as a Stamp.
func StampOf(t time.Time) Stamp { return Stamp{Sec: t.Unix(), Nsec: int32(t.Nanosecond())} }

// IsCopiedAs reports whether t is s as a file system may store it, in units of 100 ns (NTFS, SMB) to 2 s (FAT).
func (s Stamp) IsCopiedAs(t Stamp) bool {
	exact := time.Unix(s.Sec, int64(s.Nsec))
	isUnit := func(unit time.Duration) bool { return StampOf(exact.Truncate(unit)) == t }
	return s == t || s.Sec-t.Sec <= 2 && t.Nsec%100 == 0 && // a quick check, because a file is compared with many
		slices.ContainsFunc([]time.Duration{100, 1000, 1e6, 1e7, 1e9, 2e9}, isUnit)
}

// Root is a source or target folder. The type of its file system, its inode and its birth time identify it. Device
// numbers and paths can't, because they change.
type Root struct {
	Type  string // the type of the file system, such as "ext4"; "-" if unknown
	Inode uint64 // the folder's inode; 0 if inodes are not stable
	Birth Stamp  // the folder's birth time; zero if the file system doesn't record it
	Path  string // absolute, with symbolic links resolved
}

// Op is one operation of a unit.
type Op struct {
	Verb   Verb
	Size   int64    // the source's size in bytes
	MTime  Stamp    // the source's modification time
	Inode  uint64   // the source's inode; 0 if inodes are not stable
	Source string   // path relative to the unit's folder, with slashes; "" for VerbNFO
	NFO    *NFOSpec // the content of an NFO; nil for other verbs
	To     string   // target path relative to the unit's target root, with slashes
	Line   int      // the operation's line in the plan's text, from 1
}

// NFOSpec says what an NFO contains: a work's IDs, everything known about it (Full), or a video's episodes.
type NFOSpec struct {
	Entry
	Full      bool
	Season    int
	Episodes  []int        // TMDB's numbers; empty if the NFO is about the series or film itself
	Named     orders.Place // the numbers that the NFO has, as many as Episodes; without episodes for TMDB's
	Order     string       // of an NFO about a series; see nfo.Entry
	Languages string       // languages of titles, such as "ko-KR,en-US"; "" for those in the settings
}

// Entry identifies a series or film of TMDB.
type Entry struct {
	Kind string // "tv" or "movie"
	ID   int
}

// Unit is a video with the files that belong to it. It is carried out completely or not at all. Its first operation is
// the video, unless the video is already in place.
type Unit struct {
	Source int    // index in Plan.Sources
	Target int    // index in Plan.Targets
	Dir    string // the folder of the source files, relative to the source root, with slashes; "." for the root
	Ops    []Op
	Work   Work // Parse leaves it empty
	// FollowsNeighbours is set for an extra, and for a file about a whole folder. Both go where the videos around them go.
	// The text of a plan does not contain it.
	FollowsNeighbours bool
}

// Work identifies the content of a unit's video by TMDB's numbers, for display and events. In a plan's text it is a
// comment.
type Work struct {
	Entry
	Season     int
	Episodes   []int   // empty for a film
	Confidence float64 // the lower confidence of entry and episode, from 0 to 1; 0 if there is no video
}

// SkippedFile is a file that the plan skips. In a plan's text it is a comment.
type SkippedFile struct {
	Path     string // the path in the record of the match
	RealPath string // absolute, with the folder's symbolic links resolved; "" if unknown
	Code     Code
	Why      lang.Text // details that the code does not express; may be ""
}

// Plan says what to do with the files of a library, and which files to skip.
type Plan struct {
	ID      string // the time and four random characters: "20261122-020431-k3f9"
	Created time.Time
	Mode    Mode
	Layout  string
	Sources []Root
	Targets []Root
	// Folders are existing target folders whose names are too long or unclean. Targets below them keep these names.
	Folders []Folder
	Units   []Unit
	Skipped []SkippedFile // Parse leaves it empty
}

// UsesMode reports whether at least one video uses the verb of the plan's mode, or no unit has a video. Users may edit
// the verb of each line. A copy counts as the mode's verb, except for moves, because it may replace a mode that can't
// cross file systems.
func (p *Plan) UsesMode() bool {
	moved := false
	for i := range p.Units {
		switch verb := p.Units[i].Ops[0].Verb; {
		case verb == p.Mode.Verb(), verb == VerbCopy && p.Mode != ModeMove:
			return true
		case verb != VerbNFO:
			moved = true
		}
	}
	return !moved
}

// StraySidecars returns the targets of sidecars whose names don't begin with their video's name, because the user
// edited only the video's line. Media servers would not find them.
func (p *Plan) StraySidecars() []string {
	var out []string
	for i := range p.Units {
		ops := p.Units[i].Ops
		stem := strings.TrimSuffix(ops[0].To, path.Ext(ops[0].To))
		for k := range ops[1:] {
			if op := &ops[1+k]; ops[0].Verb != VerbNFO && op.Verb != VerbNFO && !strings.HasPrefix(op.To, stem) {
				out = append(out, op.To)
			}
		}
	}
	return out
}

// Folder is an existing folder below a target root.
type Folder struct {
	Target int    // index in Plan.Targets
	Path   string // relative to the target root, with slashes
}

// SourcePath returns the path of an operation's source, or "" for an NFO. On every system, the part below the source
// root has slashes.
func (p *Plan) SourcePath(u *Unit, op *Op) string {
	if op.Verb == VerbNFO {
		return ""
	}
	return joinPath(joinPath(p.Sources[u.Source].Path, u.Dir), op.Source)
}

// TargetPath returns the path of an operation's target. On every system, the part below the target root has slashes.
func (p *Plan) TargetPath(u *Unit, op *Op) string { return joinPath(p.Targets[u.Target].Path, op.To) }

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

var roles = indexWords("nfo .nfo", "audio .mka .ac3 .eac3 .dts .flac .aac .mp3", "font .ttf .otf .ttc",
	"image .jpg .jpeg .png .webp .gif .bmp .tbn")

// RoleOf returns the role of a file with the name's extension.
func RoleOf(name string) Role {
	switch {
	case library.IsVideo(name):
		return RoleVideo
	case library.IsSubtitle(name):
		return RoleSubtitle
	}
	return cmp.Or(Role(roles[strings.ToLower(path.Ext(name))]), RoleOther)
}

// isNeverSidecar reports whether the name belongs to an unfinished download or a torrent.
func isNeverSidecar(name string) bool {
	return IsUnfinishedDownload(name) || strings.EqualFold(path.Ext(name), ".torrent")
}

// IsUnfinishedDownload reports whether the name has the extension of an unfinished download, as in "x.mkv.part".
func IsUnfinishedDownload(name string) bool {
	return slices.Contains([]string{".part", ".!qb", ".crdownload", ".aria2", ".partial", ".tmp", ".unfinished"},
		strings.ToLower(path.Ext(name)))
}

// RoleIn returns the role of an operation's file in its unit.
func (u *Unit) RoleIn(op *Op) Role {
	if role := RoleOf(op.To); role != RoleVideo || !u.FollowsNeighbours {
		return role
	}
	return RoleExtra
}

// Code says why a file is skipped.
type Code string

// The codes of planning.
const (
	CodeLowConfidence Code = "low_confidence"
	CodeAmbiguous     Code = "ambiguous"
	CodeUnmatched     Code = "unmatched"
	CodePending       Code = "pending"
	CodeNoEpisode     Code = "no_episode"
	CodeNoOrder       Code = "no_order"
	CodeExtra         Code = "extra"
	CodeNotContiguous Code = "not_contiguous"
	CodeNotRegular    Code = "not_regular"
	CodePartOfDisc    Code = "part_of_disc"
	CodeSameTarget    Code = "same_target"
	CodeSameFile      Code = "same_file"
	CodeSameFolder    Code = "same_folder"
	CodeTwoFolders    Code = "two_folders"
	CodeNoOwner       Code = "no_owner"
	CodeOutsidePath   Code = "outside_path"
	CodeExists        Code = "exists"
	CodeOutsideRoot   Code = "outside_root"
	CodeBadName       Code = "bad_name"
	CodeNameTooLong   Code = "name_too_long"
	CodeCrossDevice   Code = "cross_device"
	CodeNoReflink     Code = "no_reflink"
	CodeNoSymlink     Code = "no_symlink"
	CodePutBack       Code = "put_back"
	CodeTakenAway     Code = "taken_away"
	CodeNotFound      Code = "not_found"
	CodeUnreadable    Code = "io"
)

// CodeMeaning is a row of the table of codes.
type CodeMeaning struct {
	Code     Code
	Meaning  string
	Conflict bool
}

// Codes returns the codes of planning and their meanings.
var Codes = wordlist.Table[CodeMeaning](codesJSON)

//go:embed codes.json
var codesJSON []byte

// Meaning returns the explanation of the code as a clause, such as "its name is too long".
func (c Code) Meaning() string { return c.meaning().Meaning }

// IsConflict reports whether the code means that two files need the same name.
func (c Code) IsConflict() bool { return c.meaning().Conflict }

func (c Code) meaning() (m CodeMeaning) {
	rows := Codes()
	if i := slices.IndexFunc(rows, func(m CodeMeaning) bool { return m.Code == c }); i >= 0 {
		m = rows[i]
	}
	return m
}
