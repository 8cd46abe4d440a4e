package release

import (
	"strings"
)

// This file is the table of tags that are written as two words.

// tagCodec: "h 264", "H.265", "x-264", "WEB DL", "Blu-ray", "HD TS".
func (p *tagged) tagCodec(i int) bool {
	if i+1 >= len(p.tokens) || p.tokens[i+1].group != p.tokens[i].group || len(p.gap(i)) > 1 {
		return false
	}
	w, next := p.word(i), p.word(i+1)
	if len(w) == 1 {
		switch next {
		case "264":
			p.set(i, i+2, tagVideo)
			p.tokens[i].word.value = "H.264"
			return true
		case "265":
			p.set(i, i+2, tagVideo)
			p.tokens[i].word.value = "H.265"
			return true
		}
		return false
	}
	for _, k := range compoundsBy[(w[0]|0x20)&31] {
		c := &compounds[k]
		if len(c.head) == len(w) && strings.EqualFold(c.head, w) && strings.EqualFold(c.tail, next) {
			p.set(i, i+2, c.tag)
			p.tokens[i].word = kw{tag: c.tag, value: c.value}
			p.tokens[i+1].word = p.tokens[i].word
			return true
		}
	}
	return false
}

// compounds are tags written as two words.
var compounds = [...]struct {
	head, tail string
	tag        tag
	value      string
}{
	{"web", "dl", tagSource, "WEB-DL"},
	{"web", "dlrip", tagSource, "WEB-DL"},
	{"web", "rip", tagSource, "WEBRip"},
	{"web", "hdrip", tagSource, "WEBRip"},
	{"web", "cap", tagSource, "WEB-DL"},
	{"blu", "ray", tagSource, "BluRay"},
	{"bluray", "rip", tagSource, "BluRay"},
	{"bd", "rip", tagSource, "BluRay"},
	{"bd", "remux", tagSource, "BluRay"},
	{"br", "rip", tagSource, "BluRay"},
	{"dvd", "rip", tagSource, "DVD"},
	{"dvb", "rip", tagSource, "HDTV"},
	{"vhs", "rip", tagSource, "VHS"},
	{"hd", "rip", tagSource, "HDRip"},
	{"hd", "dvd", tagSource, "HDRip"},
	{"hd", "ts", tagSource, "CAM"},
	{"hd", "tv", tagSource, "HDTV"},
	{"sd", "tv", tagSource, "HDTV"},
	{"tv", "rip", tagSource, "HDTV"},
	{"dvd", "r", tagSource, "DVD"},
	{"full", "hd", tagResolution, "1080p"},
	{"ultra", "hd", tagResolution, "2160p"},
	{"dual", "audio", tagSubtitle, ""},
	{"multi", "audio", tagSubtitle, ""},
	{"multi", "sub", tagSubtitle, ""},
	{"multi", "subs", tagSubtitle, ""},
	{"multiple", "subtitle", tagSubtitle, ""},
	{"english", "dub", tagSubtitle, ""},
	{"english", "dubbed", tagSubtitle, ""},
	{"english", "sub", tagSubtitle, ""},
	{"english", "subbed", tagSubtitle, ""},
	{"eng", "dubbed", tagSubtitle, ""},
	{"eng", "dub", tagSubtitle, ""},
	{"eng", "sub", tagSubtitle, ""},
	{"eng", "subs", tagSubtitle, ""},
	{"audio", "latino", tagSubtitle, ""},
	{"dts", "hd", tagAudio, "DTS"},
	{"dts", "es", tagAudio, "DTS"},
	{"dts", "ma", tagAudio, "DTS"},
	{"dts", "x", tagAudio, "DTS"},
	{"hd", "ma", tagAudio, "DTS"},
	{"vc", "1", tagVideo, "VC-1"},
	{"mpeg", "2", tagVideo, "MPEG-2"},
	{"theatrical", "cut", tagEdition, ""},
	{"directors", "cut", tagEdition, ""},
	{"director's", "cut", tagEdition, ""},
	{"final", "cut", tagEdition, ""},
	{"extended", "cut", tagEdition, ""},
	{"extended", "edition", tagEdition, ""},
	{"special", "edition", tagEdition, ""},
	{"criterion", "edition", tagEdition, ""},
	{"criterion", "collection", tagEdition, ""},
	{"ultimate", "edition", tagEdition, ""},
	{"collectors", "edition", tagEdition, ""},
	{"collector's", "edition", tagEdition, ""},
	{"theatrical", "edition", tagEdition, ""},
	{"alternative", "cut", tagEdition, ""},
	{"bootleg", "cut", tagEdition, ""},
	{"assembly", "cut", tagEdition, ""},
	{"anniversary", "edition", tagEdition, ""},
	{"signature", "edition", tagEdition, ""},
	{"limited", "edition", tagEdition, ""},
	{"imax", "edition", tagEdition, ""},
	{"open", "matte", tagEdition, ""},
	{"half", "sbs", tagEdition, ""},
	{"half", "ou", tagEdition, ""},
	{"read", "nfo", tagOther, ""},
	{"line", "dubbed", tagAudio, ""},
	{"hd", "remaster", tagEdition, ""},
	{"complete", "series", tagBatch, ""},
	{"movie", "collection", tagBatch, ""},
	{"extras", "only", tagExtra, "EXTRA"},
	{"digital", "extras", tagExtra, "EXTRA"},
	{"fan", "edit", tagEdition, ""},
	{"clean", "opening", tagExtra, "NCOP"},
	{"clean", "ending", tagExtra, "NCED"},
	{"creditless", "opening", tagExtra, "NCOP"},
	{"creditless", "ending", tagExtra, "NCED"},
	{"textless", "opening", tagExtra, "NCOP"},
	{"textless", "ending", tagExtra, "NCED"},
	{"clean", "op", tagExtra, "NCOP"},
	{"clean", "ed", tagExtra, "NCED"},
	{"creditless", "op", tagExtra, "NCOP"},
	{"creditless", "ed", tagExtra, "NCED"},
	{"christmas", "special", tagSpecial, "SPECIAL"},
}

// compoundsBy holds the indices of compounds by the first letter of their head.
var compoundsBy = func() (by [32][]uint8) {
	for i, c := range compounds {
		by[c.head[0]&31] = append(by[c.head[0]&31], uint8(i))
	}
	return by
}()
