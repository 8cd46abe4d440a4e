package match

import (
	"cmp"
	"math"
	"slices"
	"unicode/utf8"

	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/release"
	"github.com/anivault/anivault/internal/title"
)

// The calibration has two parts that are multiplied. The first is the chance that an entry of this score is right at
// all: a logistic curve over the score, lower where no title is equal. The second is the contender's share among all,
// where a lead of 1/calLead over a rival is worth a factor of e. With no lead over one equal rival the share is a half:
// then it is a guess, however good the title.
//
// The numbers were fitted by maximum likelihood on the development names, once as they are and once with every right
// entry hidden from the search, so that three in a hundred titles are ones that TMDB lacks. Then they were rounded to
// the cautious side (docs/matching.md has the table of predicted and measured confidences).
const (
	calConstant = -12.2
	calScore    = 17.0
	calTop      = 1.2 // a higher score proves nothing
	calLead     = 21.0
	calInexact  = 2.0
)

// verdict is a ranking of contenders and the confidence that the first one is right.
type verdict struct {
	ranked     []scored
	confidence float64
}

// choose ranks the contenders by score, then popularity, then id, never by TMDB's order, and estimates the confidence
// of the first one.
func choose(all []scored) verdict {
	v := verdict{ranked: slices.Clone(all)}
	slices.SortStableFunc(v.ranked, func(a, b scored) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(b.hit.Popularity, a.hit.Popularity),
			cmp.Compare(a.hit.Kind, b.hit.Kind), cmp.Compare(a.hit.ID, b.hit.ID))
	})
	if len(v.ranked) > 0 {
		v.confidence = confidenceOf(v.ranked, 0)
	}
	return v
}

// confidenceOf estimates the chance that the contender at i of a ranked list is right.
func confidenceOf(ranked []scored, i int) float64 {
	own := ranked[i].score
	rivals := 1.0
	for j, o := range ranked {
		if j != i {
			rivals += math.Exp(calLead * (o.score - own))
		}
	}
	return ranked[i].likely() / rivals
}

// likely estimates the chance that an entry of this score is right at all, whoever its rivals are.
func (c scored) likely() float64 {
	x := calConstant + calScore*min(c.score, calTop)
	if c.like.sim < almostExact {
		x -= calInexact
	}
	return 1 / (1 + math.Exp(-x))
}

// contradicted reports whether the titles of a name in two scripts disagree about an entry: the one that agrees is a
// mere word without spaces, or a piece of a longer title, which works may share, and one in the other script is like
// none of the entry's.
func (c scored) contradicted(s question) bool {
	read := c.like.read.Text
	own := spaceless(read)
	i := slices.IndexFunc(s.Titles, func(r release.Title) bool { return r.Text == read })
	shared := own && utf8.RuneCountInString(read) < leastPhrase || i > 0 && PieceOf(s.Titles, i)
	if c.entry == nil || c.like.agreed > 1 || !shared {
		return false
	}
	return slices.ContainsFunc(s.read, func(r reading) bool {
		alike := func(t named) bool { return title.Similarity(r.norm, t.norm) >= leastAlike }
		return r.From == release.FromName && spaceless(r.Text) != own && !slices.ContainsFunc(c.titles, alike)
	})
}

// maxCandidates bounds the list in a record.
const maxCandidates = 5

func candidates(ranked []scored) []Candidate {
	var out []Candidate
	for i, c := range ranked {
		if i == maxCandidates || c.like.sim < leastAlike && i > 0 {
			break
		}
		reasons := slices.Clone(c.reasons)
		slices.SortStableFunc(reasons, func(a, b Reason) int { return cmp.Compare(math.Abs(b.Weight), math.Abs(a.Weight)) })
		out = append(out, Candidate{
			Kind: c.hit.Kind, ID: c.hit.ID, Title: c.hit.Title, Year: c.hit.Year, Score: c.score,
			Confidence: confidenceOf(ranked, i), Reasons: reasons,
		})
	}
	return out
}

func doubt(v verdict) lang.Text {
	best := v.ranked[0]
	if len(v.ranked) > 1 && best.likely() >= 0.5 && best.score-v.ranked[1].score < 1/calLead {
		return lang.Textf("%q and %q fit about equally", best.hit.Title, v.ranked[1].hit.Title)
	}
	return lang.Textf("the nearest title is %q, which is not near enough", best.like.title.text)
}
