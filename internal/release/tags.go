package release

// tagForms are the tags that no table of words can list. They are tried in this order.
var tagForms = []form[tagged]{
	{"checksum", "Silver Rail [ABCD1234].mkv -> Silver Rail", onAlpha | onNumber | onMixed, readChecksum},
	{"catalogue id", "Silver Rail [tmdbid-12].mkv -> Silver Rail", onAlpha | onMixed, readCatalogueID},
	{"resolution", "Silver Rail 1080p.mkv -> Silver Rail", onMixed | onNumber, readHeight},
	{"two words", "Silver Rail Blu-ray.mkv -> Silver Rail", onAlpha, readPair},
	{"quantity", "Silver Rail [700 MB].mkv -> Silver Rail", onMixed | onNumber, readQuantity},
	{"audio with channels", "Silver Rail AAC2.0.mkv -> Silver Rail", onMixed, readAudioChannels},
	{"version", "Silver Rail - 07 v2.mkv -> Silver Rail e7 v2 episode", onMixed, readVersion},
	{"disc", "Silver Rail CD1.mkv -> Silver Rail", onAlpha | onMixed, readDisc},
	{"extra with number", "Silver Rail NCOP2.mkv -> Silver Rail e2 NCOP extra", onMixed, readNumberedExtra},
	{"site", "www.site.com - Silver Rail.mkv -> Silver Rail", onAlpha | onMixed, readSite},
}

// findTags finds the words that say how a file was made, by the table of words and the forms.
func (p *tagged) findTags() {
	for i := range p.w.tokens {
		p.w.steps++
		if p.w.tokens[i].tag == none {
			p.lookUp(i)
			tryForms(tagForms, p, i, &p.w.tokens[i])
		}
	}
	p.loosenFirst()
	for i := range p.w.tokens {
		t := &p.w.tokens[i]
		switch t.tag {
		case tagSource:
			if t.word.value == "HDTV" {
				p.broadcast = i
			}
			p.media = p.media || !t.weak
		case tagResolution, tagVideo, tagAudio:
			p.media = p.media || !t.weak
		default:
		}
		p.tagChannels(i)
	}
	p.findDates()
}

// lookUp sets what the table of words says of token i.
func (p *tagged) lookUp(i int) {
	t := &p.w.tokens[i]
	if t.class == number {
		return
	}
	k, ok := kw{}, false
	if t.class == cjk { // which has no small letters
		k, ok = lists().words[p.w.word(i)]
	} else {
		k, ok = lookup(p.w.word(i))
	}
	if ok {
		t.word, t.tag, t.weak = k, k.tag, k.weak
	}
}

// loosenFirst lets the first word between brackets be part of a title whatever it is, when words follow it.
func (p *tagged) loosenFirst() {
	for i := range p.w.tokens {
		t := &p.w.tokens[i]
		if t.group >= 0 {
			if t.tag == tagTech && p.w.tagAt(i+1) == none && p.w.beside(i, i+1) && p.w.classAt(i+1) == alpha && !p.w.beside(i-1, i) {
				t.weak = true // "[24bit Melody]"
			}
			continue
		}
		switch t.tag {
		case tagTech, tagVideo, tagAudio, tagOther, tagEdition, tagLanguage, tagSubtitle, tagService:
			if i+1 < len(p.w.tokens) && p.w.tokens[i+1].tag == none && p.w.tokens[i+1].group < 0 {
				t.weak = true
			}
		default:
		}
		return
	}
}

// set marks tokens [from, to) for good.
func (p *words) set(from, to int, t tag) {
	for i := from; i < to; i++ {
		p.tokens[i].tag, p.tokens[i].weak = t, false
	}
}

// dashGap reports whether g is a dash between spaces, or what stands for them.
func dashGap(g string) bool {
	if len(g) < 2 || len(g) > 24 {
		return false
	}
	dash, space := false, false
	for _, r := range g {
		switch r {
		case '-', '—', '―', '~', '～':
			dash = true
		case ' ', '.':
			space = true
		}
	}
	return dash && space
}
