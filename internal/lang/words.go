package lang

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"golang.org/x/text/language"
	"golang.org/x/text/message"
	"golang.org/x/text/message/catalog"
)

// entry is a row of the catalogue: an English text or format as it stands in the source, and what is said in its place. A
// format whose words stand in another order numbers its verbs: %[2]s.
type entry struct{ en, own string }

// words is a loaded catalogue. Arguments reach the printer as texts: it would write the year 2,023.
type words struct {
	printer  *message.Printer
	exact    map[string]bool
	patterns []pattern // formats with verbs, those with most text of their own first

	mu   sync.Mutex
	said map[string]string // texts that were recognised lately
}

// remembered bounds what words keeps: the reasons of a big library repeat.
const remembered = 4096

var korean = sync.OnceValue(func() *words { return load(language.Korean, ko()) })

func load(tag language.Tag, entries []entry) *words {
	b := catalog.NewBuilder(catalog.Fallback(tag))
	w := &words{exact: map[string]bool{}, said: map[string]string{}}
	for _, e := range entries {
		_, verbs := parse(e.en)
		if err := b.SetString(tag, e.en, asTexts(e.own)); err != nil {
			panic(fmt.Sprintf("catalogue: %q: %v", e.en, err)) // a mistake in this package
		}
		w.exact[e.en] = true
		if p := newPattern(e.en); len(verbs) > 0 && p.telling() {
			w.patterns = append(w.patterns, p)
		}
	}
	slices.SortStableFunc(w.patterns, func(a, b pattern) int { return b.weight - a.weight })
	w.printer = message.NewPrinter(tag, message.Catalog(b))
	return w
}

func (w *words) print(key string, args []string) string {
	list := make([]any, len(args))
	for i, a := range args {
		list[i] = a
	}
	return w.printer.Sprintf(key, list...)
}

func (w *words) word(s string) string {
	if w.exact[s] {
		return w.print(s, nil)
	}
	return s
}

func (w *words) sprintf(format string, args []any) string {
	if !w.exact[format] {
		return w.say(fmt.Sprintf(format, args...))
	}
	_, verbs := parse(format)
	texts := make([]string, len(args))
	for _, v := range verbs {
		if v.arg >= len(args) {
			return fmt.Sprintf(format, args...) // fmt says what is wrong with it
		}
		arg := args[v.arg]
		texts[v.arg] = fmt.Sprintf(v.plain(), arg)
		switch arg.(type) {
		case string, error, fmt.Stringer:
			if v.letter != 'q' {
				texts[v.arg] = w.say(texts[v.arg])
			}
		}
	}
	return w.print(format, texts)
}

func (w *words) say(text string) string {
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

func (w *words) recognise(text string) string {
	if !strings.Contains(text, " ") {
		return text
	}
	if w.exact[text] {
		return w.print(text, nil)
	}
	for i := range w.patterns {
		p := &w.patterns[i]
		args, ok := p.read(text)
		if !ok {
			continue
		}
		for j, v := range p.verbs {
			if v.letter == 's' {
				args[v.arg] = w.say(args[p.verbs[j].arg])
			}
		}
		return w.print(p.key, args)
	}
	// Causes stand behind a colon, several reasons between semicolons or commas.
	for _, between := range []string{"; ", ": ", ", "} {
		if left, right, ok := strings.Cut(text, between); ok {
			return w.say(left) + between + w.say(right)
		}
	}
	return text
}
