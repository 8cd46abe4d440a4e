package report

// shownFolders is how many folders of one kind of trouble the summary names.
const shownFolders = 4

// Tally counts records for the summary, and keeps the first few folders of each kind of trouble: its memory does not
// grow with the library. The zero value is ready. It is not safe for concurrent use.
type Tally struct {
	sum         Summary
	episodeless int // matched files of which the entry is known and the episode is not
	troubles    []*trouble
}

// trouble is one kind of unsettled files: those of a status, and of one code where there is an error. Of matched files
// it is those without an episode.
type trouble struct {
	status  Status
	code    Code
	files   int
	folders []folderTrouble
	more    int    // folders beyond shownFolders
	last    string // the folder counted last: records come folder by folder
}

// folderTrouble is the trouble of one folder: how many files, the first one and what is said of it, and whether the
// same is said of them all.
type folderTrouble struct {
	dir, name, path, why string
	files                int
	differ               bool
}

// Add counts one record.
func (t *Tally) Add(r Record) {
	t.sum.Files++
	switch r.Status {
	case Matched:
		t.sum.Matched++
		if !r.LacksEpisode() {
			return
		}
		t.episodeless++
	case Skipped:
		t.sum.Skipped++
		return
	case Ambiguous:
		t.sum.Ambiguous++
	case Unmatched:
		t.sum.Unmatched++
	case Pending:
		t.sum.Pending++
	case Failed:
		t.sum.Errors++
	}
	t.trouble(r).add(r)
}

// Counts returns the file counts so far; what is not about files (requests, cache, time, limiter) is zero.
func (t *Tally) Counts() Summary { return t.sum }

// trouble finds or starts the kind of trouble that r is.
func (t *Tally) trouble(r Record) *trouble {
	code := r.failure().Code
	for _, x := range t.troubles {
		if x.status == r.Status && x.code == code {
			return x
		}
	}
	x := &trouble{status: r.Status, code: code}
	t.troubles = append(t.troubles, x)
	return x
}

func (x *trouble) add(r Record) {
	dir, name := r.Split()
	why := r.Why()
	if r.Error != nil {
		why = r.Error.Message // its code stands above
	}
	x.files++
	if n := len(x.folders); x.files > 1 && dir == x.last {
		if f := &x.folders[n-1]; x.more == 0 {
			f.files++
			f.differ = f.differ || f.why != why
		}
		return
	}
	x.last = dir
	if len(x.folders) == shownFolders {
		x.more++
		return
	}
	x.folders = append(x.folders, folderTrouble{dir: dir, name: name, path: r.Path, why: why, files: 1})
}
