package organize

import (
	"slices"
)

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
