package cli

import (
	"errors"
	"slices"

	"github.com/spf13/cobra"

	"github.com/anivault/anivault/internal/index"
)

func (c *command) indexCommand() *cobra.Command {
	return group(&cobra.Command{
		Use:   "index",
		Short: "Know titles without asking: the local title index",
		Long: `The title index says which TMDB entry, season and offset a title is, in any script, from lists that you fetch once:
Anime-Lists' XML, AniDB's anime-titles and TMDB's daily exports. With it, match needs no search requests, works with
--offline on a library that it has never seen, finds romanised titles and places sequels.`,
		Example: "  anivault index update\n  anivault index import anime-list.xml anime-titles.xml.gz\n  anivault index lookup \"Sousou no Frieren\"\n  anivault index stats",
	}, c.indexImportCommand(), c.indexUpdateCommand(), c.indexLookupCommand(), c.indexStatsCommand())
}

// withIndex runs do on the opened index.
func (c *command) withIndex(cmd *cobra.Command, do func(*index.Index) error) error {
	cfg, err := c.load(cmd)
	if err != nil {
		return err
	}
	x, err := index.Open(cfg.Dirs.Data)
	if errors.Is(err, index.ErrNone) {
		return usagef("make one with: anivault index update, or: anivault index import FILE...", "%s", err)
	}
	if err != nil {
		return err
	}
	return errors.Join(do(x), x.Close())
}

// untied is printed where AniDB's titles are of no use by themselves.
const untied = "AniDB's titles find nothing by themselves: only Anime-Lists ties them to TMDB (anivault index update fetches it)"

// leadNowhere reports whether there are AniDB's titles, and nothing that says which entries they are.
func leadNowhere(x *index.Index) bool {
	infos, _, err := x.Stats()
	has := func(source index.Source) bool {
		return slices.ContainsFunc(infos, func(i index.SourceInfo) bool { return i.Source == source })
	}
	return err == nil && has(index.AniDB) && !has(index.AnimeLists)
}
