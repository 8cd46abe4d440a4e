package organize

import (
	"cmp"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/lazyregexp"
	"github.com/anivault/anivault/internal/library"
	"github.com/anivault/anivault/internal/release"
	"github.com/anivault/anivault/internal/slicesx"
)

func (p *Planner) skipSameFolders() {
	holders := map[folderKey]*plannedEntry{}
	for _, v := range p.videos {
		e := v.entry
		if v.code != "" || e.code != "" || !p.opts.Layout.hasOwnFolder(v.work.Kind) {
			continue
		}
		first := holders[e.folder.key]
		if first == nil {
			holders[e.folder.key] = e
		} else if first != e && (v.work.Kind == "tv" || first.videos[0].work.Entry != v.work.Entry) { // no editions of a film
			why := lang.Textf("%s and %s would both be %s", first.videos[0].work.Entry, v.work.Entry, e.folder.path)
			for _, other := range slices.Concat(first.videos, e.videos) {
				if other.code == "" {
					other.skip(CodeSameFolder, why)
				}
				p.conflicts.merge(first.videos[0], other)
			}
		}
	}
	p.videos = dropSkipped(p.videos)
}

// conflictGroups maps each video to the group of videos that it conflicts with, itself included.
type conflictGroups map[*video]*[]*video

func (c conflictGroups) merge(a, b *video) {
	for _, v := range []*video{a, b} {
		if c[v] == nil {
			c[v] = &[]*video{v}
		}
	}
	if of, with := c[a], c[b]; of != with {
		*of = append(*of, *with...)
		for _, v := range *with {
			c[v] = of
		}
	}
}

func (p *Planner) labelSameNames() {
	groups := p.groupSameNames()
	if len(groups) == 0 {
		return
	}
	for _, group := range groups {
		p.labelGroup(group)
	}
	p.videos = dropSkipped(p.videos)
	for _, group := range p.groupSameNames() {
		all := slicesx.Map(group, (*video).recordPath)
		for i, v := range group {
			others := slices.Delete(slices.Clone(all), i, i+1)
			v.skip(CodeSameTarget, lang.Textf("%s would get the same name: %s",
				strings.Join(others, ", "), path.Base(v.targetStem())))
			p.conflicts.merge(group[0], v)
		}
	}
	p.videos = dropSkipped(p.videos)
}

// skipSharedEpisodes skips each file that holds several episodes, or a part, if another file holds one of these
// episodes, or the whole. It skips the other file too. The user's own template may name any two files of one episode
// differently, so they are skipped as well, unless the user wants versions.
func (p *Planner) skipSharedEpisodes() {
	isOwn := p.opts.Layout.Name == CustomLayout && !p.opts.LabelVersions
	for _, v := range p.videos {
		if len(v.work.Episodes) < 2 && !v.isPart() && (!isOwn || v.work.Kind == "movie") || v.isInPlace {
			continue
		}
		text := "%s has the same episode"
		if v.work.Kind == "movie" {
			text = "%s is the same film"
		}
		for _, other := range v.entry.videos {
			if v != other && v.sharesEpisode(other) {
				v.skip(CodeSameTarget, lang.Textf(text, other.recordPath()))
				other.skip(CodeSameTarget, lang.Textf(text, v.recordPath()))
				p.conflicts.merge(v, other)
			}
		}
	}
}

func (v *video) isPart() bool { return strings.HasPrefix(v.label, " - part") }

func (v *video) sharesEpisode(other *video) bool {
	return !other.isInPlace && (other.code == "" || other.code == CodeSameTarget) &&
		v.work.Season == other.work.Season && (v.label == other.label || v.isPart() != other.isPart()) &&
		(v.work.Kind == "movie" ||
			slices.ContainsFunc(v.work.Episodes, func(n int) bool { return slices.Contains(other.work.Episodes, n) }))
}

// groupSameNames groups the videos that would get the same name, and those of one episode: their names may differ in
// where they are shortened.
func (p *Planner) groupSameNames() [][]*video {
	named := slices.DeleteFunc(slices.Clone(p.videos), func(v *video) bool { return v.isInPlace })
	return groupDuplicates(named, func(v *video) nameKey {
		if v.work.Kind == "tv" && p.opts.Layout.Name != CustomLayout {
			number := strconv.Itoa(v.named.Season) + "x" + p.opts.Layout.formatEpisodes(v.named.Episodes)
			return nameKey{v.folder.key, number + v.label}
		}
		return v.nameKeyOf(v.targetStem())
	})
}

// groupDuplicates returns the groups of two or more items with the same key, in the order of their first items.
func groupDuplicates[T any, K comparable](items []T, keyOf func(T) K) (out [][]T) {
	counts, at := make(map[K]int, len(items)), map[K]int{}
	for _, item := range items {
		counts[keyOf(item)]++
	}
	if len(counts) == len(items) {
		return nil // as nearly always, so no groups of one are made
	}
	for _, item := range items {
		key := keyOf(item)
		if counts[key] == 1 {
			continue
		}
		i, known := at[key]
		if !known {
			i = len(out)
			at[key], out = i, append(out, nil)
		}
		out[i] = append(out[i], item)
	}
	return out
}

func (p *Planner) labelGroup(group []*video) {
	labels, kind := partLabels(group), group[0].work.Kind
	if labels == nil && p.opts.LabelVersions && (kind == "movie" || p.opts.Layout.SupportsVersions) {
		labels = versionLabels(group)
	}
	for i, label := range labels {
		v := group[i]
		if v.label += label; kind == "tv" {
			p.nameEpisode(v.entry, v)
		}
	}
	if kind == "movie" && labels != nil {
		p.nameFilms(group[0].entry.filmVideos)
	}
}

func partLabels(group []*video) []string {
	var labels []string
	for _, v := range group {
		part := v.partNumber()
		if part <= 0 {
			return nil
		}
		labels = append(labels, " - part"+strconv.Itoa(part))
	}
	return labelsIfDistinct(labels)
}

func (v *video) partNumber() int {
	return cmp.Or(cmp.Or(v.tags, &releaseTags{}).part, release.DiscInName(v.item.Name))
}

// singleDiscPattern matches a disc or part number that shows that a file holds only a part of a film or episode.
var singleDiscPattern = lazyregexp.New(
	`(?i)(?:^|[ ._(\[-])(?:cd|dis[ck])[ ._-]?(\d{1,2})(?:$|[ ._)\]-])|(?-i: - part(\d{1,2})$)`)

// singlePartPattern matches "part 2" after an episode's number, where it may also be the title of the episode.
var singlePartPattern = lazyregexp.New(`(?i)S\d{1,2}E\d{1,4}[ ._-]+(?:part|pt)[ ._-]?(\d{1,2})(?:$|[ ._)\]-])`)

func (v *video) labelSinglePart() {
	stem, n := library.Stem(v.item.Name), 0
	lower := strings.ToLower(stem)
	inName := func(word string) bool { return strings.Contains(lower, word) }
	if v.label != "" || !slices.ContainsFunc([]string{"cd", "di", "part", "pt"}, inName) {
		return // a quick check that excludes most files before the slower expressions
	}
	if m := singleDiscPattern().FindStringSubmatch(stem); m != nil {
		n, _ = strconv.Atoi(m[1] + m[2])
	} else if m := singlePartPattern().FindStringSubmatch(stem); m != nil && v.work.Kind == "tv" {
		n, _ = strconv.Atoi(m[1])
		hasOtherPart := slices.ContainsFunc(v.entry.videos, func(other *video) bool {
			return other.work.Season == v.work.Season && slices.Equal(other.work.Episodes, v.work.Episodes) &&
				other.partNumber() > 0 && other.partNumber() != n
		})
		if !hasOtherPart && (slices.Contains(v.work.Episodes, n) || strings.Contains(v.episodeTitles, strconv.Itoa(n))) {
			n = 0 // "Part 2" is the title, as in "S01E02 Part 2"
		}
	}
	if n > 0 {
		v.label = " - part" + strconv.Itoa(n)
	}
}

var versionFields = []func(*releaseTags) string{
	func(t *releaseTags) string { return t.edition },
	func(t *releaseTags) string { return t.resolution },
	func(t *releaseTags) string { return t.source },
	func(t *releaseTags) string { return t.group },
	func(t *releaseTags) string { return "v" + strconv.Itoa(max(t.version, 1)) },
}

// versionLabels returns labels such as " - [1080p]". They contain the first field that differs in all files, or else
// the first two fields that differ together, as in " - [Director's Cut 1080p]". A file without an edition needs no
// label for it.
func versionLabels(group []*video) []string {
	for _, two := range []bool{false, true} {
		for i := range versionFields {
			for k := i; k < len(versionFields); k++ {
				if labels := labelsFromFields(group, i, k); labels != nil && two == (i != k) {
					return labels
				}
			}
		}
	}
	return nil
}

func labelsFromFields(group []*video, first, second int) []string {
	var labels []string
	for i, v := range group {
		if v.tags == nil {
			return nil
		}
		var words []string
		for _, field := range slices.Compact([]int{first, second}) {
			if word := versionFields[field](v.tags); word != "" {
				words = append(words, word)
			} else if field > 0 {
				return nil
			}
		}
		labels = append(labels, "")
		if len(words) > 0 {
			labels[i] = " - [" + strings.Join(words, " ") + "]"
		}
	}
	return labelsIfDistinct(labels)
}

// labelsIfDistinct returns the labels; nil if two of them are equal.
func labelsIfDistinct(labels []string) []string {
	if len(groupDuplicates(labels, FoldName)) > 0 {
		return nil
	}
	return labels
}
