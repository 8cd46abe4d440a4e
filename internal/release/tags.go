package release

// This file decides which tokens say how a file was made: the table of words
// first, then one small function for each form that no table can list. A new
// form is a function here, a row in tagForms and a row in its test.

// tagForm recognises the token at i, marks it and maybe its followers, and returns whether it did.
type tagForm struct {
	name string
	on   classes // the classes of token it can begin with
	try  func(p *tagged, i int) bool
}

// classes is a set of token classes.
type classes uint8

const (
	onAlpha classes = 1 << iota
	onNumber
	onMixed
)

func (c class) in(set classes) bool {
	switch c {
	case alpha:
		return set&onAlpha != 0
	case number:
		return set&onNumber != 0
	case mixed:
		return set&onMixed != 0
	default:
		return false
	}
}

// tagForms are tried in this order on tokens that the table of words does not settle.
var tagForms = [...]tagForm{
	{"checksum", onAlpha | onNumber | onMixed, (*tagged).tagChecksum},
	{"catalogue id", onAlpha | onMixed, (*tagged).tagCatalogueID},
	{"resolution", onMixed | onNumber, (*tagged).tagHeight},
	{"two words", onAlpha, (*tagged).tagCompound},
	{"quantity", onMixed | onNumber, (*tagged).tagQuantity},
	{"audio with channels", onMixed, (*tagged).tagAudioChannels},
	{"version", onMixed, (*tagged).tagVersionWord},
	{"disc", onMixed, (*tagged).tagDisc},
	{"extra with number", onMixed, (*tagged).tagNumbered},
	{"site", onAlpha | onMixed, (*tagged).tagWebSite},
}

// tag runs the table and the forms over all tokens.
func tagWords(in *lexed, p *tagged) {
	*p = tagged{lexed: in.copyTo(&p.lexed), broadcast: -1}
	for i := range p.tokens {
		t := &p.tokens[i]
		p.steps++
		if t.tag != none {
			continue
		}
		if t.class == cjk {
			if k, ok := words[p.word(i)]; ok {
				t.word, t.tag, t.weak = k, k.tag, k.weak
			}
			continue
		}
		if t.class != number {
			if k, ok := lookup(p.word(i)); ok {
				t.word, t.tag, t.weak = k, k.tag, k.weak
			}
		}
		if t.tag != none && !t.weak {
			continue
		}
		for f := range tagForms {
			if t.class.in(tagForms[f].on) && tagForms[f].try(p, i) {
				break
			}
		}
	}
	p.loosenFirst()
	for i := range p.tokens {
		if t := &p.tokens[i]; t.tag == tagSource && t.word.value == "HDTV" {
			p.broadcast = i
		}
		switch p.tokens[i].tag {
		case tagResolution, tagSource, tagVideo, tagAudio:
			p.media = p.media || !p.tokens[i].weak
		default:
		}
		p.tagChannels(i)
	}
	p.findDates()
}

// loosenFirst lets the first word between brackets be part of a title whatever it is, when words follow it.
func (p *tagged) loosenFirst() {
	for i := range p.tokens {
		t := &p.tokens[i]
		if t.group >= 0 {
			continue
		}
		switch t.tag {
		case tagTech, tagVideo, tagAudio, tagOther, tagEdition, tagLanguage, tagSubtitle, tagService:
			if i+1 < len(p.tokens) && p.tokens[i+1].tag == none && p.tokens[i+1].group < 0 {
				t.weak = true
			}
		default:
		}
		return
	}
}

// set marks tokens [from, to) for good.
func (p *lexed) set(from, to int, t tag) {
	for i := from; i < to; i++ {
		p.tokens[i].tag, p.tokens[i].weak = t, false
	}
}

// dashGap says whether g is a dash between spaces, or what stands for them.
func dashGap(g string) bool {
	if len(g) < 2 || len(g) > 24 {
		return false
	}
	dash, space := false, false
	for _, r := range g {
		switch r {
		case '-', '—', '―', '~', '～':
			dash = true
		case ' ', '_', '.':
			space = true
		}
	}
	return dash && space
}
