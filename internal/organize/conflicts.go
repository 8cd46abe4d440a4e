package organize

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/lazyregexp"
	"github.com/anivault/anivault/internal/library"
)

func (p *Planner) skipSameFolders() {
	holders := map[nameKey]*entry{}
	for _, v := range p.videos {
		e := v.entry
		if v.code != "" || e.code != "" || e.videos[0] != v || !p.o.Layout.isOwnFolder(v.work.Kind) {
			continue
		}
		key := nameKey{v.target, e.at.key, ""}
		if first := holders[key]; first != nil {
			why := lang.Textf("%s and %s would both be %s", first.videos[0].work.Entry, v.work.Entry, e.at.path)
			for _, other := range slices.Concat(first.videos, e.videos) {
				if other.code == "" {
					other.skip(SameFolder, why)
				}
				p.conflicts.join(first.videos[0], other)
			}
			continue
		}
		holders[key] = e
	}
	p.videos = dropSkipped(p.videos)
}

type conflicts map[*video]*[]*video

func (c conflicts) join(a, b *video) {
	of, with := c[a], c[b]
	if of == nil {
		of = &[]*video{a}
		c[a] = of
	}
	switch {
	case a == b || of == with:
	case with == nil:
		*of = append(*of, b)
		c[b] = of
	default:
		*of = append(*of, *with...)
		for _, v := range *with {
			c[v] = of
		}
	}
}

func (p *Planner) labelSameNames() {
	groups := sameNames(p.videos)
	if len(groups) == 0 {
		return
	}
	for _, group := range groups {
		p.label(group)
	}
	p.videos = dropSkipped(p.videos)
	for _, group := range sameNames(p.videos) {
		var all []string
		for _, v := range group {
			all = append(all, v.path())
		}
		for i, v := range group {
			others := slices.Delete(slices.Clone(all), i, i+1)
			v.skip(SameTarget, lang.Textf("would be %s, and so would %s", path.Base(v.base()), strings.Join(others, ", ")))
			p.conflicts.join(group[0], v)
		}
	}
	p.videos = dropSkipped(p.videos)
}

func sameNames(videos []*video) [][]*video {
	named := slices.DeleteFunc(slices.Clone(videos), func(v *video) bool { return v.there })
	return groups(named, func(v *video) nameKey { return v.key(v.base()) })
}

// groups returns the groups of items that share a key, in the order of their first items.
func groups[T any, K comparable](items []T, keyOf func(T) K) [][]T {
	at := make(map[K]int, len(items))
	var out [][]T
	for _, item := range items {
		key := keyOf(item)
		i, known := at[key]
		if !known {
			i = len(out)
			at[key], out = i, append(out, nil)
		}
		out[i] = append(out[i], item)
	}
	return slices.DeleteFunc(out, func(group []T) bool { return len(group) < 2 })
}

func (p *Planner) label(group []*video) {
	labels := parts(group)
	kind := group[0].work.Kind
	if labels == nil && p.o.Versions && (kind == "movie" || p.o.Layout.versions) {
		labels = versions(group)
	}
	if labels == nil {
		return
	}
	for i, v := range group {
		v.label += labels[i]
	}
	if kind == "movie" {
		p.nameFilms(group[0].entry.work)
		return
	}
	for _, v := range group {
		p.nameEpisode(v.entry, v)
	}
}

func parts(group []*video) []string {
	var labels []string
	for _, v := range group {
		part := v.part()
		if part <= 0 {
			return nil
		}
		labels = append(labels, " - part"+strconv.Itoa(part))
	}
	return distinct(labels)
}

func (v *video) part() int {
	read := 0
	if v.tags != nil {
		read = v.tags.part
	}
	return partOf(v.item.Name, read)
}

func partOf(name string, read int) int {
	if m := disc().FindStringSubmatch(library.Stem(name)); read <= 0 && m != nil {
		read, _ = strconv.Atoi(m[1])
	}
	return read
}

// singleDisc matches a disc number, or a part as plans write it. Either shows that a file holds only part of a film or
// episode.
var singleDisc = lazyregexp.New(
	`(?i)(?:^|[ ._(\[-])(?:cd|dis[ck])[ ._-]?(\d{1,2})(?:$|[ ._)\]-])|(?-i: - part(\d{1,2})$)`)

// singlePart matches a part number directly after the episode's number. It may also be the episode's title.
var singlePart = lazyregexp.New(`(?i)S\d{1,2}E\d{1,4}[ ._-]+(?:part|pt)[ ._-]?(\d{1,2})(?:$|[ ._)\]-])`)

func (v *video) labelSinglePart() {
	if v.label != "" {
		return
	}
	stem, n := library.Stem(v.item.Name), 0
	lower := strings.ToLower(stem)
	inName := func(word string) bool { return strings.Contains(lower, word) }
	if !slices.ContainsFunc([]string{"cd", "di", "part", "pt"}, inName) {
		return // most files: this check is quicker than the expressions
	}
	if m := singleDisc().FindStringSubmatch(stem); m != nil {
		n, _ = strconv.Atoi(m[1] + m[2])
	} else if m := singlePart().FindStringSubmatch(stem); m != nil && v.work.Kind == "tv" {
		n, _ = strconv.Atoi(m[1])
		if slices.Contains(v.work.Episodes, n) || strings.Contains(v.titles, strconv.Itoa(n)) {
			n = 0 // "S01E02 Part 2"
		}
	}
	if n > 0 {
		v.label = " - part" + strconv.Itoa(n)
	}
}

var disc = lazyregexp.New(`(?i)(?:^|[ ._(\[-])(?:cd|dis[ck]|dvd|part|pt)[ ._-]?(\d{1,2})(?:$|[ ._)\]-])`)

var versionFields = []func(*tags) string{
	func(t *tags) string { return t.edition },
	func(t *tags) string { return t.resolution },
	func(t *tags) string { return t.source },
	func(t *tags) string { return t.group },
	func(t *tags) string { return "v" + strconv.Itoa(max(t.version, 1)) },
}

// versions returns labels such as " - [1080p]", from the first field that differs in all files, or from the first two
// that do together: " - [Director's Cut 1080p]". A file without an edition gets no label for it.
func versions(group []*video) []string {
	for i := range versionFields {
		if labels := labelsBy(group, i, i); labels != nil {
			return labels
		}
	}
	for i := range versionFields {
		for k := i + 1; k < len(versionFields); k++ {
			if labels := labelsBy(group, i, k); labels != nil {
				return labels
			}
		}
	}
	return nil
}

func labelsBy(group []*video, first, second int) []string {
	var labels []string
	for _, v := range group {
		var words []string
		for _, field := range slices.Compact([]int{first, second}) {
			word := ""
			if v.tags != nil {
				word = versionFields[field](v.tags)
			}
			if word == "" && (field > 0 || v.tags == nil) {
				return nil
			}
			if word != "" {
				words = append(words, word)
			}
		}
		label := ""
		if len(words) > 0 {
			label = " - [" + strings.Join(words, " ") + "]"
		}
		labels = append(labels, label)
	}
	return distinct(labels)
}

func distinct(labels []string) []string {
	seen := map[string]bool{}
	for _, l := range labels {
		if seen[FoldName(l)] {
			return nil
		}
		seen[FoldName(l)] = true
	}
	return labels
}

// skipCollisions skips units whose targets are taken, and units with the same target. It repeats that until nothing
// changes, because a skipped file keeps its name.
func (p *Planner) skipCollisions() {
	for changed := true; changed; {
		p.videos = dropSkipped(p.videos)
		changed = p.skipTaken()
		changed = p.skipSameTargets() || changed
	}
}

func (p *Planner) skipTaken() (changed bool) {
	var moves map[string]bool
	for v, blockers := range p.waitsFor {
		for _, blocker := range blockers {
			if moves == nil {
				moves = freed(p.videos)
			}
			if v.code == "" && !moves[blocker] {
				v.skip(Exists, lang.Textf("%s", blocker))
				changed = true
			}
		}
	}
	return changed
}

func freed(videos []*video) map[string]bool {
	out := map[string]bool{}
	for _, v := range videos {
		for i := range v.ops {
			if v.ops[i].Verb == Move {
				out[join(v.dir.path, v.ops[i].Source)] = true
			}
		}
	}
	return out
}

func (p *Planner) skipSameTargets() (changed bool) {
	wanted := make(map[nameKey]*video, len(p.videos))
	for _, v := range p.videos {
		if v.code != "" {
			continue
		}
		for i := range v.ops {
			key := v.key(v.ops[i].To)
			first := wanted[key]
			if first == nil {
				wanted[key] = v
				continue
			}
			const why = "a file of its unit would be %s, and so would one of %s"
			name := path.Base(v.ops[i].To)
			v.skip(SameTarget, lang.Textf(why, name, first.path()))
			first.skip(SameTarget, lang.Textf(why, name, v.path()))
			p.conflicts.join(first, v)
			changed = true
		}
	}
	return changed
}
