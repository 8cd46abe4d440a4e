package organize

import (
	"fmt"
	"hash/fnv"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/anivault/anivault/internal/library"
	"github.com/anivault/anivault/internal/nfo"
	"github.com/anivault/anivault/internal/release"
	"github.com/anivault/anivault/internal/report"
)

// disk is a file system of files that are there: path → what it is.
type disk map[string]file

type file struct {
	inode   uint64
	device  uint64
	mount   uint64
	content string
	links   uint64
	leads   string
	folder  bool
}

// tree returns a disk of paths. "a = b" is another name of b's inode, "a -> b" a link, "a/" a folder, "a: text" has
// content, "2|a" lies on device 2, and "1.7|a" on device 1 as mount 7.
func tree(paths ...string) disk {
	d := disk{}
	for _, name := range paths {
		f := file{device: 1, links: 1}
		if device, rest, ok := strings.Cut(name, "|"); ok {
			name = rest
			_, _ = fmt.Sscanf(device, "%d.%d", &f.device, &f.mount)
		}
		name, text, _ := strings.Cut(name, ": ")
		name, leads, _ := strings.Cut(name, " -> ")
		name, same, _ := strings.Cut(name, " = ")
		h := fnv.New64a()
		_, _ = h.Write([]byte(name))
		f.inode, f.content, f.leads = h.Sum64(), text, leads
		if same != "" {
			other := d[same]
			other.links++
			d[same], f = other, other
		}
		if name, f.folder = strings.CutSuffix(name, "/"); f.folder {
			f.device = d.deviceAbove(name, f.device)
		}
		d[name] = f
		for dir := path.Dir(name); dir != "/" && dir != "."; dir = path.Dir(dir) {
			if _, known := d[dir]; !known {
				d[dir] = file{device: f.device, folder: true}
			}
		}
	}
	return d
}

func (d disk) deviceAbove(_ string, device uint64) uint64 { return device }

func (d disk) RealPath(dir string) (string, error) {
	if f, known := d[path.Clean(dir)]; !known || !f.folder {
		return "", &fs.PathError{Op: "open", Path: dir, Err: fs.ErrNotExist}
	}
	return path.Clean(dir), nil
}

func (d disk) List(dir string) ([]Item, error) {
	var out []Item
	for name, f := range d {
		if path.Dir(name) != dir {
			continue
		}
		item := Item{
			Name: path.Base(name), Type: TypeRegular, Size: int64(len(f.content)), Device: f.device, Mount: f.mount,
			Inode: f.inode, Links: f.links, LinkText: f.leads,
		}
		if f.folder {
			item.Type = TypeDir
		}
		if f.leads != "" {
			item.Type = TypeLink
		}
		out = append(out, item)
	}
	slices.SortFunc(out, func(a, b Item) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

func (disk) Prefetch([]string)         {}
func (d disk) WalkedFolders() []string { return nil }

func (d disk) ReadEnds(name string) ([]byte, error) { return []byte(d[name].content), nil }

func share(x float64) *float64 { return &x }

// tv returns the record of an episode of series 1, "Show" of 2020.
func tv(name string, season int, episodes ...int) report.Record {
	r := report.Record{
		Path: name, Status: report.Matched, Kind: "tv", TMDBID: 1, Title: "Show", Year: 2020, Season: &season,
		Episodes:   episodes,
		Confidence: share(0.99), EpisodeConfidence: share(0.98), Parsed: read(name),
	}
	for _, e := range episodes {
		r.EpisodeTitles = append(r.EpisodeTitles, fmt.Sprint("Title ", e))
	}
	return r
}

// film returns the record of a film, "Film" of 2001.
func film(name string, id int) report.Record {
	return report.Record{
		Path: name, Status: report.Matched, Kind: "movie", TMDBID: id, Title: "Film", Year: 2001, Confidence: share(0.95),
		Parsed: read(name),
	}
}

func read(name string) *report.Parsed {
	r := release.Parse(path.Base(name))
	return &report.Parsed{
		Episodes: r.Episodes, Absolute: r.Absolute, Part: r.Part, Group: r.Group, Resolution: r.Resolution,
		Version:  r.Version,
		Checksum: r.Checksum, Source: r.Source, Video: r.Video, Audio: r.Audio, Edition: r.Edition,
	}
}

func with(r report.Record, change func(*report.Record)) report.Record {
	change(&r)
	return r
}

// options are those of a plan from /in to /out by hard links.
func options(t testing.TB, layout string) Options {
	t.Helper()
	l, err := NewLayout(layout, Templates{})
	if err != nil {
		t.Fatal(err)
	}
	place := func(dir string) RootInfo {
		return RootInfo{Root: Root{Type: "ext4", Path: dir}, Device: 1, NameMax: 255}
	}
	return Options{
		ID: "20261122-020431-k3f9", Created: time.Unix(1795312800, 0), Mode: ModeHardlink, Layout: l, MinConfidence: 0.9,
		Sources: []RootInfo{place("/in")}, Targets: []RootInfo{place("/out")},
	}
}

// planned tells a plan in lines: "verb source > target", "in place: n", "code path (why)". Nothing is planned again
// once it is carried out.
func planned(t *testing.T, o Options, d disk, records ...report.Record) []string {
	t.Helper()
	r := planOf(o, d, records...)
	if o.Mode != ModeMove {
		if again := planOf(o, d.after(r), records...); len(again.Units) > 0 {
			t.Errorf("planned again: %v", again.Units[0].Ops)
		}
	}
	return planLines(r)
}

func planLines(r *Result) []string {
	var out []string
	for i := range r.Units {
		u := &r.Units[i]
		for k := range u.Ops {
			op := &u.Ops[k]
			from := relativeTo(r.SourcePath(u, op), r.Sources[u.Source].Path)
			out = append(out, fmt.Sprintf("%s %s > %s", op.Verb, from, op.To))
		}
	}
	if r.FilesInPlace > 0 {
		out = append(out, fmt.Sprint("in place: ", r.FilesInPlace))
	}
	for _, l := range r.Skipped {
		line := string(l.Code) + " " + l.Path
		if l.Why != "" {
			line += " (" + l.Why.String() + ")"
		}
		out = append(out, line)
	}
	for _, warning := range r.ForeignNFOs {
		out = append(out, warning.String())
	}
	return out
}

func planOf(o Options, d disk, records ...report.Record) *Result {
	p := NewPlanner(o, d)
	for _, r := range records {
		p.Add(&r)
	}
	return p.Plan(noDetails)
}

// after returns the disk with a plan carried out.
func (d disk) after(r *Result) disk {
	out := maps.Clone(d)
	for i := range r.Units {
		for k := range r.Units[i].Ops {
			if op := &r.Units[i].Ops[k]; op.Verb == VerbMove {
				delete(out, r.SourcePath(&r.Units[i], op))
			}
		}
	}
	for i := range r.Units {
		u := &r.Units[i]
		for k := range u.Ops {
			op := &u.Ops[k]
			source, target := r.SourcePath(u, op), r.TargetPath(u, op)
			f := d[source]
			switch op.Verb {
			case VerbSymlink:
				f = file{device: f.device, leads: source}
			case VerbCopy, VerbReflink:
				f.inode++
			case VerbMove:
			default:
				f.links++
				out[source] = f
			}
			out[target] = f
			for dir := path.Dir(target); dir != "/"; dir = path.Dir(dir) {
				if _, known := out[dir]; !known {
					out[dir] = file{device: f.device, folder: true}
				}
			}
		}
	}
	return out
}

const (
	show = "Show (2020) [tmdbid-1]/Season 01/Show (2020) "
	mine = "Film (2001) [tmdbid-7]/Film (2001) [tmdbid-7]"
)

func TestPlans(t *testing.T) {
	for _, row := range []struct {
		name    string
		change  func(*Options)
		disk    disk
		records []report.Record
		want    []string
	}{
		{
			"an episode and a film", nil, tree("/in/Show - 01.mkv", "/in/Film.mp4", "/out/"),
			[]report.Record{tv("/in/Show - 01.mkv", 1, 1), film("/in/Film.mp4", 7)},
			[]string{"link Show - 01.mkv > " + show + "S01E01 - Title 1.mkv", "link Film.mp4 > " + mine + ".mp4"},
		},
		{
			"files of one conflict are listed together", nil, tree("/in/a.mkv", "/in/b.mkv", "/in/c.mkv", "/out/"),
			[]report.Record{tv("/in/a.mkv", 1, 1), {Path: "/in/b.mkv", Status: report.Unmatched}, tv("/in/c.mkv", 1, 1)},
			[]string{
				"same_target /in/a.mkv (/in/c.mkv would get the same name: Show (2020) S01E01 - Title 1)",
				"same_target /in/c.mkv (/in/a.mkv would get the same name: Show (2020) S01E01 - Title 1)", "unmatched /in/b.mkv",
			},
		},
		{
			"one part of a film whose other parts are elsewhere", nil,
			tree("/in/Film 2001 CD2.avi", "/out/"+mine+" - part1.avi"),
			[]report.Record{film("/in/Film 2001 CD2.avi", 7)},
			[]string{"link Film 2001 CD2.avi > " + mine + " - part2.avi"},
		},
		{
			"one part of an episode whose other parts are elsewhere", nil,
			tree("/in/Show S01E08.part1.mkv", "/in/Show S01E09 cd2.avi", "/in/Show S01E02 Part 2.mkv", "/out/"),
			[]report.Record{
				tv("/in/Show S01E08.part1.mkv", 1, 8), tv("/in/Show S01E09 cd2.avi", 1, 9),
				tv("/in/Show S01E02 Part 2.mkv", 1, 2),
			},
			[]string{
				"link Show S01E08.part1.mkv > " + show + "S01E08 - Title 8 - part1.mkv",
				"link Show S01E09 cd2.avi > " + show + "S01E09 - Title 9 - part2.avi",
				"link Show S01E02 Part 2.mkv > " + show + "S01E02 - Title 2.mkv",
			},
		},
		{
			"the parts of an episode with the number of one of them", nil,
			tree("/in/Show S01E01.part1.mkv", "/in/Show S01E01.part2.mkv", "/in/Show S01E02 Part 2.mkv", "/in/b.mkv", "/out/"),
			[]report.Record{
				tv("/in/Show S01E01.part1.mkv", 1, 1), tv("/in/Show S01E01.part2.mkv", 1, 1),
				tv("/in/Show S01E02 Part 2.mkv", 1, 2), tv("/in/b.mkv", 1, 2),
			},
			[]string{
				"link Show S01E01.part1.mkv > " + show + "S01E01 - Title 1 - part1.mkv",
				"link Show S01E01.part2.mkv > " + show + "S01E01 - Title 1 - part2.mkv",
				"same_target /in/Show S01E02 Part 2.mkv (/in/b.mkv would get the same name: Show (2020) S01E02 - Title 2)",
				"same_target /in/b.mkv (/in/Show S01E02 Part 2.mkv would get the same name: Show (2020) S01E02 - Title 2)",
			},
		},
		{
			"parts of an episode, one of which has its number", nil,
			tree("/in/Show S01E02 part1.mkv", "/in/Show S01E02 part2.mkv", "/out/"),
			[]report.Record{tv("/in/Show S01E02 part1.mkv", 1, 2), tv("/in/Show S01E02 part2.mkv", 1, 2)},
			[]string{
				"link Show S01E02 part1.mkv > " + show + "S01E02 - Title 2 - part1.mkv",
				"link Show S01E02 part2.mkv > " + show + "S01E02 - Title 2 - part2.mkv",
			},
		},
		{
			"two files that say the same part", nil, tree("/in/Film 2001 CD2.avi", "/in/Film CD2.avi", "/out/"),
			[]report.Record{film("/in/Film 2001 CD2.avi", 7), film("/in/Film CD2.avi", 7)},
			[]string{
				"same_target /in/Film 2001 CD2.avi (/in/Film CD2.avi would get the same name: Film (2001) [tmdbid-7] - part2)",
				"same_target /in/Film CD2.avi (/in/Film 2001 CD2.avi would get the same name: Film (2001) [tmdbid-7] - part2)",
			},
		},
		{
			"a whole film and its parts", func(o *Options) { o.LabelVersions = true },
			tree("/in/Film.mkv", "/in/Film cd1.mkv", "/in/Film cd2.mkv", "/out/"),
			[]report.Record{film("/in/Film.mkv", 7), film("/in/Film cd1.mkv", 7), film("/in/Film cd2.mkv", 7)},
			[]string{
				"same_target /in/Film cd2.mkv (/in/Film.mkv is the same film)",
				"same_target /in/Film cd1.mkv (/in/Film.mkv is the same film)",
				"same_target /in/Film.mkv (/in/Film cd2.mkv is the same film)",
			},
		},
		{
			"a whole episode, or one with others, and its parts", nil,
			tree("/in/Show S01E01-E02.mkv", "/in/Show S01E02.part1.mkv", "/in/Show S01E03.part1.mkv",
				"/in/Show S01E03.part2.mkv", "/in/Show S01E03.mkv", "/in/Show S01E04-E05.part1.mkv",
				"/in/Show S01E04-E05.part2.mkv", "/in/Show S01E06.mkv", "/out/"),
			[]report.Record{
				tv("/in/Show S01E01-E02.mkv", 1, 1, 2), tv("/in/Show S01E02.part1.mkv", 1, 2),
				tv("/in/Show S01E03.part1.mkv", 1, 3), tv("/in/Show S01E03.part2.mkv", 1, 3), tv("/in/Show S01E03.mkv", 1, 3),
				tv("/in/Show S01E04-E05.part1.mkv", 1, 4, 5), tv("/in/Show S01E04-E05.part2.mkv", 1, 4, 5),
				tv("/in/Show S01E06.mkv", 1, 6),
			},
			[]string{
				"link Show S01E04-E05.part1.mkv > " + show + "S01E04-E05 - Title 4 + Title 5 - part1.mkv",
				"link Show S01E04-E05.part2.mkv > " + show + "S01E04-E05 - Title 4 + Title 5 - part2.mkv",
				"link Show S01E06.mkv > " + show + "S01E06 - Title 6.mkv",
				"same_target /in/Show S01E01-E02.mkv (/in/Show S01E02.part1.mkv has the same episode)",
				"same_target /in/Show S01E02.part1.mkv (/in/Show S01E01-E02.mkv has the same episode)",
				"same_target /in/Show S01E03.part2.mkv (/in/Show S01E03.mkv has the same episode)",
				"same_target /in/Show S01E03.part1.mkv (/in/Show S01E03.mkv has the same episode)",
				"same_target /in/Show S01E03.mkv (/in/Show S01E03.part2.mkv has the same episode)",
			},
		},
		{
			"parts of a film that the library has whole, and the reverse", nil,
			tree("/in/Film cd1.mkv", "/in/Film cd2.mkv", "/in/Film.mkv", "/in/Two.mkv", "/in/Two cd1.mkv", "/in/Two cd2.mkv",
				"/out/"+mine+".mkv = /in/Film.mkv",
				"/out/Two (2001) [tmdbid-8]/Two (2001) [tmdbid-8] - part1.mkv = /in/Two cd1.mkv"),
			[]report.Record{
				film("/in/Film cd1.mkv", 7), film("/in/Film cd2.mkv", 7), film("/in/Film.mkv", 7),
				with(film("/in/Two.mkv", 8), func(r *report.Record) { r.Title = "Two" }),
				with(film("/in/Two cd1.mkv", 8), func(r *report.Record) { r.Title = "Two" }),
				with(film("/in/Two cd2.mkv", 8), func(r *report.Record) { r.Title = "Two" }),
			},
			[]string{
				"link Two cd2.mkv > Two (2001) [tmdbid-8]/Two (2001) [tmdbid-8] - part2.mkv", "in place: 2",
				"exists /in/Film cd1.mkv (/out/" + mine + ".mkv)", "exists /in/Film cd2.mkv (/out/" + mine + ".mkv)",
				"exists /in/Two.mkv (/out/Two (2001) [tmdbid-8]/Two (2001) [tmdbid-8] - part1.mkv)",
			},
		},
		{
			"editions as versions", func(o *Options) { o.LabelVersions = true },
			tree("/in/Film 2001 Director's Cut 1080p.mkv", "/in/Film 2001 Extended 720p.mkv", "/in/Film 2001.mkv", "/out/"),
			[]report.Record{
				film("/in/Film 2001 Director's Cut 1080p.mkv", 7), film("/in/Film 2001 Extended 720p.mkv", 7),
				film("/in/Film 2001.mkv", 7),
			},
			[]string{
				"link Film 2001 Director's Cut 1080p.mkv > " + mine + " - [Director's Cut].mkv",
				"link Film 2001 Extended 720p.mkv > " + mine + " - [Extended].mkv",
				"link Film 2001.mkv > " + mine + ".mkv",
			},
		},
		{
			"editions have folders of their own with plex", func(o *Options) { o.Layout, _ = NewLayout("plex", Templates{}) },
			tree("/in/Film 2001 Director's Cut 1080p.mkv", "/in/Film 2001 Extended.mkv", "/in/Film 2001.mkv",
				"/out/Movie (2001) {tmdb-7}/", "/out/Movie {tmdb-7} {edition-Extended}/"),
			[]report.Record{
				film("/in/Film 2001 Director's Cut 1080p.mkv", 7), film("/in/Film 2001 Extended.mkv", 7),
				film("/in/Film 2001.mkv", 7),
			},
			[]string{
				"link Film 2001 Director's Cut 1080p.mkv > Film (2001) {tmdb-7} {edition-Director's Cut}/Film (2001) {tmdb-7} " +
					"{edition-Director's Cut}.mkv",
				"link Film 2001 Extended.mkv > Movie {tmdb-7} {edition-Extended}/Movie {tmdb-7} {edition-Extended}.mkv",
				"link Film 2001.mkv > Movie (2001) {tmdb-7}/Movie (2001) {tmdb-7}.mkv",
			},
		},
		{
			"an edition in the film's folder, as Radarr names it",
			func(o *Options) { o.Layout, _ = NewLayout("plex", Templates{}) },
			tree("/in/Film 2001 Extended.mkv", "/in/Film 2001 Uncut.mkv", "/in/Film 2001 Director's Cut.mkv",
				"/out/Film (2001) {tmdb-7}/Film (2001) {tmdb-7} {edition-Extended} [Bluray-1080p].mkv",
				"/out/Film (2001) {tmdb-7}/Film (2001) {edition-Uncut}.mkv = /in/Film 2001 Uncut.mkv"),
			[]report.Record{
				film("/in/Film 2001 Extended.mkv", 7), film("/in/Film 2001 Uncut.mkv", 7),
				film("/in/Film 2001 Director's Cut.mkv", 7),
			},
			[]string{
				"link Film 2001 Director's Cut.mkv > Film (2001) {tmdb-7} {edition-Director's Cut}/Film (2001) {tmdb-7} " +
					"{edition-Director's Cut}.mkv",
				"in place: 1",
				"exists /in/Film 2001 Extended.mkv (/out/Film (2001) {tmdb-7}/Film (2001) {tmdb-7} {edition-Extended} " +
					"[Bluray-1080p].mkv)",
			},
		},
		{
			"an edition's folder of Plex, for a server whose folders have no editions", nil,
			tree("/in/Film 2001 Director's Cut.mkv", "/in/Film 2001 Extended.mkv", "/in/Film 2001.mkv",
				"/out/Film (2001) {tmdb-7} {edition-Director's Cut}/Film.mkv = /in/Film 2001 Director's Cut.mkv",
				"/out/Film (2001) {tmdb-7} {edition-Extended}/", "/out/Film (2001) {tmdb-7}/Film.mkv"),
			[]report.Record{
				film("/in/Film 2001.mkv", 7), film("/in/Film 2001 Director's Cut.mkv", 7), film("/in/Film 2001 Extended.mkv", 7),
			},
			[]string{
				"link Film 2001 Extended.mkv > Film (2001) {tmdb-7} {edition-Extended}/Film (2001) {tmdb-7} {edition-Extended}.mkv",
				"in place: 1", "exists /in/Film 2001.mkv (/out/Film (2001) {tmdb-7}/Film.mkv)",
			},
		},
		{
			"editions in one folder, for Plex", func(o *Options) { o.Layout, _ = NewLayout("plex", Templates{}) },
			tree("/in/Film 2001 Extended.mkv", "/in/Film 2001.mkv",
				"/out/Film (2001) [tmdbid-7]/Film - [Extended].mkv = /in/Film 2001 Extended.mkv",
				"/out/Film (2001) [tmdbid-7]/Film.mkv = /in/Film 2001.mkv"),
			[]report.Record{film("/in/Film 2001.mkv", 7), film("/in/Film 2001 Extended.mkv", 7)},
			[]string{"in place: 2"},
		},
		{
			"a film's own fields in names of one's own",
			func(o *Options) {
				o.Layout, _ = NewLayout("custom", Templates{Movie: "{title}/{title}< {edition}>< {resolution}>"})
			},
			tree("/in/Film 2001 Uncut 1080p.mkv", "/in/Film 2001 720p.mkv", "/out/"),
			[]report.Record{film("/in/Film 2001 Uncut 1080p.mkv", 7), film("/in/Film 2001 720p.mkv", 7)},
			[]string{
				"link Film 2001 Uncut 1080p.mkv > Film/Film Uncut 1080p.mkv",
				"link Film 2001 720p.mkv > Film/Film 720p.mkv",
			},
		},
		{
			"an episode's own fields don't make two episodes of one",
			func(o *Options) {
				o.Layout, _ = NewLayout("custom", Templates{Show: "{title}", Episode: "{title} S{season:2}E{episode:2} {name}"})
			},
			tree("/in/a 720p.mkv", "/in/a 1080p.mkv", "/in/b cd1.avi", "/in/b cd2.avi", "/out/"),
			[]report.Record{
				tv("/in/a 720p.mkv", 1, 1), tv("/in/a 1080p.mkv", 1, 1), tv("/in/b cd1.avi", 1, 2), tv("/in/b cd2.avi", 1, 2),
			},
			[]string{
				"link b cd1.avi > Show/Season 01/Show S01E02 b cd1 - part1.avi",
				"link b cd2.avi > Show/Season 01/Show S01E02 b cd2 - part2.avi",
				"same_target /in/a 720p.mkv (/in/a 1080p.mkv has the same episode)",
				"same_target /in/a 1080p.mkv (/in/a 720p.mkv has the same episode)",
			},
		},
		{
			"an episode's own fields tell versions apart",
			func(o *Options) {
				o.Layout, _ = NewLayout("custom", Templates{Show: "{title}", Episode: "{title} S{season:2}E{episode:2} {name}"})
				o.LabelVersions = true
			},
			tree("/in/a 720p.mkv", "/in/a 1080p.mkv", "/out/"),
			[]report.Record{tv("/in/a 720p.mkv", 1, 1), tv("/in/a 1080p.mkv", 1, 1)},
			[]string{
				"link a 720p.mkv > Show/Season 01/Show S01E01 a 720p.mkv",
				"link a 1080p.mkv > Show/Season 01/Show S01E01 a 1080p.mkv",
			},
		},
		{
			"versions of one's own names, a week apart",
			func(o *Options) {
				o.Layout, _ = NewLayout("custom", Templates{
					Show: "{title}", Episode: "{title} S{season:2}E{episode:2}< {resolution}>",
					Movie: "{title} ({year})/{title}< {resolution}>",
				})
				o.LabelVersions = true
			},
			tree("/in/a 720p.mkv", "/in/b.mkv", "/in/c 720p.mkv", "/out/Show/Season 01/Show S01E01 1080p.mkv",
				"/out/Show/Season 01/Show S01E02.mkv", "/out/Film (2001)/Film 1080p.mkv"),
			[]report.Record{tv("/in/a 720p.mkv", 1, 1), tv("/in/b.mkv", 1, 2), film("/in/c 720p.mkv", 7)},
			[]string{
				"link a 720p.mkv > Show/Season 01/Show S01E01 720p.mkv", "link c 720p.mkv > Film (2001)/Film 720p.mkv",
				"exists /in/b.mkv (/out/Show/Season 01/Show S01E02.mkv)",
			},
		},
		{
			"what is left, and why", nil,
			tree("/in/a.mkv", "/in/b.mkv", "/in/c.mkv", "/in/d.mkv", "/in/e.mkv", "/in/f.mkv", "/in/g.mkv -> /x", "/in/h.mkv",
				"/in/k.mkv", "/else/m.mkv", "/out/"),
			[]report.Record{
				with(tv("/in/a.mkv", 1, 1), func(r *report.Record) { r.Confidence = share(0.89) }),
				with(tv("/in/b.mkv", 1, 2), func(r *report.Record) { r.EpisodeConfidence = share(0.85) }),
				{
					Path: "/in/c.mkv", Status: report.Ambiguous,
					Candidates: []report.Candidate{
						{Kind: "tv", TMDBID: 1, Confidence: 0.41},
						{Kind: "movie", TMDBID: 2, Confidence: 0.4},
					},
				},
				{Path: "/in/d.mkv", Status: report.Unmatched},
				{Path: "/in/e.mkv", Status: report.Pending, Reason: "offline"},
				with(tv("/in/f.mkv", 1, 3), func(r *report.Record) { r.Season, r.Episodes = nil, nil }),
				tv("/in/g.mkv", 1, 4),
				{Path: "/in/h.mkv", Status: report.Skipped, Reason: "sample"},
				tv("/in/i.mkv", 1, 5),
				tv("/in/k.mkv", 1, 6, 8),
				tv("/else/m.mkv", 1, 9),
				tv("/none/n.mkv", 1, 9),
				{Path: "/in/o.mkv", Status: report.Skipped, Reason: library.SkipIrregular},
				{Path: "/in/p.mkv", Status: report.Skipped, Reason: library.SkipBrokenLink},
				tv("/in/q.mkv", -1, 1), tv("/in/r.mkv", 1, -1),
			},
			[]string{
				"low_confidence /in/a.mkv (89 % tv/1)", "low_confidence /in/b.mkv (85 % tv/1)",
				"ambiguous /in/c.mkv (could be tv/1 41 %, movie/2 40 %)", "unmatched /in/d.mkv",
				"pending /in/e.mkv (offline)", "no_episode /in/f.mkv", "not_regular /in/g.mkv", "extra /in/h.mkv (sample)",
				"io /in/i.mkv (it no longer exists)",
				"not_contiguous /in/k.mkv (6, 8)", "outside_path /else/m.mkv (/else)",
				"io /none/n.mkv (open /none/: file does not exist)",
				"not_regular /in/o.mkv", "not_regular /in/p.mkv (link to nothing)",
				"no_episode /in/q.mkv", "no_episode /in/r.mkv",
			},
		},
		{
			"a pin is planned whatever the estimate says", nil, tree("/in/a.mkv", "/out/"),
			[]report.Record{with(tv("/in/a.mkv", 1, 1), func(r *report.Record) { r.Confidence, r.Source = share(0.5), "pin" })},
			[]string{"link a.mkv > " + show + "S01E01 - Title 1.mkv"},
		},
		{
			"several episodes", nil, tree("/in/a.mkv", "/in/b.mkv", "/in/c.mkv", "/out/"),
			[]report.Record{
				tv("/in/a.mkv", 1, 1, 2), tv("/in/b.mkv", 1, 3, 4, 5, 6),
				with(tv("/in/c.mkv", 0, 1, 2), func(r *report.Record) { r.EpisodeTitles = []string{"One", ""} }),
			},
			[]string{
				"link a.mkv > " + show + "S01E01-E02 - Title 1 + Title 2.mkv", "link b.mkv > " + show + "S01E03-E06.mkv",
				"link c.mkv > Show (2020) [tmdbid-1]/Season 00/Show (2020) S00E01-E02.mkv",
			},
		},
		{
			"in place: other names of the same files", nil,
			tree("/in/Show - 01.mkv", "/in/Show - 01.srt", "/in/Film.mp4",
				"/out/"+show+"S01E01 - Title 1.mkv = /in/Show - 01.mkv", "/out/"+mine+".mp4 = /in/Film.mp4"),
			[]report.Record{tv("/in/Show - 01.mkv", 1, 1), film("/in/Film.mp4", 7)},
			[]string{"link Show - 01.srt > " + show + "S01E01 - Title 1.srt", "in place: 2"},
		},
		{
			"in place: a copy", func(o *Options) { o.Mode = ModeCopy },
			tree("/in/a.mkv: x", "/in/b.mkv: z", "/out/"+show+"S01E01 - Title 1.mkv: x", "/out/"+show+"S01E02 - Title 2.mkv: y"),
			[]report.Record{tv("/in/a.mkv", 1, 1), tv("/in/b.mkv", 1, 2)},
			[]string{"in place: 1", "exists /in/b.mkv (/out/" + show + "S01E02 - Title 2.mkv)"},
		},
		{
			"in place: a symbolic link", func(o *Options) { o.Mode = ModeSymlink },
			tree("/in/a.mkv", "/in/b.mkv", "/out/"+show+"S01E01 - Title 1.mkv -> ../../../in/a.mkv",
				"/out/"+show+"S01E02 - Title 2.mkv -> /in/b.mkv"),
			[]report.Record{tv("/in/a.mkv", 1, 1), tv("/in/b.mkv", 1, 2)},
			[]string{"in place: 2"},
		},
		{
			"something else is there", nil, tree("/in/a.mkv", "/in/a.srt", "/in/b.mkv", "/out/"+show+"s01e01 - title 1.MKV",
				"/out/"+show+"S01E02 - Title 2.mkv/"),
			[]report.Record{tv("/in/a.mkv", 1, 1), tv("/in/b.mkv", 1, 2)},
			[]string{
				"exists /in/a.mkv (/out/" + show + "s01e01 - title 1.MKV)",
				"exists /in/b.mkv (/out/" + show + "S01E02 - Title 2.mkv)",
			},
		},
		{
			"two names of one file", nil, tree("/in/b.mkv", "/in/a.mkv = /in/b.mkv", "/out/"),
			[]report.Record{tv("/in/b.mkv", 1, 1), tv("/in/a.mkv", 1, 1)},
			[]string{"link a.mkv > " + show + "S01E01 - Title 1.mkv", "same_file /in/b.mkv (the same file as /in/a.mkv)"},
		},
		{
			"a file of two episodes, and one of the second", nil,
			tree("/in/a.mkv", "/in/b.mkv", "/in/c.mkv", "/in/d.mkv", "/out/"),
			[]report.Record{tv("/in/a.mkv", 1, 1, 2), tv("/in/b.mkv", 1, 2), tv("/in/c.mkv", 1, 3), tv("/in/d.mkv", 2, 1)},
			[]string{
				"link c.mkv > " + show + "S01E03 - Title 3.mkv",
				"link d.mkv > Show (2020) [tmdbid-1]/Season 02/Show (2020) S02E01 - Title 1.mkv",
				"same_target /in/a.mkv (/in/b.mkv has the same episode)", "same_target /in/b.mkv (/in/a.mkv has the same episode)",
			},
		},
		{
			"two files of one episode", nil, tree("/in/a.mkv", "/in/b.mp4", "/out/"),
			[]report.Record{tv("/in/a.mkv", 1, 1), tv("/in/b.mp4", 1, 1)},
			[]string{
				"same_target /in/a.mkv (/in/b.mp4 would get the same name: Show (2020) S01E01 - Title 1)",
				"same_target /in/b.mp4 (/in/a.mkv would get the same name: Show (2020) S01E01 - Title 1)",
			},
		},
		{
			"two files of one episode as versions: Jellyfin would show both as episodes",
			func(o *Options) { o.LabelVersions = true },
			tree("/in/[A] Show - 01 [1080p].mkv", "/in/[A] Show - 01 [720p].mkv", "/out/"),
			[]report.Record{tv("/in/[A] Show - 01 [1080p].mkv", 1, 1), tv("/in/[A] Show - 01 [720p].mkv", 1, 1)},
			[]string{
				"same_target /in/[A] Show - 01 [1080p].mkv (/in/[A] Show - 01 [720p].mkv " +
					"would get the same name: Show (2020) S01E01 - Title 1)",
				"same_target /in/[A] Show - 01 [720p].mkv (/in/[A] Show - 01 [1080p].mkv " +
					"would get the same name: Show (2020) S01E01 - Title 1)",
			},
		},
		{
			"versions that only two fields tell apart", func(o *Options) { o.LabelVersions = true },
			tree("/in/a.1080p.mkv", "/in/b.720p.mkv", "/in/c.Director's.Cut.1080p.mkv", "/out/"),
			[]report.Record{film("/in/a.1080p.mkv", 7), film("/in/b.720p.mkv", 7), film("/in/c.Director's.Cut.1080p.mkv", 7)},
			[]string{
				"link a.1080p.mkv > " + mine + " - [1080p].mkv",
				"link b.720p.mkv > " + mine + " - [720p].mkv",
				"link c.Director's.Cut.1080p.mkv > " + mine + " - [Director's Cut 1080p].mkv",
			},
		},
		{
			"versions that differ in their group alone", func(o *Options) { o.LabelVersions = true },
			tree("/in/[A] Film [1080p].mkv", "/in/[B] Film [1080p].mkv", "/out/"),
			[]report.Record{film("/in/[A] Film [1080p].mkv", 7), film("/in/[B] Film [1080p].mkv", 7)},
			[]string{"link [A] Film [1080p].mkv > " + mine + " - [A].mkv", "link [B] Film [1080p].mkv > " + mine + " - [B].mkv"},
		},
		{
			"parts of a film", nil, tree("/in/Film cd1.mkv", "/in/Film cd2.mkv", "/out/"),
			[]report.Record{film("/in/Film cd1.mkv", 7), film("/in/Film cd2.mkv", 7)},
			[]string{"link Film cd1.mkv > " + mine + " - part1.mkv", "link Film cd2.mkv > " + mine + " - part2.mkv"},
		},
		{
			"a known folder wins, and a film's file has its name", nil,
			tree("/in/a.mkv", "/in/b.mkv", "/out/Serie {tmdb-1}/Season 01/x.mkv", "/out/Mein Film [tmdbid=7]/"),
			[]report.Record{tv("/in/a.mkv", 1, 1), film("/in/b.mkv", 7)},
			[]string{
				"link a.mkv > Serie {tmdb-1}/Season 01/Show (2020) S01E01 - Title 1.mkv",
				"link b.mkv > Mein Film [tmdbid=7]/Mein Film [tmdbid=7].mkv",
			},
		},
		{
			"a film of the same number is another work", nil,
			tree("/in/a.mkv", "/out/Other [tmdbid-1]/Other [tmdbid-1].mkv", "/in/b.mkv",
				"/out/Series [tmdbid-7]/Season 1/x.mkv"),
			[]report.Record{tv("/in/a.mkv", 1, 1), film("/in/b.mkv", 7)},
			[]string{"link a.mkv > " + show + "S01E01 - Title 1.mkv", "link b.mkv > " + mine + ".mkv"},
		},
		{
			"two known folders", nil, tree("/in/a.mkv", "/out/A [tmdbid-1]/", "/out/B [tmdbid-1]/"),
			[]report.Record{tv("/in/a.mkv", 1, 1)},
			[]string{"two_folders /in/a.mkv (A [tmdbid-1] and B [tmdbid-1])"},
		},
		{
			"a folder in another case is used under its name", nil, tree("/in/a.mkv", "/out/Show (2020) [tmdbid-1]/SEASON 01/"),
			[]report.Record{tv("/in/a.mkv", 1, 1)},
			[]string{"link a.mkv > Show (2020) [tmdbid-1]/SEASON 01/Show (2020) S01E01 - Title 1.mkv"},
		},
		{
			"of two the equal one", nil, tree("/in/a.mkv", "/out/Show (2020) [tmdbid-1]/SEASON 01/",
				"/out/Show (2020) [tmdbid-1]/Season 01/"),
			[]report.Record{tv("/in/a.mkv", 1, 1)},
			[]string{"link a.mkv > " + show + "S01E01 - Title 1.mkv"},
		},
		{
			"a file where a folder should be", nil, tree("/in/a.mkv", "/out/Show (2020) [tmdbid-1]: x"),
			[]report.Record{tv("/in/a.mkv", 1, 1)},
			[]string{"exists /in/a.mkv (/out/Show (2020) [tmdbid-1] is not a folder)"},
		},
		{
			"a link where a folder should be", nil,
			tree("/in/a.mkv", "/in/b.mkv", "/in/Film.mkv", "/in/c.mkv", "/out/Show (2020) [tmdbid-1] -> /x",
				"/out/A [tmdbid=7] -> /y", "/out/Show (2020) [tmdbid-2]/Season 01 -> ../z"),
			[]report.Record{
				tv("/in/a.mkv", 1, 1), film("/in/Film.mkv", 7),
				with(tv("/in/b.mkv", 1, 1), func(r *report.Record) { r.TMDBID = 2 }),
			},
			[]string{
				"outside_root /in/a.mkv (/out/Show (2020) [tmdbid-1] is a link to /x)",
				"outside_root /in/Film.mkv (/out/A [tmdbid=7] is a link to /y)",
				"outside_root /in/b.mkv (/out/Show (2020) [tmdbid-2]/Season 01 is a link to ../z)",
			},
		},
		{
			"two folders that differ in case, and none is equal", nil,
			tree("/in/a.mkv", "/out/Show (2020) [tmdbid-1]/SEASON 01/", "/out/Show (2020) [tmdbid-1]/season 01/"),
			[]report.Record{tv("/in/a.mkv", 1, 1)},
			[]string{"two_folders /in/a.mkv (SEASON 01 and season 01)"},
		},
		{
			"two works of one name in kodi", func(o *Options) { o.Layout, _ = NewLayout("kodi", Templates{}) },
			tree("/in/a.mkv", "/in/b.mkv", "/in/c.mkv", "/out/"),
			[]report.Record{film("/in/a.mkv", 7), film("/in/b.mkv", 8), tv("/in/c.mkv", 1, 1, 3)},
			[]string{
				"link c.mkv > Show (2020)/Season 01/Show S01E01E03 - Title 1 + Title 3.mkv",
				"same_folder /in/a.mkv (movie/7 and movie/8 would both be Film (2001))",
				"same_folder /in/b.mkv (movie/7 and movie/8 would both be Film (2001))",
			},
		},
		{
			"another file system", nil, tree("2|/in/a.mkv", "/out/"),
			[]report.Record{tv("/in/a.mkv", 1, 1)},
			[]string{"cross_device /in/a.mkv (--or copy copies it)"},
		},
		{
			"another file system, and files about the folder", nil,
			tree("2|/in/a/a.mkv", "2|/in/a/a-thumb.jpg", "2|/in/a/poster.jpg", "2|/in/a/tvshow.nfo", "/out/"),
			[]report.Record{tv("/in/a/a.mkv", 1, 1)},
			[]string{
				"cross_device /in/a/a.mkv (--or copy copies it)",
			},
		},
		{
			"another file system, and copying is wanted", func(o *Options) { o.FallBackToCopy = true },
			tree("2|/in/a.mkv", "/out/"),
			[]report.Record{tv("/in/a.mkv", 1, 1)},
			[]string{"copy a.mkv > " + show + "S01E01 - Title 1.mkv"},
		},
		{
			"another mount of the same file system", func(o *Options) { o.Targets[0].Mount = 8 },
			tree("1.7|/in/a.mkv", "1.8|/out/"),
			[]report.Record{tv("/in/a.mkv", 1, 1)},
			[]string{"cross_device /in/a.mkv (--or copy copies it)"},
		},
		{
			"a file system without reflinks", func(o *Options) { o.Mode, o.Targets[0].NoReflink = ModeReflink, true },
			tree("/in/a.mkv", "/out/"),
			[]report.Record{tv("/in/a.mkv", 1, 1)},
			[]string{"no_reflink /in/a.mkv"},
		},
		{
			"a file system without symbolic links", func(o *Options) { o.Mode, o.Targets[0].Type = ModeSymlink, "exfat" },
			tree("/in/a.mkv", "/out/"),
			[]report.Record{tv("/in/a.mkv", 1, 1)},
			[]string{"no_symlink /in/a.mkv"},
		},
		{
			"a disc is not taken apart by a move", func(o *Options) { o.Mode = ModeMove },
			tree(
				"/in/BDMV/STREAM/0.m2ts", "/in/BDMV/index.bdmv", "/in/f/video_ts/VTS_01_1.VOB", "/in/stream/0.m2ts",
				"/in/my video_ts/a.mkv", "/out/",
			),
			[]report.Record{
				film("/in/BDMV/STREAM/0.m2ts", 7), film("/in/f/video_ts/VTS_01_1.VOB", 8), film("/in/stream/0.m2ts", 9),
				film("/in/my video_ts/a.mkv", 10),
			},
			[]string{
				"move stream/0.m2ts > Film (2001) [tmdbid-9]/Film (2001) [tmdbid-9].m2ts",
				"move my video_ts/a.mkv > Film (2001) [tmdbid-10]/Film (2001) [tmdbid-10].mkv",
				"part_of_disc /in/BDMV/STREAM/0.m2ts",
				"part_of_disc /in/f/video_ts/VTS_01_1.VOB",
			},
		},
		{
			"a link to a disc's stream", nil, tree("/in/BDMV/STREAM/0.m2ts", "/out/"),
			[]report.Record{film("/in/BDMV/STREAM/0.m2ts", 7)},
			[]string{"link BDMV/STREAM/0.m2ts > Film (2001) [tmdbid-7]/Film (2001) [tmdbid-7].m2ts"},
		},
		{
			"one file in two records", nil, tree("/in/a.mkv", "/out/"),
			[]report.Record{tv("/in/a.mkv", 1, 1), tv("/in/a.mkv", 1, 2)},
			[]string{
				"link a.mkv > " + show + "S01E01 - Title 1.mkv",
				"same_file /in/a.mkv (it was named before)",
			},
		},
		{
			"another file system is none to a move", func(o *Options) { o.Mode = ModeMove }, tree("2|/in/a.mkv", "/out/"),
			[]report.Record{tv("/in/a.mkv", 1, 1)},
			[]string{"move a.mkv > " + show + "S01E01 - Title 1.mkv"},
		},
		{
			"roots of their own", func(o *Options) {
				o.Targets = append(o.Targets, RootInfo{Root: Root{Path: "/films"}, Device: 1, NameMax: 255})
				o.MovieTarget = 1
			},
			tree("/in/a.mkv", "/in/b.mkv", "/out/", "/films/Old [tmdbid-7]/"),
			[]report.Record{tv("/in/a.mkv", 1, 1), film("/in/b.mkv", 7)},
			[]string{"link a.mkv > " + show + "S01E01 - Title 1.mkv", "link b.mkv > Old [tmdbid-7]/Old [tmdbid-7].mkv"},
		},
		{
			"names too long for an encrypted share", func(o *Options) { o.Targets[0].NameMax = 48 },
			tree("/in/a.mkv", "/in/a.ko.forced.srt", "/out/"),
			[]report.Record{tv("/in/a.mkv", 1, 1)},
			[]string{"link a.mkv > " + show + "S01E01.mkv", "link a.ko.forced.srt > " + show + "S01E01.ko.forced.srt"},
		},
		{
			"a title that cleaning empties, after a planned video", nil,
			tree("/in/a.mkv", "/in/b.mkv", "/in/c.mkv", "/out/"),
			[]report.Record{
				tv("/in/a.mkv", 1, 1), with(tv("/in/b.mkv", 1, 1), func(r *report.Record) { r.TMDBID, r.Title = 2, "???" }),
				tv("/in/c.mkv", 1, 3),
			},
			[]string{
				"link a.mkv > " + show + "S01E01 - Title 1.mkv", "link c.mkv > " + show + "S01E03 - Title 3.mkv",
				"bad_name /in/b.mkv",
			},
		},
		{
			"a show's folder that is a link to another disk, behind a planned video", nil,
			tree("/in/a.mkv", "/in/b.mkv", "/out/Show (2020) [tmdbid-2] -> /x"),
			[]report.Record{tv("/in/a.mkv", 1, 1), with(tv("/in/b.mkv", 1, 1), func(r *report.Record) { r.TMDBID = 2 })},
			[]string{
				"link a.mkv > " + show + "S01E01 - Title 1.mkv",
				"outside_root /in/b.mkv (/out/Show (2020) [tmdbid-2] is a link to /x)",
			},
		},
		{
			"two known folders, behind a planned video", nil,
			tree("/in/a.mkv", "/in/b.mkv", "/out/A [tmdbid-2]/", "/out/B [tmdbid-2]/"),
			[]report.Record{tv("/in/a.mkv", 1, 1), with(tv("/in/b.mkv", 1, 1), func(r *report.Record) { r.TMDBID = 2 })},
			[]string{
				"link a.mkv > " + show + "S01E01 - Title 1.mkv",
				"two_folders /in/b.mkv (A [tmdbid-2] and B [tmdbid-2])",
			},
		},
		{
			"a file where a folder should be, behind a planned video", nil,
			tree("/in/a.mkv", "/in/b.mkv", "/out/Show (2020) [tmdbid-2]: x"),
			[]report.Record{tv("/in/a.mkv", 1, 1), with(tv("/in/b.mkv", 1, 1), func(r *report.Record) { r.TMDBID = 2 })},
			[]string{
				"link a.mkv > " + show + "S01E01 - Title 1.mkv",
				"exists /in/b.mkv (/out/Show (2020) [tmdbid-2] is not a folder)",
			},
		},
		{
			"a title that cleaning empties", nil, tree("/in/a.mkv", "/out/"),
			[]report.Record{with(tv("/in/a.mkv", 1, 1), func(r *report.Record) { r.Title = "???" })},
			[]string{"bad_name /in/a.mkv"},
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			o := options(t, "jellyfin")
			if row.change != nil {
				row.change(&o)
			}
			if diff := cmp.Diff(row.want, planned(t, o, row.disk, row.records...)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestPlansInPlace(t *testing.T) {
	dir := "/out/Show (2020) [tmdbid-1]/Season 01"
	name := func(n int) string { return fmt.Sprintf("%s/Show (2020) S01E%02d - Title %d.mkv", dir, n, n) }
	const nfo = ".nfo: <episodedetails>"
	of := func(n int, rest string) string { return strings.TrimSuffix(name(n), ".mkv") + rest }
	for _, row := range []struct {
		name    string
		disk    disk
		records []report.Record
		want    []string
	}{
		{
			"a finished tree", tree(name(1), name(2)),
			[]report.Record{tv(name(1), 1, 1), tv(name(2), 1, 2)},
			[]string{"in place: 2"},
		},
		{
			"a finished tree with what follows", tree(name(1), "/out/Show (2020) [tmdbid-1]/tvshow.nfo", dir+"/folder.jpg",
				"/out/Show (2020) [tmdbid-1]/extras/NCOP.mkv", "/out/Show (2020) [tmdbid-1]/Fonts/A.ttf"),
			[]report.Record{tv(name(1), 1, 1), skipped("/out/Show (2020) [tmdbid-1]/extras/NCOP.mkv", library.SkipExtras)},
			[]string{"in place: 5"},
		},
		{
			"a part whose others are elsewhere", tree(dir + "/Show (2020) S01E01 - Title 1 - part2.mkv"),
			[]report.Record{tv(dir+"/Show (2020) S01E01 - Title 1 - part2.mkv", 1, 1)},
			[]string{"in place: 1"},
		},
		{
			"a swap", tree(name(1), name(2)),
			[]report.Record{tv(name(1), 1, 2), tv(name(2), 1, 1)},
			[]string{"move " + name(1)[5:] + " > " + name(2)[5:], "move " + name(2)[5:] + " > " + name(1)[5:]},
		},
		{
			"NFO files and images move with their videos", tree(name(1), of(1, nfo), of(1, "-thumb.jpg"), name(2), of(2, nfo),
				of(2, "-thumb.jpg")),
			[]report.Record{tv(name(1), 1, 2), tv(name(2), 1, 3)},
			[]string{
				"move " + name(1)[5:] + " > " + name(2)[5:], "move " + of(1, "-thumb.jpg")[5:] + " > " + of(2, "-thumb.jpg")[5:],
				"move " + of(1, ".nfo")[5:] + " > " + of(2, ".nfo")[5:],
				"move " + name(2)[5:] + " > " + name(3)[5:], "move " + of(2, "-thumb.jpg")[5:] + " > " + of(3, "-thumb.jpg")[5:],
				"move " + of(2, ".nfo")[5:] + " > " + of(3, ".nfo")[5:],
			},
		},
		{
			"an NFO file whose new name is not freed", tree(name(1), of(1, nfo), of(2, nfo), name(3), of(3, nfo)),
			[]report.Record{tv(name(3), 1, 1), tv(name(1), 1, 2)},
			[]string{
				"move " + name(3)[5:] + " > " + name(1)[5:], "move " + name(1)[5:] + " > " + name(2)[5:], "in place: 2",
			},
		},
		{
			"a chain whose last name is taken", tree(name(1), name(2), name(3)),
			[]report.Record{tv(name(1), 1, 2), tv(name(2), 1, 3)},
			[]string{"exists " + name(1) + " (" + name(2) + ")", "exists " + name(2) + " (" + name(3) + ")"},
		},
		{
			"another case", tree(dir + "/show (2020) s01e01 - title 1.mkv"),
			[]report.Record{tv(dir+"/show (2020) s01e01 - title 1.mkv", 1, 1)},
			[]string{"move " + dir[5:] + "/show (2020) s01e01 - title 1.mkv > " + name(1)[5:]},
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			o := options(t, "jellyfin")
			o.Mode, o.Sources, o.PlaceExtras = ModeMove, o.Targets, true
			if diff := cmp.Diff(row.want, planned(t, o, row.disk, row.records...)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestSidecarsFollowTheirVideo(t *testing.T) {
	const video = "/in/[G] Show - 01 [1080p]"
	for _, row := range []struct {
		name  string
		files []string
		want  []string // source > what stands behind the stem
		left  []string
	}{
		{
			"by stem, byte for byte",
			[]string{
				video + ".ko.forced.ass", video + ".zh-Hans.default.srt", video + ".commentary.ja.aac",
				video + "-thumb.jpg", video + ".chapters.xml",
			},
			[]string{
				"copy [G] Show - 01 [1080p]-thumb.jpg > -thumb.jpg", "link [G] Show - 01 [1080p].chapters.xml > .chapters.xml",
				"link [G] Show - 01 [1080p].commentary.ja.aac > .commentary.ja.aac",
				"link [G] Show - 01 [1080p].ko.forced.ass > .ko.forced.ass",
				"link [G] Show - 01 [1080p].zh-Hans.default.srt > .zh-Hans.default.srt",
			},
			nil,
		},
		{
			"only .en and .en.forced",
			[]string{video + ".en.srt", video + ".en.forced.srt"},
			[]string{"link [G] Show - 01 [1080p].en.forced.srt > .en.forced.srt", "link [G] Show - 01 [1080p].en.srt > .en.srt"},
			nil,
		},
		{
			"idx and sub",
			[]string{video + ".idx", video + ".sub"},
			[]string{"link [G] Show - 01 [1080p].idx > .idx", "link [G] Show - 01 [1080p].sub > .sub"},
			nil,
		},
		{"not torrents and unfinished downloads", []string{video + ".torrent", video + ".srt.part"}, nil, nil},
		{
			"NFOs of a media server and of a release",
			[]string{video + ".nfo: <?xml version=\"1.0\"?>\n<!-- x -->\n<episodedetails><title>", "/in/Subs/"},
			[]string{"copy [G] Show - 01 [1080p].nfo > .nfo"},
			nil,
		},
		{
			"an NFO of release notes",
			[]string{video + ".nfo: +-- greets --+ <movie>"},
			[]string{"copy [G] Show - 01 [1080p].nfo > .release.nfo"},
			nil,
		},
		{
			"a folder of subtitles, by stem and by number",
			[]string{
				"/in/Subs/[G] Show - 01 [1080p].ko.srt", "/in/Subs/Show S01E01 English.srt",
				"/in/Subs/Show S01E02 English.srt",
			},
			[]string{"link Subs/Show S01E01 English.srt > .en.srt", "link Subs/[G] Show - 01 [1080p].ko.srt > .ko.srt"},
			[]string{"no_owner /in/Subs/Show S01E02 English.srt (no video, or more than one, fits it)"},
		},
		{
			"a folder of subtitles with the video's stem",
			[]string{
				"/in/Subs/[G] Show - 01 [1080p]/2_English.srt", "/in/Subs/[G] Show - 01 [1080p]/3_English (SDH).srt",
				"/in/Subs/[G] Show - 01 [1080p]/x.srt",
			},
			[]string{
				"link Subs/[G] Show - 01 [1080p]/2_English.srt > .en.srt",
				"link Subs/[G] Show - 01 [1080p]/3_English (SDH).srt > .en.sdh.srt",
				"link Subs/[G] Show - 01 [1080p]/x.srt > .x.srt",
			},
			nil,
		},
		{
			"folders of languages",
			[]string{
				"/in/Subs/English/[G] Show - 01 [1080p].srt", "/in/Subs/kor/Show 01.ass", "/in/Subs/kor/Show 01.ja.ass",
				"/in/Subs/Signs/01.srt", "/in/Subs/English/more/[G] Show - 01 [1080p].srt",
				"/in/Subs/Other/[G] Show - 01 [1080p].srt",
			},
			[]string{
				"link Subs/English/[G] Show - 01 [1080p].srt > .en.srt", "link Subs/Signs/01.srt > .signs.srt",
				"link Subs/kor/Show 01.ass > .ko.ass", "link Subs/kor/Show 01.ja.ass > .ja.ass",
			},
			nil,
		},
		{
			"two of one name keep what tells them apart",
			[]string{
				"/in/Subs/[G] Show - 01 [1080p]/2_English.srt", "/in/Subs/[G] Show - 01 [1080p]/3_English.srt",
				video + ".ko.ass", "/in/Subs/[G] Show - 01 [1080p].ko.ass",
			},
			[]string{
				"link Subs/[G] Show - 01 [1080p]/2_English.srt > .2.en.srt",
				"link Subs/[G] Show - 01 [1080p]/3_English.srt > .3.en.srt",
				"link Subs/[G] Show - 01 [1080p].ko.ass > .Subs.ko.ass", "link [G] Show - 01 [1080p].ko.ass > .ko.ass",
			},
			nil,
		},
		{
			"nothing tells them apart but a number",
			[]string{"/in/Subs/[G] Show - 01 [1080p]/English.srt", "/in/Subs/[G] Show - 01 [1080p]/eng.srt"},
			[]string{
				"link Subs/[G] Show - 01 [1080p]/English.srt > .en.srt",
				"link Subs/[G] Show - 01 [1080p]/eng.srt > .2.en.srt",
			},
			nil,
		},
		{
			"what tells them apart is not what all of them say",
			[]string{
				"/in/Subs/Show S01E01 [Full Subs] Korean.ass", "/in/Subs/Show S01E01 [Retimed] Korean.ass",
				"/in/Subs/Show S01E01 Korean.ass",
			},
			[]string{
				"link Subs/Show S01E01 Korean.ass > .ko.ass", "link Subs/Show S01E01 [Full Subs] Korean.ass > .Full Subs.ko.ass",
				"link Subs/Show S01E01 [Retimed] Korean.ass > .Retimed.ko.ass",
			},
			nil,
		},
		{
			"a number that another has by its name is passed over",
			[]string{
				"/in/Subs/[G] Show - 01 [1080p]/2_English.srt", "/in/Subs/[G] Show - 01 [1080p]/English.srt",
				"/in/Subs/[G] Show - 01 [1080p]/eng.srt",
			},
			[]string{
				"link Subs/[G] Show - 01 [1080p]/2_English.srt > .2.en.srt",
				"link Subs/[G] Show - 01 [1080p]/English.srt > .en.srt",
				"link Subs/[G] Show - 01 [1080p]/eng.srt > .3.en.srt",
			},
			nil,
		},
		{
			"no flag is dropped or numbered away",
			[]string{
				"/in/Subs/[G] Show - 01 [1080p]/English forced.srt", "/in/Subs/[G] Show - 01 [1080p]/eng.forced.srt",
				"/in/Subs/[G] Show - 01 [1080p]/English.srt",
			},
			[]string{
				"link Subs/[G] Show - 01 [1080p]/English forced.srt > .en.forced.srt",
				"link Subs/[G] Show - 01 [1080p]/English.srt > .en.srt",
				"link Subs/[G] Show - 01 [1080p]/eng.forced.srt > .2.en.forced.srt",
			},
			nil,
		},
		{
			"the longest stem, ending at a separator",
			[]string{
				video + "_en.srt", video + "(ko).ass", video + "[ja].ass", video + " fr.srt", video + "x.srt",
				"/in/[G] Show - 01.srt", "/in/[G] Show - 01 [1080p] 2.srt",
			},
			[]string{
				"link [G] Show - 01 [1080p] 2.srt >  2.srt", "link [G] Show - 01 [1080p] fr.srt >  fr.srt",
				"link [G] Show - 01 [1080p](ko).ass > (ko).ass",
				"link [G] Show - 01 [1080p][ja].ass > [ja].ass", "link [G] Show - 01 [1080p]_en.srt > _en.srt",
			},
			nil,
		},
		{
			"a folder of subtitles that holds videos of its own",
			[]string{
				"/in/Sub/Film.mkv", "/in/Sub/Film.en.srt", "/in/Sub/Show S01E01 Korean.srt", "/in/자막/S01E01.srt",
				"/in/자막/S01E01.mkv",
			},
			[]string{"link Sub/Show S01E01 Korean.srt > .ko.srt"},
			nil,
		},
		{
			"by number, with neither language nor flag",
			[]string{"/in/자막/1화.smi", "/in/字幕/S01E01 director.ass"},
			[]string{"link 字幕/S01E01 director.ass > .S01E01 director.ass", "link 자막/1화.smi > .1화.smi"},
			nil,
		},
		{
			"two videos of one stem",
			[]string{video + ".mp4", video + ".srt"},
			nil,
			[]string{"no_owner " + video + ".srt (no video, or more than one, fits it)"},
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			o := options(t, "jellyfin")
			var got, left []string
			for _, line := range planned(t, o, tree(append(row.files, video+".mkv", "/out/")...), tv(video+".mkv", 1, 1)) {
				line, isOp := strings.CutPrefix(strings.Replace(line, "> "+show+"S01E01 - Title 1", "> ", 1),
					"link [G] Show - 01 [1080p].mkv > .mkv")
				switch {
				case isOp:
				case strings.Contains(line, " > "):
					got = append(got, line)
				default:
					left = append(left, line)
				}
			}
			slices.SortFunc(got, func(a, b string) int { return strings.Compare(a[5:], b[5:]) })
			want := slices.Clone(row.want)
			slices.SortFunc(want, func(a, b string) int { return strings.Compare(a[5:], b[5:]) })
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(row.left, left); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestLanguagesAreReadFromTheEndOfAName(t *testing.T) {
	for _, row := range []struct{ name, left, rest string }{
		{"2_English", "2", ".en"},
		{"Show - 01.ko", "Show - 01", ".ko"},
		{"Show - 01.eng.forced", "Show - 01", ".en.forced"},
		{"English (SDH)", "", ".en.sdh"},
		{"Show S01E01 zh-Hans", "Show S01E01", ".zh-Hans"},
		{"Show.S01E01.pt-BR", "Show.S01E01", ".pt-BR"},
		{"Show 01 한국어", "Show 01", ".ko"},
		{"[chs]", "", ".zh-Hans"},
		{"No Game No Life - 01", "No Game No Life - 01", ""},
		{"", "", ""},
		{"signs", "", ".signs"},
	} {
		t.Run(row.name, func(t *testing.T) {
			if left, rest := languageSuffix(row.name); left != row.left || rest != row.rest {
				t.Errorf("got %q and %q, want %q and %q", left, rest, row.left, row.rest)
			}
		})
	}
}

// A plan of any records is a text that can be read: no two targets are one, and none leaves the root.
func TestPlansAreTextsThatCanBeRead(t *testing.T) {
	titles := []string{
		"Show", "../../etc", "a:b", "CON", strings.Repeat("漢", 200), "é", "e\u0301", ".", "Show {tmdb-2}",
	}
	for _, layout := range LayoutNames() {
		var records []report.Record
		paths := []string{"/out/", "/out/Known: x [tmdbid-3]/", "/out/" + strings.Repeat("y", 236) + " [tmdbid-2]/"}
		for i, title := range titles {
			name := fmt.Sprintf("/in/%d/v - %02d.mkv", i/3, i)
			paths = append(paths, name, library.Stem(name)+".ko.srt")
			records = append(records, with(tv(name, 1, i+1), func(r *report.Record) { r.Title, r.TMDBID = title, i/2+1 }))
		}
		o := options(t, layout)
		p := NewPlanner(o, tree(paths...))
		for _, r := range records {
			p.Add(&r)
		}
		r := p.Plan(noDetails)
		again, err := Parse(write(t, &r.Plan))
		if err != nil {
			t.Fatalf("%s: %v", layout, err)
		}
		if diff := cmp.Diff(bare(&r.Plan), bare(again)); diff != "" {
			t.Errorf("%s: %s", layout, diff)
		}
		if len(r.Units) < 5 {
			t.Errorf("%s: %d units are planned", layout, len(r.Units))
		}
	}
}

// walked is a disk with some folders that a walk has read.
type walked struct {
	disk
	dirs []string
}

func (w walked) WalkedFolders() []string { return w.dirs }

// What is in no unit and has no reason is counted, by extension: of what a walk has read, or planning where none was
// made.
func TestFilesInNoUnitAreCounted(t *testing.T) {
	o := options(t, "jellyfin")
	o.Sources[0].GivenPath = "in"
	there := tree(
		"/in/S/a.mkv", "/in/S/a.srt", "/in/S/a.torrent", "/in/S/b.mkv.!qB", "/in/S/notes.TXT", "/in/S/Subs/x 07.srt",
		"/in/S/Subs/readme", "/in/S/poster.jpg",
		"/in/f.mkv", "/in/f.ko.srt", "/in/cover.jpg", "/in/Art/1.png", "/in/Art/2.png", "/in/l.txt -> /x", "/else/y.txt",
		"/out/z.txt",
	)
	for name, row := range map[string]struct {
		disk Disk
		want map[string]int
	}{
		"of a walk": {
			walked{there, []string{"/else", "/in", "/in/Art", "/in/S", "/in/S/Subs"}},
			map[string]int{".torrent": 1, ".!qb": 1, ".txt": 1, "": 1, ".png": 2, ".srt": 1},
		},
		"of a batch": {walked{there, []string{"/in/S"}}, map[string]int{".torrent": 1, ".!qb": 1, ".txt": 1}},
		"of records": {there, map[string]int{".torrent": 1, ".!qb": 1, ".txt": 1, "": 1, ".png": 2, ".srt": 1}},
	} {
		t.Run(name, func(t *testing.T) {
			p := NewPlanner(o, row.disk)
			for _, r := range []report.Record{tv("in/S/a.mkv", 1, 1), {Path: "in/f.mkv", Status: report.Unmatched}} {
				r.Path = "/" + r.Path
				p.Add(&r)
			}
			r := p.Plan(noDetails)
			if diff := cmp.Diff(row.want, r.UnownedByExtension); diff != "" {
				t.Error(diff)
			}
			left := []SkippedFile{ // named as PATH was, and with the path that programs want
				{Path: "/in/f.mkv", RealPath: "/in/f.mkv", Code: CodeUnmatched},
				{
					Path: "in/cover.jpg", RealPath: "/in/cover.jpg", Code: CodeNoOwner,
					Why: "the videos beside and below it don't all go to one folder",
				},
				{
					Path: "in/S/Subs/x 07.srt", RealPath: "/in/S/Subs/x 07.srt", Code: CodeNoOwner,
					Why: "no video, or more than one, fits it",
				},
			}
			if diff := cmp.Diff(left, r.Skipped); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A file with other names on its file system loses them when it moves to another one, and the plan warns.
func TestFilesWithOtherNamesThatMoveAwayAreWarnedOf(t *testing.T) {
	for mode, want := range map[Mode]int{ModeMove: 1, ModeCopy: 0} {
		o := options(t, "jellyfin")
		o.Mode = mode
		p := NewPlanner(o, tree("2|/in/a.mkv", "2|/in/a.srt", "2|/seed/a.mkv = /in/a.mkv", "2|/in/b.mkv", "/out/"))
		for i, name := range []string{"/in/a.mkv", "/in/b.mkv"} {
			r := tv(name, 1, i+1)
			p.Add(&r)
		}
		warned := p.Plan(noDetails).Warnings()
		if len(warned) != want || want == 1 && !strings.HasPrefix(warned[0].String(), "hard links: other names of 1 file ") {
			t.Errorf("%s: %q", mode, warned)
		}
	}
}

func TestRecordsMayShareMemory(t *testing.T) {
	p := NewPlanner(options(t, "jellyfin"), tree("/in/a.mkv", "/in/b.mkv", "/out/"))
	r := tv("/in/a.mkv", 1, 1)
	p.Add(&r)
	r.Path, r.Episodes[0], r.EpisodeTitles[0], *r.Season, *r.Confidence, *r.Parsed = "/in/b.mkv", 2, "Title 2", 2, 0.95,
		report.Parsed{}
	p.Add(&r)
	var got []string
	for _, u := range p.Plan(noDetails).Units {
		got = append(got, u.Ops[0].To)
	}
	want := []string{show + "S01E01 - Title 1.mkv", "Show (2020) [tmdbid-1]/Season 02/Show (2020) S02E02 - Title 2.mkv"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func noDetails(Entry) *nfo.Entry { return nil }

// prefetchDisk records the folders that a plan announces.
type prefetchDisk struct {
	disk
	announced []string
}

func (d *prefetchDisk) Prefetch(dirs []string) { d.announced = append(d.announced, dirs...) }

// A season's folder has most of a show's files. Whoever lists it while names are made lists it alone, without the other
// processors.
func TestSeasonFoldersAreListedInParallel(t *testing.T) {
	d := prefetchDisk{disk: tree("/in/Show - 02.mkv", "/out/Show (2020) [tmdbid-1]/Season 01/Show (2020) S01E01.mkv")}
	p := NewPlanner(options(t, "jellyfin"), &d)
	r := tv("/in/Show - 02.mkv", 1, 2)
	p.Add(&r)
	p.Plan(noDetails)
	if want := []string{"/out/Show (2020) [tmdbid-1]/Season 01"}; !slices.Equal(d.announced, want) {
		t.Errorf("announced %q, want %q", d.announced, want)
	}
}
