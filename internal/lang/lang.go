// Package lang translates messages for people. The source code has the English text, which is also the key of its
// translation in the catalogue ko.po. Output for programs is never translated: fields, codes, log keys, and the reasons
// in NDJSON, JSON and CSV.
//
// The whole process uses one language. Main sets it with Use before it prints anything.
package lang

import (
	"bufio"
	"cmp"
	_ "embed"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf8"
)

// Language is a language of messages.
type Language string

// The languages. English needs no catalogue.
const (
	English Language = "en"
	Korean  Language = "ko"
)

// Names returns the values of --lang.
func Names() []string { return []string{string(English), string(Korean)} }

// FromEnvironment returns the language of messages according to the first of LC_ALL, LC_MESSAGES and LANG that is set;
// English by default.
func FromEnvironment(getenv func(string) string) Language {
	if code, _, _ := strings.Cut(strings.ToLower(LocaleTag(getenv)), "-"); code == string(Korean) {
		return Korean
	}
	return English
}

var localePattern = regexp.MustCompile(`^([a-z]{2,3})(?:_([A-Z]{2}))?(?:[.@].*)?$`)

// LocaleTag returns language and country of the environment's locale, such as ko-KR or ja; "" if none is set.
func LocaleTag(getenv func(string) string) string {
	m := localePattern.FindStringSubmatch(cmp.Or(getenv("LC_ALL"), getenv("LC_MESSAGES"), getenv("LANG")))
	if m == nil {
		return ""
	}
	return strings.TrimSuffix(m[1]+"-"+m[2], "-")
}

// currentCatalogue maps English texts to translations into the language of the process; nil means English.
var currentCatalogue atomic.Pointer[map[string]string]

var foreignErrorText atomic.Pointer[func(error) (Text, bool)]

// Use makes l the language of the process.
func Use(l Language) {
	currentCatalogue.Store(nil)
	if l == Korean {
		currentCatalogue.Store(koreanCatalogue())
	}
}

// UseErrorTexts sets a function that returns the texts of errors of packages that don't use lang. TextOf calls it with
// each error of a chain, so it must not unwrap.
func UseErrorTexts(text func(error) (Text, bool)) { foreignErrorText.Store(&text) }

// Current returns the language of the process.
func Current() Language {
	if currentCatalogue.Load() == nil {
		return English
	}
	return Korean
}

// Sprintf is fmt.Sprintf in the language of the process. It also translates args that are Texts or errors. It does not
// translate strings, because a path may look like a message.
func Sprintf(format string, args ...any) string {
	if currentCatalogue.Load() == nil {
		return fmt.Sprintf(format, args...)
	}
	return Say(Textf(format, args...))
}

// Say translates a text into the language of the process. A text without a translation stays English.
func Say[T ~string](text T) string {
	if own := currentCatalogue.Load(); own != nil {
		return Text(text).translate(*own)
	}
	return Text(text).String()
}

// koreanPO is the Korean catalogue, in the format of gettext: msgid is an English text or format of the source, msgstr
// its translation.
//
//go:embed ko.po
var koreanPO string

type message struct{ id, translation string }

var koreanCatalogue = sync.OnceValue(func() *map[string]string {
	messages, err := readPO(strings.NewReader(koreanPO))
	if err != nil {
		panic("ko.po: " + err.Error()) // a bug: tests parse it
	}
	own := make(map[string]string, len(messages))
	for _, m := range messages {
		own[m.id] = m.translation
	}
	return &own
})

// readPO returns the messages of a PO file in order, without the header. It supports comments, msgid and msgstr, whose
// quoted strings may continue on the next lines.
func readPO(in io.Reader) ([]message, error) {
	var messages []message
	var into *string
	lines := bufio.NewScanner(in)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		quoted := line
		if line == "" || line[0] == '#' {
			continue
		}
		if rest, ok := strings.CutPrefix(line, "msgid "); ok {
			messages, quoted = append(messages, message{}), rest
			into = &messages[len(messages)-1].id
		} else if rest, ok := strings.CutPrefix(line, "msgstr "); ok && len(messages) > 0 {
			quoted, into = rest, &messages[len(messages)-1].translation
		}
		text, err := strconv.Unquote(quoted)
		if err != nil || into == nil {
			return nil, fmt.Errorf("line %d: %s is neither msgid nor msgstr with a quoted string", n, line)
		}
		*into += text
	}
	if len(messages) > 0 && messages[0].id == "" {
		messages = messages[1:]
	}
	return messages, lines.Err()
}

// A Korean particle has two forms. Which one is right depends on the last sound of the word before it, which is often
// an argument. The catalogue therefore writes both, as in %s은(는), and appendTranslated chooses.

var particlePattern = regexp.MustCompile(`은\(는\)|이\(가\)|을\(를\)|와\(과\)|\(으\)로|\(이\)`)

// particleForms are the forms after a consonant and after a vowel.
var particleForms = map[string][2]string{
	"은(는)": {"은", "는"}, "이(가)": {"이", "가"}, "을(를)": {"을", "를"}, "와(과)": {"과", "와"}, "(으)로": {"으로", "로"}, "(이)": {"이", ""},
}

type finalSound byte

const (
	unknownSound finalSound = iota
	vowel
	consonant
	rieul // the consonant ㄹ, after which 로 has the form of a vowel
)

// appendTranslated appends part of a translation to b, and chooses the forms of its particles.
func appendTranslated(b *strings.Builder, text string) {
	for strings.IndexByte(text, '(') >= 0 {
		at := particlePattern.FindStringIndex(text)
		if at == nil {
			break
		}
		b.WriteString(text[:at[0]])
		particle := text[at[0]:at[1]]
		switch sound := finalSoundOf(b.String()); {
		case sound == unknownSound:
		case sound == vowel, sound == rieul && particle == "(으)로":
			particle = particleForms[particle][1]
		default:
			particle = particleForms[particle][0]
		}
		b.WriteString(particle)
		text = text[at[1]:]
	}
	b.WriteString(text)
}

// finalSoundOf returns the sound with which a text ends when a Korean reads it aloud. It is unknown after some Latin
// letters, such as the silent e.
func finalSoundOf(text string) finalSound {
	last, _ := utf8.DecodeLastRuneInString(strings.TrimRight(text, "\"'`”’)]>.!?…"))
	const firstSyllable, lastSyllable, finals, finalRieul = '가', '힣', 28, 8
	switch {
	case last >= firstSyllable && last <= lastSyllable:
		switch (last - firstSyllable) % finals {
		case 0:
			return vowel
		case finalRieul:
			return rieul
		}
		return consonant
	case strings.ContainsRune("2459adfhiorsuvwxyzABCDFGHIJKOPQSUVWXYZ", last): // 이, 사, 오, 구; 브, 스, 비, 에이치
		return vowel
	case strings.ContainsRune("178lLR", last): // 일, 칠, 팔
		return rieul
	case strings.ContainsRune("036mnMN", last): // 영, 삼, 육
		return consonant
	}
	return unknownSound
}
