package lang

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
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
			if got := Of(func(name string) string { return row.env[name] }); got != row.want {
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
	var b bytes.Buffer
	if w := Writer(&b); w != &b {
		t.Error("something stands between English and its stream")
	}
}

func TestKorean(t *testing.T) {
	inKorean(t)
	for _, row := range []struct{ name, got, want string }{
		{"a text", Say("no TMDB key is set"), "TMDB 키가 설정되지 않았습니다"},
		{"a number is no amount of money", Sprintf("%d is a year of it", 2023), "2023년이 작품의 연도와 일치함"},
		{"what was formatted elsewhere", Say("season 2 has episode 12"), "시즌 2에 12화가 있음"},
		{"words in another order", Say("3 of 10 answers from the cache"), "답 10건 중 캐시에서 3건"},
		{"a title with words of ours stays", Say(`"files: all matched" and "all" fit about equally`), `"files: all matched"와(과) "all"이(가) 비슷하게 들어맞습니다`},
		{"a word", Say("matched"), "매칭"},
		{"causes", Say("read pins: /x/pins.txt: permission denied"), "고정 읽기: /x/pins.txt: 권한이 없습니다"},
		{
			"a cause of two sentences", Say(`config file: "/x; y": does not exist; make one with: anivault config init`),
			`설정 파일: "/x; y": 없습니다. 만들려면: anivault config init`,
		},
		{"a text among the arguments", Sprintf("%s\n", Text("no series was matched")), "매칭된 시리즈가 없습니다\n"},
		{"lines", Say("\n  Enter         keep it so\n  n             no: choose again\n"), "\n  Enter         그대로 저장\n  n             아니요, 다시 고르기\n"},
		{"an error among the arguments", Sprintf("flag --exclude: %v", errors.New("is empty")), "--exclude 옵션: 비어 있습니다"},
		{"two reasons", Say("spelled exactly so; 1998 is a year of it"), "표기가 정확히 같음; 1998년이 작품의 연도와 일치함"},
		{"what nobody has translated", Say("some other program said this"), "some other program said this"},
		{"lines end behind their last word", Say("pinned Akira: movie/1, instead of movie/2\n"), "고정함: Akira: movie/1 (이전: movie/2)\n"},
		{"percent signs stay", Say("counted over all seasons; perhaps S02E05, 61 %"), "통산 화수로 셈; 아마 S02E05(61 %)"},
		{"a quoted word is shown as typed", Sprintf("%q is not a status", "mached"), `"mached"은(는) 상태가 아닙니다`},
	} {
		t.Run(row.name, func(t *testing.T) {
			if diff := cmp.Diff(row.want, row.got); diff != "" {
				t.Error(diff)
			}
		})
	}
	var b bytes.Buffer
	fmt.Fprintf(Writer(&b), "nothing is pinned yet\n")
	fmt.Fprintf(Writer(&b), "  nothing is pinned yet\n/lib/a file\n")
	if diff := cmp.Diff("아직 고정된 것이 없습니다\n  아직 고정된 것이 없습니다\n/lib/a file\n", b.String()); diff != "" {
		t.Error(diff)
	}
}

// Each row has the verbs of its key, each once more or as often: what is said in English is said in Korean.
func TestTranslationsHaveTheVerbsOfTheirKeys(t *testing.T) {
	seen := map[string]bool{}
	for _, e := range catalogue() {
		if seen[e.id] {
			t.Errorf("%q is there twice", e.id)
		}
		seen[e.id] = true
		if want, got := argsOf(e.id), argsOf(e.text); !slices.Equal(want, got) {
			t.Errorf("%q takes the arguments %v, %q takes %v", e.id, want, e.text, got)
		}
		if e.text == "" {
			t.Errorf("%q has no translation", e.id)
		}
	}
}

// argsOf returns which arguments a format shows.
func argsOf(format string) []int {
	var args []int
	_, verbs := parse(format)
	for _, v := range verbs {
		args = append(args, v.arg)
	}
	slices.Sort(args)
	return slices.Compact(args)
}

// Each row can be said, whatever its texts hold.
func TestEachRowIsSaid(t *testing.T) {
	inKorean(t)
	for _, e := range catalogue() {
		if _, verbs := parse(e.id); len(verbs) == 0 && Say(e.id) != strings.ReplaceAll(e.text, "%%", "%") {
			t.Errorf("%q is said as %q", e.id, Say(e.id))
		}
	}
}

// What a format makes is recognised by it, and no argument is lost.
func TestEachFormatIsRecognised(t *testing.T) {
	inKorean(t)
	w := korean()
	for _, e := range catalogue() {
		_, verbs := parse(e.id)
		if len(verbs) == 0 || !slices.ContainsFunc(w.patterns(), func(p pattern) bool { return p.key == e.id }) {
			continue
		}
		p := newPattern(e.id)
		args := make([]any, p.args)
		for _, v := range verbs {
			switch v.letter {
			case 'd':
				args[v.arg] = 7
			case 'f', 'g':
				args[v.arg] = 7.5
			default:
				args[v.arg] = "Zz"
			}
		}
		if text := fmt.Sprintf(plainVerbs(e.id), args...); Say(text) == text {
			t.Errorf("%q is not recognised in %q", e.id, text)
		}
	}
}

// plainVerbs is the format as fmt.Sprintf takes it: %w is for errors alone.
func plainVerbs(format string) string {
	texts, verbs := parse(format)
	var b bytes.Buffer
	for i, text := range texts {
		b.WriteString(string(bytes.ReplaceAll([]byte(text), []byte("%"), []byte("%%"))))
		if i < len(verbs) {
			fmt.Fprintf(&b, "%%[%d]%c", verbs[i].arg+1, verbs[i].letter)
		}
	}
	return b.String()
}

// A Text keeps what it is given: it is told in either language with its arguments untouched, compared and stored.
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
		{"a name that reads like a text", Textf("config file: %s", path), "config file: ./Downloads: 3 files", "설정 파일: ./Downloads: 3 files"},
		{"a text among the arguments", Textf("config file: %s", Text("is empty")), "config file: is empty", "설정 파일: 비어 있습니다"},
		{"a text in quotes is shown as it is", Textf("%q is not a status", Text("is empty")), `"is empty" is not a status`, `"is empty"은(는) 상태가 아닙니다`},
		{"words in another order", Textf("%d of %d answers from the cache", 3, 10), "3 of 10 answers from the cache", "답 10건 중 캐시에서 3건"},
		{"an error, and what it wraps", TextOf(missing), "read pins: open ./Downloads: 3 files: no such file or directory", "고정 읽기: open ./Downloads: 3 files: 그런 파일이나 폴더가 없습니다"},
		{"words in front of an error of ours", TextOf(fmt.Errorf("%s: %w", path, Error("is empty"))), "./Downloads: 3 files: is empty", "./Downloads: 3 files: 비어 있습니다"},
		{"several errors", TextOf(errors.Join(Error("is empty"), errors.New("is full"))), "is empty\nis full", "비어 있습니다\nis full"},
		{"an error of nobody's", TextOf(errors.New("\x005:match")), "\x005:match", "\x005:match"},
		{"texts in a row", Join([]Text{"is empty", Text(path), Textf("%d files", 2)}, "; "), "is empty; ./Downloads: 3 files; 2 files", "비어 있습니다; ./Downloads: 3 files; 파일 2개"},
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
	got, err := readPO(strings.NewReader("# c\nmsgid \"\"\nmsgstr \"\"\n\"Language: ko\\n\"\n\n#, c-format\nmsgid \"a %d\"\nmsgstr \"\"\n\"b\\n\"\n\"c %d\"\n"))
	if diff := cmp.Diff([]message{{"a %d", "b\nc %d"}}, got, cmp.AllowUnexported(message{})); diff != "" || err != nil {
		t.Error(diff, err)
	}
	if _, err := readPO(strings.NewReader("msgid \"a\"\nnonsense\n")); err == nil || !strings.Contains(err.Error(), "line 2") {
		t.Errorf("a line that is neither: %v", err)
	}
}

func TestCount(t *testing.T) {
	for want, got := range map[string]Text{
		"1 file": Count(1, "file"), "0 files": Count(0, "file"), "2 retries": Count(2, "retry"), "2 keys": Count(2, "key"),
		"3 processes": Count(3, "process"),
	} {
		if got.String() != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
