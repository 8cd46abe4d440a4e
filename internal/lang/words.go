package lang

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"golang.org/x/text/language"
	xmessage "golang.org/x/text/message"
	"golang.org/x/text/message/catalog"
)

// words is a catalogue in use. What is not said is not prepared: most runs say little. Arguments reach the printer as texts: it
// would write the year 2,023.
type words struct {
	tag      language.Tag
	own      map[string]string // by the English
	patterns func() []pattern  // formats with verbs, those with most text of their own first
	printer  *xmessage.Printer

	mu       sync.Mutex
	messages *catalog.Builder
	prepared map[string]bool   // what messages has
	said     map[string]string // texts that were recognised lately
}

// remembered bounds what words keeps: the reasons of a big library repeat.
const remembered = 4096

var korean = sync.OnceValue(func() *words { return load(language.Korean, catalogue()) })

func load(tag language.Tag, entries []message) *words {
	w := &words{
		tag: tag, own: make(map[string]string, len(entries)), messages: catalog.NewBuilder(catalog.Fallback(tag)),
		prepared: map[string]bool{}, said: map[string]string{},
	}
	for _, e := range entries {
		w.own[e.id] = e.text
	}
	w.patterns = sync.OnceValue(func() []pattern { return patternsOf(entries) })
	w.printer = xmessage.NewPrinter(tag, xmessage.Catalog(w.messages))
	return w
}

func patternsOf(entries []message) []pattern {
	var out []pattern
	for _, e := range entries {
		if !strings.Contains(e.id, "%") {
			continue
		}
		if p := newPattern(e.id); len(p.verbs) > 0 && p.telling() {
			out = append(out, p)
		}
	}
	slices.SortStableFunc(out, func(a, b pattern) int { return b.weight - a.weight })
	return out
}

func (w *words) has(key string) bool {
	_, ok := w.own[key]
	return ok
}

// print says a text of the catalogue.
func (w *words) print(key string, args []string) string {
	w.mu.Lock()
	if !w.prepared[key] {
		w.prepared[key] = true
		if err := w.messages.SetString(w.tag, key, asTexts(w.own[key])); err != nil {
			panic(fmt.Sprintf("catalogue: %q: %v", key, err)) // a mistake in this package
		}
	}
	w.mu.Unlock()
	list := make([]any, len(args))
	for i, a := range args {
		list[i] = a
	}
	return w.printer.Sprintf(key, list...)
}

// sprintf never looks into an argument that is neither a Text nor an error: a path may read like a message.
func (w *words) sprintf(format string, args []any) string { return Textf(format, args...).in(w.own) }

func (w *words) say(text string) string {
	if _, _, ok := Text(text).parts(); ok {
		return Text(text).in(w.own)
	}
	if w.has(text) {
		return w.print(text, nil)
	}
	w.mu.Lock()
	said, ok := w.said[text]
	w.mu.Unlock()
	if ok {
		return said
	}
	said = w.recognise(text)
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.said) >= remembered {
		clear(w.said)
	}
	w.said[text] = said
	return said
}

// recognise finds the row of a text, or the rows of its pieces: a cause stands behind a colon, several reasons between
// semicolons or commas.
func (w *words) recognise(text string) string {
	if line := strings.TrimRight(text, "\n"); line != text { // the end of a line is no part of its last word
		if said, ok := w.whole(line); ok {
			return said + text[len(line):]
		}
	}
	if said, ok := w.whole(text); ok {
		return said
	}
	if core := strings.TrimSpace(text); core != text {
		if core == "" {
			return text
		}
		lead, trail, _ := strings.Cut(text, core)
		return lead + w.say(core) + trail
	}
	if strings.Contains(text, "\n") {
		lines := strings.Split(text, "\n")
		for i, line := range lines {
			lines[i] = w.say(line)
		}
		return strings.Join(lines, "\n")
	}
	cuts := cutsOf(text)
	for _, c := range cuts {
		if said, ok := w.whole(text[c.after:]); ok {
			return w.say(text[:c.at]) + text[c.at:c.after] + said
		}
	}
	for _, c := range slices.Backward(cuts) {
		if said, ok := w.whole(text[:c.at]); ok {
			return said + text[c.at:c.after] + w.say(text[c.after:])
		}
	}
	if len(cuts) > 0 {
		return text[:cuts[0].after] + w.say(text[cuts[0].after:])
	}
	return text
}

// whole says a text that is a row, or comes of one.
func (w *words) whole(text string) (string, bool) {
	if !strings.Contains(text, " ") {
		return "", false
	}
	if w.has(text) {
		return w.print(text, nil), true
	}
	patterns := w.patterns()
	for i := range patterns {
		p := &patterns[i]
		args, ok := p.read(text)
		if !ok {
			continue
		}
		for _, v := range p.verbs {
			if v.letter == 's' {
				args[v.arg] = w.say(args[v.arg])
			}
		}
		return w.print(p.key, args), true
	}
	return "", false
}

type cut struct{ at, after int }

// mostCuts bounds the pieces of a text that is looked at.
const mostCuts = 16

// cutsOf returns where a text may be cut, from left to right.
func cutsOf(text string) []cut {
	var cuts []cut
	for i := 0; i+1 < len(text) && len(cuts) < mostCuts; i++ {
		if strings.IndexByte(";:,", text[i]) >= 0 && text[i+1] == ' ' {
			cuts = append(cuts, cut{i, i + 2})
		}
	}
	return cuts
}
