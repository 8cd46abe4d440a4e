package tmdb

import (
	"cmp"
	"context"
	"fmt"
)

// GroupType is what an episode group orders by.
type GroupType int

// The types of episode groups. A series may have several groups of one type, some of them out of date.
const (
	GroupOriginalAirDate GroupType = 1
	GroupAbsolute        GroupType = 2
	GroupDVD             GroupType = 3
	GroupDigital         GroupType = 4
	GroupStoryArc        GroupType = 5
	GroupProduction      GroupType = 6
	GroupTV              GroupType = 7
)

// String names the type; unknown ones by their number.
func (t GroupType) String() string {
	names := [...]string{
		1: "original air date", 2: "absolute", 3: "dvd", 4: "digital", 5: "story arc", 6: "production", 7: "tv",
	}
	if t >= 1 && int(t) < len(names) {
		return names[t]
	}
	return fmt.Sprintf("type %d", int(t))
}

// EpisodeGroupSummary is a group as the list shows it.
type EpisodeGroupSummary struct {
	ID           string    `json:"id"` // 24 hexadecimal digits
	Name         string    `json:"name"`
	Type         GroupType `json:"type"`
	Description  string    `json:"description"`
	EpisodeCount int       `json:"episode_count"`
	GroupCount   int       `json:"group_count"`
	Network      *Network  `json:"network"`
}

// EpisodeGroups is the list of a series' groups. ID is 0 where it was appended.
type EpisodeGroups struct {
	ID      int                   `json:"id"`
	Results []EpisodeGroupSummary `json:"results"`
}

func (g *EpisodeGroups) check(ids []string) error {
	return cmp.Or(sameID(g.ID, ids[0]), listOrError(g.Results))
}

// GroupEpisode is an episode in a group: its own season and number, and its place in the part.
type GroupEpisode struct {
	Episode
	Order int `json:"order"` // from 0 in most groups
}

// GroupPart is one part of a group, a "season" of that order.
type GroupPart struct {
	ID       string         `json:"id"`
	Name     string         `json:"name"`
	Order    int            `json:"order"` // 0 is often the specials
	Locked   bool           `json:"locked"`
	Episodes []GroupEpisode `json:"episodes"`
}

// EpisodeGroup is a whole group.
type EpisodeGroup struct {
	EpisodeGroupSummary
	Groups []GroupPart `json:"groups"`
}

func (g *EpisodeGroup) check(ids []string) error {
	if g.ID != ids[0] {
		return errOtherID
	}
	return listOrError(g.Groups)
}

// EpisodeGroups calls GET /3/tv/{id}/episode_groups.
func (c *Client) EpisodeGroups(ctx context.Context, id int) (*EpisodeGroups, *Response, error) {
	return fetch[EpisodeGroups](ctx, c, fmt.Sprintf("/tv/%d/episode_groups", id), newQuery().id(id))
}

// EpisodeGroup calls GET /3/tv/episode_group/{id}.
func (c *Client) EpisodeGroup(ctx context.Context, id string, o DetailOptions) (*EpisodeGroup, *Response, error) {
	return fetch[EpisodeGroup](ctx, c, "/tv/episode_group/"+id, o.query().segment("id", id))
}
