package release

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/anivault/anivault/internal/lazyregexp"
)

func (p lexer) lexCJK(i, group int) int {
	start := i
	for i < len(p.w.text) {
		r, size := utf8.DecodeRuneInString(p.w.text[i:])
		if !isCJK(r) {
			break
		}
		p.w.steps++
		if t, ok := p.counterAt(i, r, size, i == start); ok {
			p.addCJKToken(token{start: start, end: i, num: -1}, group)
			p.addCJKToken(t, group)
			return t.end
		}
		i += size
	}
	p.addCJKToken(token{start: start, end: i, num: -1}, group)
	return i
}

func (p lexer) addCJKToken(t token, group int) {
	if t.end > t.start {
		t.bracket, t.class = group, cjk
		p.w.tokens = append(p.w.tokens, t)
	}
}

// counterAt reads a counter such as "第07話" at byte i. first says that i starts a run of CJK; some words count only
// there.
func (p lexer) counterAt(i int, r rune, size int, first bool) (token, bool) {
	if i > 0 && p.w.lists.hanDigits[r] > 0 {
		if t, ok := p.hanCounterAt(i, first); ok {
			return t, true
		}
	}
	t, ok := token{}, false
	switch r {
	case '第', '제':
		t, ok = p.readCounter(i, i+size)
		ok = ok && (r == '第' || first || p.w.text[i+size] != ' ') // "형제 7화"
	case '全':
		n, w := numberAt(p.w.text[i+size:]) // "全24話"
		unit, s := utf8.DecodeRuneInString(p.w.text[i+size+w:])
		t, ok = token{start: i, end: i + size + w + s, tag: tagEpisode, num: 1, rangeEnd: n}, n > 0 && isEpisodeCounter(unit)
		if n > 0 && unit == '季' { // "全三季"
			t.tag, ok = tagSeason, true
		}
	case '总', '總':
		if second := i + size; strings.HasPrefix(p.w.text[second:], "第") {
			if t, ok = p.readCounter(second, second+len("第")); ok {
				t = token{start: i, end: t.end, tag: tagPromo, num: -1}
			}
		}
	case '시', 'シ':
		t, ok = p.readNumberAfterWord(i, tagSeason, "시즌", "シーズン")
	case '에', 'エ':
		t, ok = p.readNumberAfterWord(i, tagEpisode, "에피소드", "エピソード")
		ok = ok && (i > 0 || !p.w.isFolder)
	case '파':
		t, ok = p.readNumberAfterWord(i, tagPart, "파트")
		ok = ok && t.num < 10 && !strings.HasSuffix(p.w.text[:i], "아") // "아파트 7화"
	}
	if ok {
		return t, true
	}
	return p.innerWordAt(i, r, first)
}

// innerWordAt reads a word without spaces around it, such as "特典", at byte i.
func (p lexer) innerWordAt(i int, r rune, first bool) (token, bool) {
	for _, w := range p.w.lists.innerWords[r] {
		rest, found := strings.CutPrefix(p.w.text[i:], w.text)
		next, _ := utf8.DecodeRuneInString(rest)
		if found && (!w.wholeRun || first && (!isCJK(next) || next == '合')) {
			return token{start: i, end: i + len(w.text), tag: w.tag, weak: w.weak, num: w.season, word: w.wordInfo}, true
		}
	}
	return token{}, false
}

// hanCounterAt reads a counter with a Han numeral: "二期", "四月新番". Inside a longer run, "四季" is a word.
func (p lexer) hanCounterAt(i int, first bool) (token, bool) {
	n, w := hanNumber(p.w.text[i:])
	unit, s := utf8.DecodeRuneInString(p.w.text[i+w:])
	end := i + w + s
	if size := broadcastDateLength(p.w.text[i+w:]); size > 0 && first {
		return token{start: i, end: i + w + size, tag: tagPromo, num: -1}, true
	}
	next, _ := utf8.DecodeRuneInString(p.w.text[end:])
	counts := n > 0 && isSeasonCounter(unit) && !isCJK(next) && (first || unit == '期')
	return token{start: i, end: end, tag: tagSeason, num: n}, counts
}

// readNumberAfterWord reads one of the given words with the number after it: "시즌 2", "シーズン2".
func (p lexer) readNumberAfterWord(i int, says tag, words ...string) (token, bool) {
	for _, w := range words {
		rest, ok := strings.CutPrefix(p.w.text[i:], w)
		if !ok || i > 0 && isDigit(p.w.text[i-1]) { // "3시즌 1080p"
			continue
		}
		rest = strings.TrimLeft(rest, " .")
		n, size := numberAt(rest)
		if unit, _ := utf8.DecodeRuneInString(rest[size:]); size > 0 && says == tagSeason && isEpisodeCounter(unit) {
			return token{}, false // "시즌 05화"
		}
		return token{start: i, end: len(p.w.text) - len(rest) + size, tag: says, num: n}, size > 0
	}
	return token{}, false
}

// readCounter reads the rest of "第07-12話" from byte j; the ordinal sign is at byte i.
func (p lexer) readCounter(i, j int) (token, bool) {
	j = p.skipSpaces(j)
	n, w := numberAt(p.w.text[j:])
	if w == 0 {
		return token{}, false
	}
	j += w
	last := 0
	if k, ok := p.skipRangeSign(j); ok {
		if v, w := numberAt(p.w.text[k:]); w > 0 && v > n {
			last = v
			j = k + w
		}
	}
	if p.w.text[j:] != "" && p.w.text[j]|0x20 == 'v' && leadingDigits(p.w.text[j+1:]) == 1 {
		j += 2 // "第05v2话"
	}
	j = p.skipSpaces(j)
	u, size := utf8.DecodeRuneInString(p.w.text[j:])
	t := token{start: i, end: j + size, num: n, rangeEnd: last}
	next, _ := utf8.DecodeRuneInString(p.w.text[j+size:])
	for _, part := range p.w.lists.partCounters {
		if strings.HasPrefix(p.w.text[j:], part) {
			return token{start: i, end: j + len(part), tag: tagPart, num: n}, true
		}
	}
	if strings.HasPrefix(p.w.text[j:], "シリーズ") {
		return token{start: i, end: j + len("シリーズ"), tag: tagSeason, num: n}, true
	}
	switch {
	case isEpisodeCounter(u), u == '부' && n > 9 && !isCJK(next), strings.ContainsRune(poeticCounters, u) && i > 0 &&
		!isCJK(next) && !strings.ContainsAny(p.w.text[j:], episodeCounters):
		t.tag = tagEpisode
	case strings.ContainsRune("巻卷권", u):
		t.tag = tagVolume
	case u == '部' && isCJK(next):
		return token{}, false
	case isSeasonCounter(u), u == '弾', u == '部', u == '부' && !isCJK(next):
		t.tag = tagSeason
	default:
		return token{}, false
	}
	return t, true
}

// skipRangeSign returns the byte after a range sign at j: that of the "12" in "07-12" and "07-第12".
func (p lexer) skipRangeSign(j int) (after int, ok bool) {
	rest := p.w.text[j:]
	for _, list := range [...]string{"・", "、", "至", "到"} {
		if after, ok := strings.CutPrefix(rest, list); ok {
			return len(p.w.text) - len(strings.TrimPrefix(after, "第")), true
		}
	}
	last := strings.TrimLeft(rest, "-~")
	return len(p.w.text) - len(strings.TrimPrefix(last, "第")), last != rest
}

func (p lexer) skipSpaces(j int) int {
	return len(p.w.text) - len(strings.TrimLeft(p.w.text[j:], " "))
}

func numberAt(s string) (value, size int) {
	switch size = leadingDigits(s); {
	case size == 0:
		return hanNumber(s)
	case size > 4:
		return 0, 0
	}
	return atoi(s[:size]), size
}

// episodeCounters count episodes after any number; 편, 夜 and 羽 do so only in a form such as "제3편".
const episodeCounters = "話话集回화회"

func isEpisodeCounter(r rune) bool { return strings.ContainsRune(episodeCounters+"편夜羽", r) }

// counterFollows reports whether the number before c is an episode: "3화", "3 話".
func (c cursor) counterFollows() bool {
	c.skipAny(" ", 1)
	r, _ := utf8.DecodeRuneInString(c.text[c.i:])
	return strings.ContainsRune(episodeCounters, r)
}

// poeticCounters are those that only a few works use for their episodes, such as acts or poems.
const poeticCounters = "幕首訓怪膳皿局球席走歩輪匹杯巡"

func isSeasonCounter(r rune) bool { return strings.ContainsRune("季期기", r) }

func (p lexer) lexCounter(t *token) int {
	at := p.skipSpaces(t.end)
	unit, size := utf8.DecodeRuneInString(p.w.text[at:])
	end, after := at+size, p.w.text[at+size:]
	width := t.end - t.start
	next, _ := utf8.DecodeRuneInString(after)
	switch {
	case t.num < 0 || width > 4, unit == '기' && unicode.Is(unicode.Hangul, next) && next != '완', // "4기사", "3 회사"
		at > t.end && (isCJK(next) || !strings.ContainsRune(episodeCounters+"기", unit)):
		return t.end
	case strings.ContainsRune(episodeCounters, unit), unit == '부' && width > 1 && !isCJK(next):
		t.tag = tagEpisode
		end += p.readTotalSign(t, after)
		if n := t.num; (p.w.isFolder || p.w.text[t.start-min(t.start, 1)] != ' ') && p.readWordForTotal(t) {
			t.num, t.rangeEnd = 1, n
		}
	case isSeasonCounter(unit) && width <= 2:
		t.tag = tagSeason
	case width == 1 && (unit == '쿨' || unit == '부' && !isCJK(next)):
		t.tag = tagPart
	case unit == '부' && next == '작': // "16부작", "전16부작", "총 16부작"
		t.tag = tagPromo
		p.readWordForTotal(t)
		end += len("작")
	case unit == '全' && t.start > 0 && p.readWhole(t, p.w.text[t.start-1]):
	default:
		if end = t.end + broadcastDateLength(p.w.text[t.end:]); end == t.end {
			return end
		}
		t.tag = tagPromo
	}
	t.end, t.class = end, cjk
	return end
}

// readWordForTotal tags the word before the total t: "전 16부작", "총 20화". It reports whether there is one.
func (p lexer) readWordForTotal(t *token) bool {
	k := len(p.w.tokens) - 1
	if k < 1 && t.tag == tagEpisode || k < 0 || !isOneOf(p.w.word(k), "전", "총") {
		return false
	}
	p.w.tokens[k].tag = tagPromo
	return true
}

// readWhole reads "24全" as episodes 1 to 24, and "-24全" as the end of a range.
func (p lexer) readWhole(t *token, before byte) bool {
	switch {
	case t.bracket >= 0:
	case strings.IndexByte("-~", before) >= 0:
		t.tag = tagEpisode
	case t.end-t.start > 1 && before >= utf8.RuneSelf:
		t.tag, t.num, t.rangeEnd = tagEpisode, 1, t.num
	}
	return t.tag == tagEpisode
}

// readTotalSign reads the "全" of "24集全", which turns episode 24 into episodes 1 to 24. In "13-24集全", it says
// nothing.
func (p lexer) readTotalSign(t *token, after string) int {
	whole, ok := strings.CutPrefix(after, "全")
	if next, _ := utf8.DecodeRuneInString(whole); !ok || t.rangeEnd != 0 || isCJK(next) {
		return 0
	}
	if t.end-t.start > 1 && (t.start == 0 || strings.IndexByte("-~", p.w.text[t.start-1]) < 0) {
		t.num, t.rangeEnd = 1, t.num
	}
	return len("全")
}

// broadcastDate matches the rest of a broadcast date after its first number: "10月新番", "2020年日剧",
// "2023年04月12日23時00分00秒".
var broadcastDate = lazyregexp.New(`^(?:月新?番|年(?:日[剧劇]|新番|` +
	`[0-9]{1,2}月(?:[0-9]{1,2}日(?:[0-9]{1,2}時(?:[0-9]{1,2}分(?:[0-9]{1,2}秒)?)?)?)?(?:新?番)?))`)

func broadcastDateLength(s string) int {
	if !strings.HasPrefix(s, "月") && !strings.HasPrefix(s, "年") {
		return 0
	}
	return len(broadcastDate().FindString(s))
}
