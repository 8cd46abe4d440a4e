package report

// Op is one file of a plan and what became of it: one NDJSON line of `organize`, `apply`, `undo` and `history`.
type Op struct {
	_          struct{} `constant:"type=op" doc:"always \"op\""`
	Run        string   `json:"run" doc:"the id of the plan, or of the run"`
	N          int      `json:"n" doc:"its number in the plan, from 1; 0 for a file that is in none"`
	Unit       int      `json:"unit" doc:"the number of its unit, a video with what belongs to it, from 1; 0 for none"`
	Action     string   `json:"action,omitempty" doc:"link, copy, move, symlink, reflink or nfo"`
	Role       string   `json:"role,omitempty" doc:"video, subtitle, audio, image, nfo, font, extra or other"`
	Source     string   `json:"source,omitempty" bytes:"source_base64" doc:"where the file is"`
	Target     string   `json:"target,omitempty" bytes:"target_base64" doc:"where it is to be"`
	Status     string   `json:"status" doc:"planned, in_place, left or conflict; of apply and undo also done, refused, failed, undone or kept; of verify ok, edited, moved_on, gone, replaced or bad_crc"`
	Kind       string   `json:"kind,omitempty" doc:"tv or movie, with tmdb_id"`
	TMDBID     int      `json:"tmdb_id,omitempty" doc:"the TMDB entry"`
	Season     *int     `json:"season,omitempty" doc:"TMDB's season number"`
	Episodes   []int    `json:"episodes,omitempty" doc:"TMDB's episode numbers"`
	Confidence *float64 `json:"confidence,omitempty" doc:"0 to 1: the smaller of the record's confidence and episode_confidence"`
	Reason     string   `json:"reason,omitempty" doc:"why it is left, for people"`
	Error      *OpError `json:"error,omitempty" doc:"with left, conflict, refused, failed and kept: why"`
}

// OpError says why a file was not put where it belongs.
type OpError struct {
	Code    string `json:"code" doc:"one of the codes of plans"`
	Message string `json:"message" doc:"the same for people"`
}

// OrganizeProgress says how far a run is, where it takes long.
type OrganizeProgress struct {
	_          struct{} `constant:"type=progress" doc:"always \"progress\""`
	Run        string   `json:"run" doc:"the run's id"`
	Bytes      int64    `json:"bytes" doc:"bytes that are copied"`
	BytesTotal int64    `json:"bytes_total" doc:"bytes that the run copies"`
	Files      int      `json:"files" doc:"files that are done"`
	FilesTotal int      `json:"files_total" doc:"files of the run"`
	ETAMS      int64    `json:"eta_ms" doc:"estimate of the time left, in milliseconds"`
}

// OrganizeSummary is the last line of the NDJSON of `organize`, `apply` and `undo`. Every field is always present.
type OrganizeSummary struct {
	_         struct{}  `constant:"type=organize_summary" doc:"always \"organize_summary\""`
	Run       string    `json:"run" doc:"the id of the plan, or of the run"`
	Planned   int       `json:"planned" doc:"files that the plan puts somewhere, whatever became of them; of an undo those that it is about"`
	InPlace   int       `json:"in_place" doc:"files that are where they belong already"`
	Left      int       `json:"left" doc:"files that stay where they are for a reason"`
	Conflicts int       `json:"conflicts" doc:"files that stay because a name is taken, or wanted twice"`
	Done      int       `json:"done" doc:"files that were put where they belong"`
	Refused   int       `json:"refused" doc:"files that the plan can't be carried out with: nothing was done with them"`
	Failed    int       `json:"failed" doc:"files with which the system failed: they were put back"`
	Undone    int       `json:"undone" doc:"files that were put back"`
	Kept      int       `json:"kept" doc:"files that could not be put back safely"`
	Bytes     int64     `json:"bytes" doc:"bytes that the plan copies"`
	Unowned   []Unowned `json:"unowned,omitempty" doc:"files that are neither in the plan nor left for a reason: they stay where they are"`
	ElapsedMS int64     `json:"elapsed_ms" doc:"duration in milliseconds"`
}

// Unowned is how many files of an extension are in no unit of a plan.
type Unowned struct {
	Extension string `json:"extension" doc:"in lower case, with its dot; empty for files that have none"`
	Files     int    `json:"files" doc:"how many"`
}
