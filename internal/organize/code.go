package organize

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
	BadName       Code = "bad_name"
	NameTooLong   Code = "name_too_long"
	CrossDevice   Code = "cross_device"
	Unreadable    Code = "io"
)
