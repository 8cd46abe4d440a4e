package release

import "testing"

func (f From) String() string {
	if name := map[From]string{FromFolder: "folder", FromParent: "parent"}[f]; name != "" {
		return name
	}
	return "name"
}

// Folders between the show's folder and the file.
func TestFoldersInTheShowsFolder(t *testing.T) {
	check(t, []row{
		{"Silver Rail/2/Silver Rail - 05.mkv", "Silver Rail s2 e5 episode"},
		{"Silver Rail/2/05.mkv", "Silver Rail s2 e5 episode"},
		{"Silver Rail/2nd/05.mkv", "Silver Rail s2 e5 episode"},
		{"Silver Rail/II/Silver Rail - 05.mkv", "Silver Rail s2 e5 episode"},
		{"Silver Rail/21/Silver Rail - 05.mkv", "Silver Rail e5 episode"},
		{"Silver Rail/2/Silver Rail S03E05.mkv", "Silver Rail s3 e5 episode"},
		{"Anime/2/Silver Rail - 05.mkv", "Silver Rail e5 episode"},
		{"Trains/2/Silver Rail - 05.mkv", "Silver Rail e5 episode"},
		{"Trains/2/Silver Rail (2009).mkv", "Silver Rail y2009 movie"},
		{"Silver Rail/2014/Silver Rail - 05.mkv", "Silver Rail e5 y2014 episode"},
		{"Silver Rail/2014/05.mkv", "Silver Rail e5 y2014 episode"},
		{"Trains/2014/Silver Rail - 05.mkv", "Silver Rail e5 episode"},
		{"Silver Rail/The Final Season/05.mkv", "Silver Rail The Final Season e5 episode"},
		{"Silver Rail/Night Train Arc/05.mkv", "Silver Rail Night Train Arc e5 episode"},
		{"Trains/Silver Rail/05.mkv", "Silver Rail e5 episode"},
		{"Silver Rail/Season 2/2-05.mkv", "Silver Rail s2 e5 episode"},
		{"Silver Rail/Season 2/1-05.mkv", "Silver Rail s1 e5 episode"},
		{"Silver Rail S3 Part 2/05.mkv", "Silver Rail s3 e5 part2 episode"},
		{"Silver Rail S3 Part 2/Silver Rail - 05.mkv", "Silver Rail s3 e5 part2 episode"},
		{"Silver Rail S3 Part 2/Silver Rail S03E15.mkv", "Silver Rail s3 e15 episode"},
		{"Silver Rail/Season 2/2-02.mkv", "Silver Rail s2 e2 episode"},
		{"Silver Rail/Season 2/02-04.mkv", "Silver Rail s2 e2-4 episode"},
	})
	for name, want := range map[string]string{
		"Silver Rail/Night Train [1080p]/Silver Rail - 03.mkv":       "Silver Rail Night Train",
		"Silver Rail/Part 2/Silver Rail - 03.mkv":                    "Silver Rail",
		"Silver Rail/Silver Rail & Sea/Silver Rail and Sea - 03.mkv": "Silver Rail & Sea",
	} {
		if r := Parse(name); r.Folder.Title != want {
			t.Errorf("%s: the folder's title is %q, want %q", name, r.Folder.Title, want)
		}
	}
}
