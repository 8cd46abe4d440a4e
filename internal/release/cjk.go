package release

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// This file decides what counters of Chinese, Japanese and Korean names mean:
// 第07話, 7화, 第二季, 2기, 全24话, and the words written among them without a space.

// lexCJK cuts the run of Han, kana or hangul at i into words and counters and returns where it ends.
func (p *lexed) lexCJK(i, group int) int {
	text := p.text
	start := i
	flush := func(to int) {
		if to > start {
			p.tokens = append(p.tokens, token{s: start, e: to, group: group, class: cjk, num: -1})
		}
	}
	for i < len(text) {
		r, size := utf8.DecodeRuneInString(text[i:])
		if !isCJK(r) {
			break
		}
		p.steps++
		if t, ok := p.counterAt(i, r, size, i == start); ok {
			flush(i)
			t.group, t.class = group, cjk
			p.tokens = append(p.tokens, t)
			return t.e
		}
		i += size
	}
	flush(i)
	return i
}

// counterAt reads the counter or word that begins at i with r.
// Some mean what they do only at the start of a run, which first says.
func (p *lexed) counterAt(i int, r rune, size int, first bool) (token, bool) {
	rest := p.text[i+size:]
	if first && i > 0 && hanDigit(r) > 0 {
		if n, w := hanNumber(p.text[i:]); n > 0 {
			if u, s := utf8.DecodeRuneInString(p.text[i+w:]); seasonUnit(u) {
				if next, _ := utf8.DecodeRuneInString(p.text[i+w+s:]); !isCJK(next) {
					return token{s: i, e: i + w + s, tag: tagSeason, num: n}, true
				}
			}
		}
	}
	switch r {
	case '第', '제':
		return p.counter(i, i+size)
	case '全':
		if n, w := numberAt(rest); w > 0 && n > 0 {
			if u, s := utf8.DecodeRuneInString(rest[w:]); episodeUnit(u) {
				return token{s: i, e: i + size + w + s, tag: tagEpisode, num: 1, last: n}, true
			}
		}
	case '总', '總':
		if strings.HasPrefix(rest, "第") {
			if t, ok := p.counter(i+size, i+size+len("第")); ok {
				return token{s: i, e: t.e, tag: tagPromo, num: -1}, true
			}
		}
	case '시', 'シ':
		for _, w := range [...]string{"시즌", "シーズン"} {
			if !strings.HasPrefix(p.text[i:], w) {
				continue
			}
			j := i + len(w)
			for j < len(p.text) && p.text[j] == ' ' {
				j++
			}
			if n, w := numberAt(p.text[j:]); w > 0 {
				return token{s: i, e: j + w, tag: tagSeason, num: n}, true
			}
		}
	}
	if !beginsWord(r) {
		return token{}, false
	}
	for _, w := range cjkWords {
		if (!w.first || first && p.wholeRun(i+len(w.text))) && strings.HasPrefix(w.text, p.text[i:i+size]) && strings.HasPrefix(p.text[i:], w.text) {
			return token{s: i, e: i + len(w.text), tag: w.tag, weak: w.weak, num: -1, word: kw{tag: w.tag, value: w.value, weak: w.weak}}, true
		}
	}
	return token{}, false
}

// wholeRun says whether a run of Han, kana or hangul ends at j, but for "合集".
func (p *lexed) wholeRun(j int) bool {
	if j > len(p.text) {
		return false
	}
	r, _ := utf8.DecodeRuneInString(p.text[j:])
	return !isCJK(r) || r == '合'
}

// beginsWord says whether one of cjkWords begins with r; it must know the first character of each.
func beginsWord(r rune) bool {
	switch r {
	case '合', '全', '总', '總', '総', '完', '剧', '劇', '극', '电', '電', '特', '映', '予', '预', '番', '仅', '僅', '日', '中', '国', '放', '老':
		return true
	}
	return false
}

// cjkWords are words that stand among others without a space.
var cjkWords = [...]struct {
	text  string
	tag   tag
	value string
	weak  bool
	first bool // only as a run of its own
}{
	{"合集", tagBatch, "", false, false},
	{"全集", tagBatch, "", false, false},
	{"总集篇", tagBatch, "", false, false},
	{"總集篇", tagBatch, "", false, false},
	{"総集編", tagBatch, "", false, false},
	{"完结", tagBatch, "", false, true},
	{"完結", tagBatch, "", false, true},
	{"剧场版", tagMovie, "", true, false},
	{"劇場版", tagMovie, "", true, false},
	{"극장판", tagMovie, "", true, false},
	{"电影版", tagMovie, "", true, false},
	{"電影版", tagMovie, "", true, false},
	{"特典", tagExtra, "EXTRA", false, false},
	{"映像特典", tagExtra, "EXTRA", false, false},
	{"予告", tagExtra, "PV", true, false},
	{"预告", tagExtra, "PV", true, false},
	{"特別篇", tagSpecial, "SP", false, false},
	{"特别篇", tagSpecial, "SP", false, false},
	{"特別編", tagSpecial, "SP", false, false},
	{"番外篇", tagSpecial, "SP", false, false},
	{"日配版", tagPromo, "", false, false},
	{"中配版", tagPromo, "", false, false},
	{"国语版", tagPromo, "", false, false},
	{"放送版", tagPromo, "", false, false},
	{"老番", tagPromo, "", false, false},
	{"仅限港澳台", tagPromo, "", false, false},
	{"僅限港澳台", tagPromo, "", false, false},
}

// counter reads "07-12話" at j behind the ordinal sign at i.
func (p *lexed) counter(i, j int) (token, bool) {
	for j < len(p.text) && p.text[j] == ' ' {
		j++
	}
	n, w := numberAt(p.text[j:])
	if w == 0 {
		return token{}, false
	}
	j += w
	last := 0
	if j+1 < len(p.text) && (p.text[j] == '-' || p.text[j] == '~') {
		k := j + 1
		if strings.HasPrefix(p.text[k:], "第") {
			k += len("第")
		}
		if v, w := numberAt(p.text[k:]); w > 0 && v > n {
			last = v
			j = k + w
		}
	}
	for j < len(p.text) && p.text[j] == ' ' {
		j++
	}
	u, size := utf8.DecodeRuneInString(p.text[j:])
	switch {
	case episodeUnit(u):
		return token{s: i, e: j + size, tag: tagEpisode, num: n, last: last}, true
	case u == '部':
		if next, _ := utf8.DecodeRuneInString(p.text[j+size:]); isCJK(next) {
			return token{}, false
		}
		return token{s: i, e: j + size, tag: tagSeason, num: n, last: last}, true
	case strings.HasPrefix(p.text[j:], "クール"):
		return token{s: i, e: j + len("クール"), tag: tagPart, num: n}, true
	case seasonUnit(u), u == '弾':
		return token{s: i, e: j + size, tag: tagSeason, num: n, last: last}, true
	}
	return token{}, false
}

// numberAt reads digits or Han numerals at the start of s.
func numberAt(s string) (value, size int) {
	for size < len(s) && size < 4 && digit(s[size]) {
		size++
	}
	if size > 0 {
		if size < len(s) && digit(s[size]) {
			return 0, 0
		}
		return atoi(s[:size]), size
	}
	return hanNumber(s)
}

func episodeUnit(r rune) bool {
	switch r {
	case '話', '话', '集', '回', '화', '회', '편', '夜', '羽':
		return true
	}
	return false
}

func seasonUnit(r rune) bool {
	switch r {
	case '季', '期', '기':
		return true
	}
	return false
}

// lexCounter looks at what stands right behind the digits of t: a counter makes both one token. It returns where it ends.
func (p *lexed) lexCounter(t *token) int {
	text := p.text
	u, size := utf8.DecodeRuneInString(text[t.e:])
	end := t.e + size
	switch {
	case t.num < 0 || t.e-t.s > 4:
		return t.e
	case episodeUnit(u) && u != '夜' && u != '羽' && u != '편':
		t.tag = tagEpisode
	case seasonUnit(u) && t.e-t.s <= 2:
		if next, _ := utf8.DecodeRuneInString(text[end:]); u == '기' && unicode.Is(unicode.Hangul, next) && next != '완' {
			return t.e // "4기사"
		}
		t.tag = tagSeason
	case u == '月':
		j := end
		if r, n := utf8.DecodeRuneInString(text[j:]); r == '新' {
			j += n
		}
		r, n := utf8.DecodeRuneInString(text[j:])
		if r != '番' {
			return t.e
		}
		t.tag, end = tagPromo, j+n
	case u == '年':
		rest := text[end:]
		switch _, w := numberAt(rest); {
		case strings.HasPrefix(rest, "日剧"), strings.HasPrefix(rest, "日劇"):
			end += len("日剧")
		case strings.HasPrefix(rest, "新番"):
			end += len("新番")
		case w > 0 && w <= 2 && strings.HasPrefix(rest[w:], "月"):
			end += w + len("月")
			for _, s := range [...]string{"新番", "番"} {
				if strings.HasPrefix(text[end:], s) {
					end += len(s)
				}
			}
		default:
			return t.e
		}
		t.tag = tagPromo
	default:
		return t.e
	}
	t.e, t.class = end, cjk
	return end
}

// talks says whether the bracket g holds a remark and not a number alone.
func (p *lexed) talks(g int) bool {
	plain := 0
	for i := p.brackets[g].first; i < p.brackets[g].behind; i++ {
		if p.tokens[i].tag == none {
			plain++
		}
	}
	return plain > 0
}

// markCounters turns the counters that the lexer found into season and episode.
func (p *marked) markCounters() {
	for i := range p.tokens {
		t := &p.tokens[i]
		if t.num < 0 || t.class != cjk {
			continue
		}
		switch t.tag {
		case tagSeason:
			if len(p.seasons) > 0 {
				continue
			}
			p.season = span{i, i + 1}
			for v := t.num; v <= max(t.num, min(t.last, t.num+60)); v++ {
				p.seasons = append(p.seasons, v)
			}
		case tagEpisode:
			if !p.episode.empty() || t.group >= 0 && digit(p.text[t.s]) && p.talks(t.group) {
				continue
			}
			from, lo, hi := i, t.num, max(t.num, t.last)
			if i > 0 && t.last == 0 && p.tokens[i-1].class == number && p.tokens[i-1].num >= 0 && p.tokens[i-1].num < t.num &&
				(p.gap(i-1) == "-" || p.gap(i-1) == "~") && t.num-p.tokens[i-1].num < 3000 {
				from, lo = i-1, p.tokens[i-1].num
			}
			p.setEpisodes(from, i+1, lo, hi)
			if t.last > 0 && lo == 1 {
				p.batch = true
			}
		default:
		}
	}
}
