package release

import "strings"

// compounds are tags that are written as two words. A new one is a pair in the row of its meaning.
var compounds = [...]struct {
	tag   tag
	value string
	pairs string
}{
	{tagSource, "WEB-DL", "web dl, web dlrip, web cap"},
	{tagSource, "WEBRip", "web rip, web hdrip"},
	{tagSource, "BluRay", "blu ray, bluray rip, bd rip, bd remux, br rip"},
	{tagSource, "DVD", "dvd rip, dvd r"},
	{tagSource, "HDTV", "dvb rip, hd tv, sd tv, tv rip"},
	{tagSource, "VHS", "vhs rip"},
	{tagSource, "HDRip", "hd rip, hd dvd"},
	{tagSource, "CAM", "hd ts"},
	{tagResolution, "1080p", "full hd"},
	{tagResolution, "2160p", "ultra hd"},
	{tagVideo, "H.264", "h 264, x 264"},
	{tagVideo, "H.265", "h 265, x 265"},
	{tagVideo, "VC-1", "vc 1"},
	{tagVideo, "MPEG-2", "mpeg 2"},
	{tagAudio, "DTS", "dts hd, dts es, dts ma, dts x, hd ma"},
	{tagAudio, "", "line dubbed"},
	{tagSubtitle, "", "dual audio, multi audio, multi sub, multi subs, multiple subtitle, audio latino, english dub, " +
		"english dubbed, english sub, english subbed, eng dubbed, eng dub, eng sub, eng subs"},
	{tagEdition, "Director's Cut", "director cut, directors cut, director's cut"},
	{tagEdition, "Final Cut", "final cut"},
	{tagEdition, "Extended", "extended cut, extended edition"},
	{tagEdition, "Theatrical", "theatrical cut, theatrical edition"},
	{tagEdition, "Alternative Cut", "alternative cut"},
	{tagEdition, "Bootleg", "bootleg cut"},
	{tagEdition, "Assembly Cut", "assembly cut"},
	{tagEdition, "Special Edition", "special edition"},
	{tagEdition, "Criterion", "criterion edition, criterion collection"},
	{tagEdition, "Ultimate Edition", "ultimate edition"},
	{tagEdition, "Collector's Edition", "collectors edition, collector's edition"},
	{tagEdition, "Anniversary", "anniversary edition"},
	{tagEdition, "Signature Edition", "signature edition"},
	{tagEdition, "Limited Edition", "limited edition"},
	{tagEdition, "IMAX", "imax edition"},
	{tagEdition, "Open Matte", "open matte"},
	{tagEdition, "Remastered", "hd remaster"},
	{tagEdition, "Fan Edit", "fan edit"},
	{tagEdition, "", "half sbs, half ou"},
	{tagService, "", "at x, u next"},
	{tagOther, "", "read nfo"},
	{tagBatch, "", "complete series, movie collection"},
	{tagExtra, "EXTRA", "extras only, digital extras, picture drama, audio commentary, promotional video"},
	{tagExtra, "MENU", "bd menu, dvd menu, disc menu"},
	{tagExtra, "NCOP", "clean opening, creditless opening, textless opening, clean op, creditless op"},
	{tagExtra, "NCED", "clean ending, creditless ending, textless ending, clean ed, creditless ed"},
	{tagSpecial, "SPECIAL", "christmas special, tv special, tv specials"},
}

// compound is a tag of two words.
type compound struct {
	head, tail string
	kw         kw
}

// compoundsBy holds the compounds by the first letter and the length of their head.
var compoundsBy = func() (by [32][16][]compound) {
	for _, row := range compounds {
		for _, pair := range strings.Split(row.pairs, ", ") {
			head, tail, _ := strings.Cut(pair, " ")
			same := &by[head[0]&31][len(head)]
			*same = append(*same, compound{head, tail, kw{tag: row.tag, value: row.value, weak: row.tag == tagService}})
		}
	}
	return by
}()

// tagCompound: "h 264", "H.265", "x-264", "WEB DL", "Blu-ray", "HD TS"; a station's name has its dash.
func (p *tagged) tagCompound(i int) bool {
	w := p.word(i)
	if len(w) >= len(compoundsBy[0]) || !p.beside(i, i+1) || len(p.gap(i)) > 1 {
		return false
	}
	next := p.word(i + 1)
	for _, c := range compoundsBy[w[0]&31][len(w)] {
		if c.kw.weak && p.gap(i) != "-" {
			continue
		}
		if strings.EqualFold(c.head, w) && strings.EqualFold(c.tail, next) {
			p.set(i, i+2, c.kw.tag)
			p.tokens[i].word, p.tokens[i+1].word = c.kw, c.kw
			p.tokens[i].weak, p.tokens[i+1].weak = c.kw.weak, c.kw.weak
			return true
		}
	}
	return false
}
