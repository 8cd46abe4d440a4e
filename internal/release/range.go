package release

// This file decides when numbers that stand alone are a range or a list.

// startsRange says whether the number at i begins a range with a dash between blanks: "01 - 12", "- 05 - 08".
func (p *numbered) startsRange(i int) bool {
	if i <= p.first || p.tokens[i].tag != none || p.tokens[i].group != p.tokens[i+1].group || p.tokens[i].class != number {
		return false
	}
	n, ok := p.loose(i)
	m, _ := p.loose(i + 1)
	return ok && n < m && p.tokens[i].e-p.tokens[i].s >= 2 && (n == 1 || dashGap(p.before(i)))
}

// rangeTo says whether the number at i begins a range with a tight dash that reaches far: "1-13".
func (p *lexed) rangeTo(i int) bool {
	if i+1 >= len(p.tokens) || p.gap(i) != "-" && p.gap(i) != "~" {
		return false
	}
	n, ok := p.loose(i + 1)
	return ok && p.tokens[i].num == 1 && n > 4 && p.tokens[i+1].e-p.tokens[i+1].s >= 2
}

// rangeGap says whether g joins the ends of a range or the items of a list.
func (p *lexed) rangeGap(g string) bool {
	switch g {
	case "-", "~", "+", "&", " & ", " ~ ", ", ", " + ", "–", "〜", "～", " ～ ", "-E", ".&.", ",":
		return true
	}
	return false
}

// extendRange makes a range or a list of the episode just found and the numbers behind it.
func (p *marked) extendRange() {
	for len(p.episodes) < 3000 {
		i := p.episode.to
		if i >= len(p.tokens) || p.tokens[i].group != p.tokens[i-1].group || p.tokens[i].tag != none {
			return
		}
		joined := p.tokens[i].word.role == joinWord && p.word(i) != "and" && p.word(i) != "en" && i+1 < len(p.tokens) && p.gap(i-1) == " "
		if joined {
			i++
		}
		n, ok := p.loose(i)
		last := p.episodes[len(p.episodes)-1]
		if !ok || float64(n) <= last || float64(n) > last+2000 || p.yearlike(i) {
			return
		}
		g := p.gap(i - 1)
		ranged := false
		if joined {
			g = "~"
		}
		switch g {
		case "-", "~", " ~ ", "–", "〜", "～", " ～ ":
			ranged = true
		case " - ", ".-.", "_-_":
			if !p.closesNumber(i) || len(p.episodes) > 1 || i+1 < len(p.tokens) && dashGap(p.gap(i)) && p.tokens[i+1].group == p.tokens[i].group ||
				p.episodes[0] != 1 && !dashGap(p.before(p.episode.from)) {
				return
			}
			ranged = true
		case "+", "&", " & ", ", ", " + ", ".&.", ",", "_":
			if g == "_" && n != int(last)+1 {
				return
			}
		default:
			return
		}
		if f, ok := p.fractionAt(i); ok && f > 0 && !ranged {
			return
		}
		if ranged && g == "-" && p.listOn(i) {
			ranged = false
		}
		if ranged {
			for v := int(last) + 1; v < n; v++ {
				p.episodes = append(p.episodes, float64(v))
			}
		}
		p.episodes = append(p.episodes, float64(n))
		p.set(i, i+1, tagEpisode)
		p.episode.to = i + 1
	}
}

// listOn says whether a third number follows with a tight dash, so that the numbers are a list: "01-02-03".
func (p *lexed) listOn(i int) bool {
	if i+1 >= len(p.tokens) || p.gap(i) != "-" {
		return false
	}
	_, ok := p.loose(i + 1)
	return ok
}
