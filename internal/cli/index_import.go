package cli

import (
	"github.com/spf13/cobra"

	"github.com/anivault/anivault/internal/index"
	"github.com/anivault/anivault/internal/ui"
)

func (c *command) indexImportCommand() *cobra.Command {
	return leaf(&cobra.Command{
		Use:   "import FILE...",
		Short: "Import lists into the title index",
		Long: `Import Anime-Lists' XML, AniDB's anime-titles (.xml or .dat) and TMDB's exports of ids (tv_series_ids, movie_ids),
gzipped or not; what each file is, its content says. A list that is imported again replaces what it was before.
If one file is damaged, nothing is imported.`,
		Example: "  anivault index import anime-list.xml anime-titles.dat.gz\n  anivault index import tv_series_ids_*.json.gz movie_ids_*.json.gz",
		Args:    atLeastOne("FILE", "for example: anivault index import anime-list.xml anime-titles.xml.gz"),
	}, nil, func(cmd *cobra.Command, args []string, _ string) error {
		cfg, err := c.load(cmd)
		if err != nil {
			return err
		}
		infos, err := index.Import(cmd.Context(), cfg.Dirs.Data, args...)
		if err != nil {
			return err
		}
		for _, info := range infos {
			c.say("imported %s from %s: %d entries, %d titles\n", info.Source, ui.Printable(info.File), info.Rows, info.Titles)
		}
		x, err := index.Open(cfg.Dirs.Data)
		if err != nil {
			return err
		}
		if leadNowhere(x) {
			c.say("note: %s\n", untied)
		}
		return x.Close()
	})
}
