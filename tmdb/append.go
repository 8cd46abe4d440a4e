package tmdb

import (
	"cmp"
	"context"
	"slices"
	"strconv"
)

// MaxAppends is how many items TMDB accepts in one append_to_response; more are answered with 400, code 27.
const MaxAppends = 20

// What can be appended and is decoded. Other items may be appended too; the answer then holds more than the types
// here show.
const (
	AppendAlternativeTitles = "alternative_titles"
	AppendTranslations      = "translations"
	AppendEpisodeGroups     = "episode_groups" // series only
	AppendExternalIDs       = "external_ids"
)

// AppendSeason names season n of a series.
func AppendSeason(n int) string { return seasonKey + strconv.Itoa(n) }

// TVComplete reads a series with all its seasons, in as few requests as possible: one for a series of up to 20 −
// len(o.Append) seasons, counting season 0. The first request asks for o.Append and, blindly, for the seasons from 0
// on that still fit; TMDB leaves out those it does not have. What the answer then lists beyond them is asked for in
// further requests, whose seasons are added to AppendedSeasons. A season that was asked for and left out is not asked
// for again.
//
// When a later request fails, the series as far as it was read comes back together with the error. The responses are
// those of the requests made, in order; the last belongs to the error.
func (c *Client) TVComplete(ctx context.Context, id int, o DetailOptions) (*TVDetails, []*Response, error) {
	items := dedupe(o.Append)
	asked := make(map[string]bool)
	for _, item := range items {
		asked[item] = true
	}
	for n := 0; len(items) < MaxAppends; n++ {
		if item := AppendSeason(n); !asked[item] {
			items = append(items, item)
			asked[item] = true
		}
	}

	first, items := items[:MaxAppends], items[MaxAppends:]
	whole, resp, err := c.TV(ctx, id, DetailOptions{Language: o.Language, Append: first})
	responses := []*Response{resp}
	if err != nil {
		return nil, responses, err
	}
	for _, s := range whole.Seasons {
		if item := AppendSeason(s.SeasonNumber); s.SeasonNumber >= 0 && !asked[item] {
			items = append(items, item)
			asked[item] = true
		}
	}
	for part := range slices.Chunk(items, MaxAppends) {
		more, resp, err := c.TV(ctx, id, DetailOptions{Language: o.Language, Append: part})
		responses = append(responses, resp)
		if err != nil {
			return whole, responses, err
		}
		whole.add(more)
	}
	return whole, responses, nil
}

// add takes over what a further request appended.
func (d *TVDetails) add(more *TVDetails) {
	for n, season := range more.AppendedSeasons {
		d.appendSeason(n, season)
	}
	d.AlternativeTitles = cmp.Or(more.AlternativeTitles, d.AlternativeTitles)
	d.Translations = cmp.Or(more.Translations, d.Translations)
	d.ExternalIDs = cmp.Or(more.ExternalIDs, d.ExternalIDs)
	d.EpisodeGroups = cmp.Or(more.EpisodeGroups, d.EpisodeGroups)
}

func (d *TVDetails) appendSeason(n int, season *Season) {
	if d.AppendedSeasons == nil {
		d.AppendedSeasons = make(map[int]*Season)
	}
	d.AppendedSeasons[n] = season
}

func dedupe(items []string) []string {
	var out []string
	for _, item := range items {
		if !slices.Contains(out, item) {
			out = append(out, item)
		}
	}
	return out
}
