package cli

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/anivault/anivault/internal/decide"
	"github.com/anivault/anivault/internal/match"
	"github.com/anivault/anivault/internal/tmdbfake"
	"github.com/anivault/anivault/internal/ui"
)

func TestAnswersAreRead(t *testing.T) {
	entry := decide.Question{Candidates: []match.Candidate{{Kind: match.TV, ID: 11}, {Kind: match.Movie, ID: 22}}}
	guessed := decide.Question{
		Entry: &match.Entry{}, Guess: &match.Guess{Season: 2, Episodes: []match.Episode{{Number: 5}, {Number: 6}}},
	}
	unknown := decide.Question{Entry: &match.Entry{}}
	special := unknown
	special.Entry, special.Files = &match.Entry{Seasons: []match.Season{{Number: 0}}}, []string{"Show OVA 2.mkv"}
	choose := func(kind match.Kind, id int) decide.Answer {
		return decide.Answer{Action: decide.Choose, Kind: kind, ID: id}
	}
	search := func(text string) decide.Answer { return decide.Answer{Action: decide.Search, Text: text} }
	at := func(season int, episodes ...int) decide.Answer {
		return decide.Answer{Action: decide.PutAt, Place: decide.Place{Season: season, Episodes: episodes}}
	}
	for _, c := range []struct {
		q    decide.Question
		in   string
		want decide.Answer // the zero Answer skips
	}{
		{entry, "", choose(match.TV, 11)},
		{entry, "2", choose(match.Movie, 22)},
		{entry, "s", decide.Answer{}},
		{entry, "Q", decide.Answer{Action: decide.Quit}},
		{entry, "quit", decide.Answer{Action: decide.Quit}},
		{decide.Question{}, "", decide.Answer{}},
		{decide.Question{Candidates: []match.Candidate{{Kind: match.TV, ID: 11, Confidence: 0.03}}}, "", decide.Answer{}},
		{entry, "t 86", search("86")},
		{entry, "Some Title", search("Some Title")},
		{entry, "S rank", search("S rank")},
		{entry, "I am a hero", search("I am a hero")},
		{entry, "Fate/stay night", search("Fate/stay night")},
		{entry, "강", search("강")},
		{entry, "i tv/123", choose(match.TV, 123)},
		{entry, "movie/9", choose(match.Movie, 9)},
		{entry, "https://www.themoviedb.org/tv/30991-x", choose(match.TV, 30991)},
		{guessed, "", at(2, 5, 6)},
		{guessed, "7", at(2, 7)},
		{guessed, "S01E05", at(1, 5)},
		{guessed, "s0e2-e3", at(0, 2, 3)},
		{guessed, "3x07", at(3, 7)},
		{guessed, "7화", at(2, 7)},
		{guessed, "3기 7~8화", at(3, 7, 8)},
		{unknown, "skip", decide.Answer{}},
		{unknown, "", decide.Answer{}},
		{unknown, "5-6", at(1, 5, 6)},
		{unknown, "t x", search("x")},
		{special, "2", at(0, 2)},
		{special, "S01E02", at(1, 2)},
		{entry, "Skip and Loafer", search("Skip and Loafer")},
		{unknown, "tv/5", choose(match.TV, 5)},
	} {
		got, problem := parseAnswer(c.in, c.q)
		if diff := cmp.Diff(c.want, got); diff != "" || problem != "" {
			t.Errorf("%q: %s\n%s", c.in, problem, diff)
		}
	}
	for _, in := range []string{
		"tv/0", "tv/x", "https://example.org/tv/5", `""`, "0", "3", "86", "y", "H", "i x", "S02E05", "5화",
	} {
		if got, problem := parseAnswer(in, entry); problem == "" {
			t.Errorf("%q was taken as %+v", in, got)
		}
	}
	for _, in := range []string{"y", "some title", "SxE", "-1", "5-4"} {
		if got, problem := parseAnswer(in, unknown); !strings.Contains(problem.String(), "t TITLE searches") {
			t.Errorf("%q was taken as %+v", in, got)
		}
	}
}

// terminal is a person at a terminal: whenever a prompt stands at the end of what was written, the next answer is
// typed.
type terminal struct {
	mu      sync.Mutex
	written bytes.Buffer
	answers []string
	typed   *io.PipeWriter
	in      *io.PipeReader
	prompts []string // what stood before each answer
	last    int
	onEmpty func() // called when a prompt finds no answer left; nil: end of input
}

func newTerminal(answers ...string) *terminal {
	t := &terminal{answers: answers}
	t.in, t.typed = io.Pipe()
	return t
}

func (t *terminal) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.written.Write(p)
	if !bytes.HasSuffix(p, []byte(": ")) {
		return len(p), nil
	}
	text := t.written.String()
	t.prompts = append(t.prompts, text[t.last:])
	t.last = len(text)
	if len(t.answers) == 0 {
		if t.onEmpty != nil {
			t.onEmpty()
			return len(p), nil
		}
		go t.typed.Close()
		return len(p), nil
	}
	next := t.answers[0]
	t.answers = t.answers[1:]
	go func() { _, _ = io.WriteString(t.typed, next+"\n") }()
	return len(p), nil
}

// world is a stand-in, a library and the program on them.
type world struct {
	fake *tmdbfake.Fake
	dir  string
	env  []string
}

func newWorld(t *testing.T, files ...string) *world {
	t.Helper()
	fake, err := tmdbfake.New(tmdbfake.Config{})
	if err != nil {
		t.Fatal(err)
	}
	server, err := fake.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	w := &world{fake: fake, dir: t.TempDir()}
	w.env = []string{
		"HOME=" + w.dir, "ANIVAULT_TMDB_TOKEN=a-token-of-tests", "ANIVAULT_TMDB_BASE_URL=" + server.URL(),
		"ANIVAULT_DATA_DIR=" + filepath.Join(w.dir, "data"),
	}
	for _, dir := range []string{"STATE", "CACHE"} {
		w.env = append(w.env, "ANIVAULT_"+dir+"_DIR="+filepath.Join(w.dir, strings.ToLower(dir)))
	}
	for _, f := range files {
		path := filepath.Join(w.dir, "lib", filepath.FromSlash(f))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

// run runs the program with a person at the terminal and returns stdout and the status.
func (w *world) run(ctx context.Context, prompter *terminal, args ...string) (string, int) {
	var out bytes.Buffer
	f := &factory{
		streams: ui.Streams{In: prompter.in, Out: &out, Err: prompter, InTTY: true, ErrTTY: true, Dumb: true, Width: 100},
		environ: w.env,
	}
	root := newRoot(f)
	root.SetArgs(append(args, filepath.Join(w.dir, "lib")))
	root.SetErr(prompter)
	err := root.ExecuteContext(ctx)
	return out.String(), exitStatusOf(err, f.started)
}

func (w *world) pins(t *testing.T) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(w.dir, "data", "pins.txt"))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	var out []string
	for _, l := range strings.Split(string(raw), "\n") {
		if l != "" && l[0] != '#' {
			out = append(out, strings.ReplaceAll(l, filepath.Join(w.dir, "lib"), "LIB"))
		}
	}
	return strings.Join(out, "\n")
}

func TestAnswersMayBeTypedInTheKoreanModeOfTheKeyboard(t *testing.T) {
	for typed, want := range map[string]string{
		"ㄴ": "s", "ㅛ": "y", "ㅅ 진격의 거인": "t 진격의 거인", "ㅁ": "a", "ㅋ": "z",
		"폴더": "폴더", "가": "가", "5": "5", "": "", "ㅋㅋ": "ㅋㅋ", "q": "q",
	} {
		p := &prompter{out: io.Discard, lines: bufio.NewReader(strings.NewReader(typed + "\n"))}
		if got, err := p.read(t.Context(), ""); got != want || err != nil {
			t.Errorf("%q is read as %q, %v; want %q", typed, got, err, want)
		}
	}
}

func TestAPersonDecidesDoubtfulFiles(t *testing.T) {
	w := newWorld(t,
		"A/[G] Aaa Nothing - 01.mkv", "A/[G] Aaa Nothing - 02.mkv", // searched for by another title
		"B/[G] Bbb Nothing - 01.mkv", "B/[G] Bbb Nothing - 02.mkv", // an id, for these files
		"C/Cowboy Bebop - 03.mkv",     // not asked about
		"D/[G] Aaa Nothing - 07.mkv",  // decided by the first answer
		"E/[G] Ddd Nothing - 01.mkv",  // a wrong id, then a film by its address
		"F/[G] Eee Nothing - 01.mkv",  // q
		"G/[G] Fff Nothing - 01.mkv",  // not asked about any more
		"H/Night Parade Bureau 1.mkv", // the first, because it has candidates
	)
	p := newTerminal("?", "h", "s", "Cowboy Bebop", "1", "", "tv/1429", "file", "t", "nothing of it", "i tv/99999999",
		"https://www.themoviedb.org/movie/129-x", "S02E01", "y", "q")
	out, status := w.run(t.Context(), p, "match", "--interactive", "--format", "csv")
	if status != 0 {
		t.Errorf("status %d; %s", status, p.written.String())
	}
	if len(p.answers) != 0 {
		t.Errorf("not asked for %q", p.answers)
	}
	if diff := cmp.Diff("tv/30991 title Aaa Nothing\ntv/1429 path LIB/B/[G] Bbb Nothing - 01.mkv\n"+
		"tv/1429 path LIB/B/[G] Bbb Nothing - 02.mkv\nmovie/129 title Ddd Nothing", filepath.ToSlash(w.pins(t))); diff != "" {
		t.Error(diff)
	}
	for i, want := range []string{
		"7 in all. Enter takes what is in [brackets]", "the entry in row 2", "h is not an answer",
		"[G] Aaa Nothing - 01.mkv  (", "Cowboy Bebop (1998)  tv/30991",
		"  -> Cowboy Bebop (1998)  tv/30991\n     [G] Aaa Nothing - 01.mkv  ->  S01E01\n" +
			"     [G] Aaa Nothing - 02.mkv  ->  S01E02\n",
		"Bbb Nothing (2 files): ", "Bbb Nothing - 02.mkv  ->  S01E02", "Ddd Nothing: ", "Title: ",
		"nothing found for", "TMDB has no tv/99999999", "Spirited Away (2001)  movie/129", "a film has no episodes",
		"Eee Nothing: ",
	} {
		if i >= len(p.prompts) || !strings.Contains(p.prompts[i], want) {
			t.Errorf("question %d does not say %q: %q", i, want, p.prompts)
			break
		}
	}
	if !strings.Contains(p.written.String(),
		"pinned the title Aaa Nothing: tv/30991 (every file with this title in its name, in any folder)") {
		t.Errorf("how far an answer reaches is not said:\n%s", p.written.String())
	}
	// Another run takes the answers and asks about what is left.
	p = newTerminal("q")
	again, _ := w.run(t.Context(), p, "match", "--interactive", "--format", "csv")
	if len(p.prompts) != 1 || !strings.Contains(p.prompts[0], "Bureau 1.mkv") ||
		!strings.Contains(p.prompts[0], "3 in all") {
		t.Errorf("asked again: %q", p.prompts)
	}
	for _, want := range []string{"30991", "1429", "129"} {
		if !strings.Contains(out, ","+want+",") || !strings.Contains(again, ","+want+",") {
			t.Errorf("%s is not in the results:\n%s\n%s", want, out, again)
		}
	}
}

// What somebody searched for need not be like the names: no percentage that says "surely not" stands beside it.
func TestACandidateThatWasSearchedForHasNoPercentage(t *testing.T) {
	var out bytes.Buffer
	p := &prompter{out: &out, width: 80}
	p.describe(decide.Question{Title: "Zzz", Files: []string{"Zzz - 01.mkv"}, Candidates: []match.Candidate{
		{Kind: match.TV, ID: 1, Title: "Aaa", Confidence: 0.004}, {Kind: match.TV, ID: 2, Title: "Bbb", Confidence: 0.31},
	}})
	if want := "   1  Aaa  tv/1\n   2  Bbb  tv/2  31 %\n"; !strings.HasSuffix(out.String(), want) {
		t.Errorf("%q, want it to end with %q", out.String(), want)
	}
}

// The questions end where the person wants them to, also before a choice is kept.
func TestAPersonMayQuitBeforeAChoiceIsKept(t *testing.T) {
	w := newWorld(t, "A/[G] Aaa Nothing - 01.mkv", "B/[G] Bbb Nothing - 01.mkv")
	p := newTerminal("tv/1429", "q")
	_, status := w.run(t.Context(), p, "match", "--interactive", "--format", "csv")
	if status != 0 || len(p.prompts) != 2 || w.pins(t) != "" {
		t.Errorf("status %d, pins %q, asked %q", status, w.pins(t), p.prompts)
	}
	if !strings.HasSuffix(p.prompts[1], "Save it for [title], folder, file: ") {
		t.Errorf("asked: %q", p.prompts[1])
	}
}

// A name that only a folder has is not pinned as a title, which would apply everywhere, and the output says what was
// pinned.
func TestAFoldersNameIsPinnedAsAPath(t *testing.T) {
	w := newWorld(t,
		"amb zzz/Movie.mkv", "other/amb zzz/03.mkv", // a film in a folder, and another folder of that name
		"qqq www/01.mkv", "qqq www/02.mkv", // a folder of its own
		"rrr vvv/01.mkv", "rrr vvv/02.mkv", "rrr vvv/Cowboy Bebop - 05.mkv", // one that holds something else
	)
	p := newTerminal("7", "zzzz yyyy", "movie/603", "", "s", "tv/30991", "", "tv/1429", "")
	_, status := w.run(t.Context(), p, "match", "--interactive", "--format", "csv")
	if status != 0 || len(p.answers) != 0 {
		t.Errorf("status %d, not asked for %q", status, p.answers)
	}
	if diff := cmp.Diff("movie/603 path LIB/amb zzz/Movie.mkv\ntv/30991 path LIB/qqq www\ntv/1429 path LIB/rrr "+
		"vvv/01.mkv\ntv/1429 path LIB/rrr vvv/02.mkv", filepath.ToSlash(w.pins(t))); diff != "" {
		t.Error(diff)
	}
	shown := filepath.ToSlash(strings.ReplaceAll(p.written.String(), w.dir, ""))
	shown = strings.Join(strings.Fields(shown), " ") // lines are wrapped
	for _, want := range []string{
		"there is no row 7;", `nothing found for "zzzz yyyy"`, "pinned /lib/amb zzz/Movie.mkv: movie/603 (this file " +
			"only)",
		"pinned the folder /lib/qqq www: tv/30991 (every file in it and in its folders)",
		"pinned 2 files: tv/1429 (these files only)",
		"next: anivault match --explain /lib",
	} {
		if !strings.Contains(shown, want) {
			t.Errorf("it does not say %q:\n%s", want, shown)
		}
	}
	const whole = "Save it for title, folder (all 3 files and folders in it), [file]: "
	if last := p.prompts[len(p.prompts)-1]; !strings.Contains(last, whole) ||
		strings.Contains(strings.Join(p.prompts, ""), "all 2 files") {
		t.Errorf("a folder with other files is not told from one without: %q", p.prompts)
	}
	if strings.Contains(shown, "match --interactive") {
		t.Errorf("it recommends what was just done:\n%s", shown)
	}
}

// A folder's pin holds for the files in it that were decided before, in this run as in the next one.
func TestAFoldersPinHoldsForFilesThatWereDecided(t *testing.T) {
	w := newWorld(t, "A/Cowboy Bebop - 03.mkv", "A/[G] Aaa Nothing - 01.mkv", "A/more/Cowboy Bebop - 04.mkv")
	p := newTerminal("tv/1429", "folder")
	out, status := w.run(t.Context(), p, "match", "--interactive", "--format", "ndjson")
	if n := strings.Count(out, `"tmdb_id":1429,`); status != 0 || n != 3 {
		t.Errorf("status %d, %d files have the folder's entry:\n%s", status, n, out)
	}
	if last := p.prompts[len(p.prompts)-1]; !strings.Contains(last, "folder (all 3 files and folders in it)") {
		t.Errorf("it does not say how far the folder's pin reaches: %q", last)
	}
}

func TestTheRunContinuesWithoutAnswers(t *testing.T) {
	files := []string{"A/[G] Aaa Nothing - 01.mkv", "B/[G] Bbb Nothing - 01.mkv", "C/Cowboy Bebop - 03.mkv"}
	t.Run("end of input", func(t *testing.T) {
		w := newWorld(t, files...)
		p := newTerminal()
		out, status := w.run(t.Context(), p, "match", "--interactive", "--format", "ndjson")
		if status != 0 || len(p.prompts) != 1 || strings.Count(out, `"type":"match"`) != 3 {
			t.Errorf("status %d, %d questions:\n%s", status, len(p.prompts), out)
		}
	})
	t.Run("interrupted in a question", func(t *testing.T) {
		w := newWorld(t, files...)
		ctx, cancel := context.WithCancel(t.Context())
		p := newTerminal()
		p.onEmpty = cancel
		out, status := w.run(ctx, p, "match", "--interactive", "--format", "ndjson")
		if status != exitInterrupted || !strings.Contains(out, `"type":"summary"`) {
			t.Errorf("status %d:\n%s", status, out)
		}
		_ = p.typed.Close() // lets the goroutine that still reads the terminal end
	})
}

func TestInteractiveNeedsAPerson(t *testing.T) {
	w := newWorld(t, "x.mkv")
	for name, c := range map[string]struct {
		streams ui.Streams
		args    []string
		want    string
	}{
		"stdin is a pipe":  {ui.Streams{ErrTTY: true}, []string{"match", "--interactive"}, "terminal"},
		"stderr is a pipe": {ui.Streams{InTTY: true}, []string{"match", "--interactive"}, "terminal"},
		"a contradiction": {
			ui.Streams{InTTY: true, ErrTTY: true},
			[]string{"match", "--interactive", "--no-input"},
			"together",
		},
	} {
		c.streams.In, c.streams.Out, c.streams.Err = strings.NewReader(""), io.Discard, io.Discard
		cmd := &factory{streams: c.streams, environ: w.env}
		root := newRoot(cmd)
		root.SetArgs(append(c.args, w.dir))
		err := root.Execute()
		if exitStatusOf(err, cmd.started) != exitUsage || !strings.Contains(err.Error(), c.want) || hintForError(err) == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What a choice leads to is shown before it is kept, with the place and scope that the person gives it; they may take
// it back.
func TestAChoiceIsShownBeforeItIsKept(t *testing.T) {
	w := newWorld(t, "A/[G] Aaa Nothing - 01.mkv", "A/[G] Aaa Nothing - 02.mkv", "A/[G] Aaa Nothing - 03.mkv",
		"A/[G] Aaa Nothing - 04.mkv",
		"A/[G] Aaa Nothing - 05.mkv", "A/[G] Aaa Nothing - 06.mkv", "A/[G] Aaa Nothing - 07.mkv", "A/[G] Aaa Nothing - "+
			"08.mkv")
	p := newTerminal("tv/1429", "n", "tv/67075", "?", "S02E01", "what", "S02E99", "4", "folder")
	_, status := w.run(t.Context(), p, "match", "--interactive", "--format", "csv")
	if status != 0 || len(p.answers) != 0 {
		t.Fatalf("status %d, not asked for %q:\n%s", status, p.answers, p.written.String())
	}
	if diff := cmp.Diff("tv/67075 season=2 offset=3 path LIB/A", filepath.ToSlash(w.pins(t))); diff != "" {
		t.Error(diff)
	}
	for i, want := range []string{
		"Aaa Nothing (8 files): ", "-> Attack on Titan", "Aaa Nothing (8 files): ", "01.mkv  ->  S01E01\n",
		"the others go with it", "01.mkv  ->  S02E01\n", "press Enter to save it", "season 2 has no episode 99",
		"01.mkv  ->  S02E04\n",
	} {
		if i >= len(p.prompts) || !strings.Contains(p.prompts[i], want) {
			t.Errorf("question %d does not say %q: %q", i, want, p.prompts)
			break
		}
	}
	shown := strings.Join(strings.Fields(p.written.String()), " ")
	if !strings.Contains(shown, "and 2 more, the last: S02E11") ||
		!strings.Contains(shown, ": tv/67075 season 2 offset 3 (every file in it and in its folders)") {
		t.Error(p.written.String())
	}
	raw, err := os.ReadFile(filepath.Join(w.dir, "data", "pins.txt"))
	if err != nil || !strings.Contains(string(raw), "\n# tv/67075: Mob Psycho 100 (2016)\ntv/67075 season=2") {
		t.Errorf("%v %s", err, raw)
	}
}

// An episode that says nothing about other files is shown before it is saved, and saved for the file alone.
func TestAnEpisodeOfASingleFileIsShownAndSaved(t *testing.T) {
	w := newWorld(t, "A/[G] Aaa Nothing - 05.mkv", "B/[G] Bbb Nothing Special.mkv")
	p := newTerminal("tv/67075", "S02E03", "", "tv/67075", "S01E02", "")
	_, status := w.run(t.Context(), p, "match", "--interactive", "--format", "csv")
	if status != 0 || len(p.answers) != 0 {
		t.Fatalf("status %d, not asked for %q:\n%s", status, p.answers, p.written.String())
	}
	if diff := cmp.Diff("tv/67075 season=2 episode=3 path LIB/A/[G] Aaa Nothing - 05.mkv\n"+
		"tv/67075 season=1 episode=2 path LIB/B/[G] Bbb Nothing Special.mkv", filepath.ToSlash(w.pins(t))); diff != "" {
		t.Error(diff)
	}
	for i, want := range map[int]string{2: "05.mkv  ->  S02E03", 5: "->  S01E02"} {
		if want += "\nSave it for [file]: "; !strings.HasSuffix(p.prompts[i], want) {
			t.Errorf("question %d does not end with %q: %q", i, want, p.prompts[i])
		}
	}
}

// What has an entry but no episode is asked about too, and nothing is printed before the last answer.
func TestEpisodesAreAskedFor(t *testing.T) {
	w := newWorld(t, "A/Cowboy Bebop - 40.mkv", "B/Cowboy Bebop - 03.mkv", "C/[G] Aaa Nothing - 01.mkv")
	p := newTerminal("5", "movie/129", "")
	out, status := w.run(t.Context(), p, "match", "--interactive", "--format", "ndjson")
	if status != 0 || len(p.answers) != 0 {
		t.Fatalf("status %d, not asked for %q:\n%s", status, p.answers, p.written.String())
	}
	if want := "TMDB has S01 1-26\nEpisode [skip]: "; !strings.HasSuffix(p.prompts[0], want) {
		t.Errorf("asked %q, want it to end with %q", p.prompts[0], want)
	}
	if got := filepath.ToSlash(w.pins(t)); got != "tv/30991 season=1 episode=5 path LIB/A/Cowboy Bebop - 40.mkv\n"+
		"movie/129 title Aaa Nothing" {
		t.Error(got)
	}
	for _, want := range []string{`"season":1,"episodes":[5],"episode_confidence":1`, `"episodes":[3]`, `"tmdb_id":129`} {
		if !strings.Contains(out, want) {
			t.Errorf("no %s in %s", want, out)
		}
	}
}

// In a folder of several series, Enter does not pin the whole folder to the one that has an order.
func TestAnOrderOfOneOfSeveralSeries(t *testing.T) {
	w := newWorld(t, "A/Salt Road Rovers S02E20.mkv", "A/Cowboy Bebop - 01.mkv")
	p := newTerminal("o", "4", "")
	if _, status := w.run(t.Context(), p, "match", "--interactive", "--format", "ndjson"); status != 0 {
		t.Fatalf("status %d:\n%s", status, p.written.String())
	}
	if want := "Save it for folder (all 2 files and folders in it), [file]: "; !strings.HasSuffix(p.prompts[2], want) {
		t.Errorf("it shows\n%s", p.prompts[2])
	}
	want := `tv/9000003 order="group:Seasons" path LIB/A/Salt Road Rovers S02E20.mkv`
	if got := filepath.ToSlash(w.pins(t)); got != want {
		t.Error(got)
	}
}

// Where an episode is asked for, the orders of the series are at hand. The one that is chosen is pinned: names in the
// folder are read in it, and all numbers of the series are written in it.
func TestAnOrderIsChosen(t *testing.T) {
	w := newWorld(t, "A/Salt Road Rovers S02E20.mkv", "B/Salt Road Rovers S02E62.mkv")
	p := newTerminal("o", "", "o", "9", "o", "4", "n", "o", "4", "")
	out, status := w.run(t.Context(), p, "match", "--interactive", "--format", "ndjson")
	if status != 0 || len(p.answers) != 0 {
		t.Fatalf("status %d, not asked for %q:\n%s", status, p.answers, p.written.String())
	}
	want := "                      TYPE        PARTS  EPISODES\n   1  tmdb                        6      195\n" +
		"   2  absolute                    1      195\n   3  group:Absolute  absolute    1      195\n" +
		"   4  group:Seasons   production  2      92\nOrder: "
	if p.prompts[1] != want {
		t.Errorf("it lists\n%s", p.prompts[1])
	}
	want = "     Salt Road Rovers S02E20.mkv  ->  S03E81\n" +
		"  ! these are TMDB's numbers; new names will use the order group:Seasons\nSave it for [folder], file: "
	if !strings.HasSuffix(p.prompts[6], want) {
		t.Errorf("it shows\n%s", p.prompts[6])
	}
	if got := filepath.ToSlash(w.pins(t)); got != `tv/9000003 order="group:Seasons" path LIB/A` {
		t.Error(got)
	}
	for _, want := range []string{
		`"season":2,"episodes":[20],"order":"group:Seasons"`, `"season":2,"episodes":[1],"order":"group:Seasons"`,
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %s in %s", want, out)
		}
	}
}
