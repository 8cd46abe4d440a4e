package lang

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// inKorean speaks Korean until the test ends.
func inKorean(t *testing.T) {
	t.Helper()
	Use(Korean)
	t.Cleanup(func() { Use(English) })
}

func TestTheLanguageOfAnEnvironment(t *testing.T) {
	for _, row := range []struct {
		name string
		env  map[string]string
		want Language
	}{
		{"nothing set", nil, English},
		{"LANG", map[string]string{"LANG": "ko_KR.UTF-8"}, Korean},
		{"LANG alone", map[string]string{"LANG": "ko"}, Korean},
		{"LC_MESSAGES before LANG", map[string]string{"LC_MESSAGES": "ko_KR.UTF-8", "LANG": "en_US.UTF-8"}, Korean},
		{"LC_ALL before all", map[string]string{"LC_ALL": "C", "LC_MESSAGES": "ko_KR.UTF-8", "LANG": "ko_KR.UTF-8"}, English},
		{"an empty one is not set", map[string]string{"LC_ALL": "", "LANG": "ko_KR"}, Korean},
		{"another language that begins so", map[string]string{"LANG": "kok_IN.UTF-8"}, English},
		{"nonsense", map[string]string{"LANG": "..."}, English},
		{"with a modifier", map[string]string{"LANG": "ko_KR@euc"}, Korean},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := FromEnvironment(func(name string) string { return row.env[name] }); got != row.want {
				t.Errorf("%v, want %v", got, row.want)
			}
		})
	}
}

func TestEnglishIsAsItWasWritten(t *testing.T) {
	if got := Sprintf("%d files as %q", 2, "x"); got != `2 files as "x"` {
		t.Error(got)
	}
	if Say("no TMDB key is set") != "no TMDB key is set" || Say("matched") != "matched" {
		t.Error("English was changed")
	}
}

func TestKorean(t *testing.T) {
	inKorean(t)
	for _, row := range []struct{ name, got, want string }{
		{"a text", Say("no TMDB key is set"), "TMDB 키가 설정되지 않았습니다"},
		{"a number is no amount of money", Sprintf("%d is one of its years", 2023), "2023년이 작품의 연도와 일치함"},
		{"words in another order", Sprintf("%d of %d answers from the cache", 3, 10), "답 10건 중 캐시에서 3건"},
		{
			"a title with words of ours stays", Sprintf("%q and %q fit about equally well", "files: all matched", "all"),
			`"files: all matched"와 "all"이 비슷하게 일치합니다`,
		},
		{"a word", Say("matched"), "매칭"},
		{
			"causes", Say(TextOf(Error("read pins: %w", Error("%s: %w", "/x/pins.txt", syscall.EACCES)))),
			"고정 읽기: /x/pins.txt: 권한이 없습니다",
		},
		{"a text among the arguments", Sprintf("%s\n", Text("no series was matched")), "매칭된 시리즈가 없습니다\n"},
		{
			"an error among the arguments", Sprintf("--exclude: %v", Error("is empty")),
			"--exclude: 비어 있습니다",
		},
		{
			"two reasons", Say(Join([]Text{"spelled exactly the same", Textf("%d is one of its years", 1998)}, "; ")),
			"표기가 정확히 같음; 1998년이 작품의 연도와 일치함",
		},
		{
			"several causes of one error", Say(TextOf(fmt.Errorf("%w: %w", Error("is empty"), syscall.EACCES))),
			"비어 있습니다: 권한이 없습니다",
		},
		{"what nobody has translated", Say("some other program said this"), "some other program said this"},
		{"what somebody else made of our words", Say("season 2 has episode 12"), "season 2 has episode 12"},
		{"a quoted word is shown as typed", Sprintf("%q is not a status", "mached"), `"mached"는 상태가 아닙니다`},
	} {
		t.Run(row.name, func(t *testing.T) {
			if diff := cmp.Diff(row.want, row.got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// What "msgfmt --check" asks of a PO file, and Poedit of one that it opens.
func TestTheCatalogueIsAStandardPO(t *testing.T) {
	head, rest, _ := strings.Cut(koreanPO, "\n\n")
	for _, field := range []string{
		"msgid \"\"\nmsgstr \"\"\n", `"Language: ko\n"`, `"Content-Type: text/plain; charset=UTF-8\n"`,
		`"Content-Transfer-Encoding: 8bit\n"`, `"Plural-Forms: nplurals=1; plural=0;\n"`,
	} {
		if !strings.Contains(head+"\n", field) {
			t.Errorf("its header has no %q", field)
		}
	}
	keyword := regexp.MustCompile(`^(msgid|msgstr|) ?"(?:[^"\\]|\\[nt"\\])*"$`)
	for entry := range strings.SplitSeq(strings.TrimSuffix(rest, "\n"), "\n\n") {
		var keywords []string
		formatted := false
		for line := range strings.SplitSeq(entry, "\n") {
			switch m := keyword.FindStringSubmatch(line); {
			case line == "#, go-format":
				formatted = true
			case strings.HasPrefix(line, "# "), strings.HasPrefix(line, "#. "):
			case m == nil:
				t.Errorf("%q is no line of a PO file", line)
			case m[1] != "":
				keywords = append(keywords, m[1])
			}
		}
		if !slices.Equal(keywords, []string{"msgid", "msgstr"}) {
			t.Errorf("not one msgid and its msgstr:\n%s", entry)
		}
		messages, err := readPO(strings.NewReader(entry))
		if err != nil || len(messages) != 1 {
			t.Fatalf("%v in\n%s", err, entry)
		}
		if _, verbs := parse(messages[0].id); formatted != (len(verbs) > 0) {
			t.Errorf("%q has the flag go-format: %v, and %d verbs", messages[0].id, formatted, len(verbs))
		}
	}
}

// Each English message has a Korean one with the same verbs.
func TestTranslationsHaveTheVerbsOfTheirKeys(t *testing.T) {
	seen := map[string]bool{}
	for _, e := range entries(t) {
		if seen[e.id] {
			t.Errorf("%q occurs twice", e.id)
		}
		seen[e.id] = true
		if diff := cmp.Diff(verbsOf(t, e.id), verbsOf(t, e.translation)); diff != "" {
			t.Errorf("%q and %q have different verbs:\n%s", e.id, e.translation, diff)
		}
		if e.translation == "" {
			t.Errorf("%q has no translation", e.id)
		}
		const end = "\n"
		if strings.HasPrefix(e.id, end) != strings.HasPrefix(e.translation, end) ||
			strings.HasSuffix(e.id, end) != strings.HasSuffix(e.translation, end) {
			t.Errorf("one of %q and %q begins or ends with a newline", e.id, e.translation)
		}
	}
}

// verbsOf returns the verb of each argument that a format shows.
func verbsOf(t *testing.T, format string) map[int]string {
	t.Helper()
	verbs := map[int]string{}
	_, list := parse(format)
	for _, v := range list {
		verb := v.withoutIndex()
		if v.letter == 's' { // %v and %w too
			verb = verb[:len(verb)-1] + "s"
		}
		if other, ok := verbs[v.arg]; ok && other != verb {
			t.Errorf("%q shows argument %d as %s and as %s", format, v.arg+1, other, verb)
		}
		verbs[v.arg] = verb
	}
	return verbs
}

// A Text keeps its arguments: it can be shown in either language with unchanged arguments, compared and stored.
func TestATextKeepsItsArguments(t *testing.T) {
	inKorean(t)
	path := "./Downloads: 3 files"
	missing := Error("read pins: %w", &fs.PathError{Op: "open", Path: path, Err: syscall.ENOENT})
	for _, row := range []struct {
		name            string
		text            Text
		english, korean string
	}{
		{"a constant", "no TMDB key is set", "no TMDB key is set", "TMDB 키가 설정되지 않았습니다"},
		{
			"a name that reads like a text", Textf("cannot be read: %s", path),
			"cannot be read: ./Downloads: 3 files",
			"읽을 수 없습니다: ./Downloads: 3 files",
		},
		{
			"a text among the arguments", Textf("cannot be read: %s", Text("is empty")),
			"cannot be read: is empty",
			"읽을 수 없습니다: 비어 있습니다",
		},
		{
			"a text in quotes is shown as it is", Textf("%q is not a status", Text("is empty")),
			`"is empty" is not a status`,
			`"is empty"는 상태가 아닙니다`,
		},
		{
			"words in another order", Textf("%d of %d answers from the cache", 3, 10),
			"3 of 10 answers from the cache",
			"답 10건 중 캐시에서 3건",
		},
		{
			"an error, and what it wraps", TextOf(missing),
			"read pins: open ./Downloads: 3 files: no such file or directory",
			"고정 읽기: open ./Downloads: 3 files: 그런 파일이나 폴더가 없습니다",
		},
		{
			"words in front of an error of ours", TextOf(fmt.Errorf("%s: %w", path, Error("is empty"))),
			"./Downloads: 3 files: is empty",
			"./Downloads: 3 files: 비어 있습니다",
		},
		{
			"several errors", TextOf(errors.Join(Error("is empty"), errors.New("is full"))),
			"is empty\nis full",
			"비어 있습니다\nis full",
		},
		{"an error of nobody's", TextOf(errors.New("\x005:match")), "\x005:match", "\x005:match"},
		{
			"texts in a row", Join([]Text{"is empty", Text(path), Textf("%d files", 2)}, "; "),
			"is empty; ./Downloads: 3 files; 2 files",
			"비어 있습니다; ./Downloads: 3 files; 파일 2개",
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			if diff := cmp.Diff([]string{row.english, row.korean}, []string{row.text.String(), Say(row.text)}); diff != "" {
				t.Error(diff)
			}
		})
	}
	if !errors.Is(missing, fs.ErrNotExist) || missing.Error() != TextOf(missing).String() {
		t.Error("an error does not wrap what it was given, or tells programs something else than people")
	}
	if out, err := json.Marshal(Textf("%d files", 2)); err != nil || string(out) != `"2 files"` {
		t.Errorf("programs get %s, %v", out, err)
	}
}

func TestReadPO(t *testing.T) {
	got, err := readPO(strings.NewReader(
		"# c\nmsgid \"\"\nmsgstr \"\"\n\"Language: ko\\n\"\n\n" +
			"#, go-format\nmsgid \"a %d\"\nmsgstr \"\"\n\"b\\n\"\n\"c %d\"\n"))
	if diff := cmp.Diff([]message{{"a %d", "b\nc %d"}}, got, cmp.AllowUnexported(message{})); diff != "" || err != nil {
		t.Error(diff, err)
	}
	if _, err := readPO(strings.NewReader("msgid \"a\"\nnonsense\n")); err == nil ||
		!strings.Contains(err.Error(), "line 2") {
		t.Errorf("a line that is neither: %v", err)
	}
}

func TestCount(t *testing.T) {
	for want, got := range map[string]Text{
		"1 file": Count(1, "file"), "0 files": Count(0, "file"), "2 retries": Count(2, "retry"), "2 keys": Count(2, "key"),
		"3 processes": Count(3, "process"), "19,982 files": Count(19_982, "file"),
	} {
		if got.String() != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// parse cuts a format into its verbs and what stands before, between and behind them: one text more than verbs.
func parse(format string) (texts []string, verbs []verb) {
	before := ""
	for text, v := range splitFormat(format) {
		before += text
		if v.letter != 0 {
			texts, verbs = append(texts, before), append(verbs, v)
			before = ""
		}
	}
	return append(texts, before), verbs
}
