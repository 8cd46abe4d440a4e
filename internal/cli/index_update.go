package cli

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/anivault/anivault/internal/config"
	"github.com/anivault/anivault/internal/index"
	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/ui"
	"github.com/anivault/anivault/internal/version"
)

// answerTimeout is how long a server may take to begin its answer; a list itself may take its time.
const answerTimeout = 30 * time.Second

func newIndexUpdate(f *factory) *cobra.Command {
	return f.configured(&cobra.Command{
		Use:   "update",
		Short: "Fetch the lists that changed, and import them",
		Long: `Fetch Anime-Lists, AniDB's anime-titles, TMDB's daily exports and the ids that other catalogues have from the addresses in the settings index.*, and
import them. Only what changed is fetched, AniDB's titles once a day at most, as AniDB asks. An address that is "off"
is left out. The lists belong to their makers; nothing else of anivault's ever fetches them.`,
		Example: "  anivault index update\n  ANIVAULT_INDEX_TMDB_EXPORTS_URL=off anivault index update",
	}, nil, func(ctx context.Context, cfg *config.Config, _ []string, _ string) error {
		transport := http.DefaultTransport.(*http.Transport).Clone()
		transport.ResponseHeaderTimeout = answerTimeout
		defer transport.CloseIdleConnections()
		updater := index.Updater{
			Dir: cfg.Dirs.Data, Client: &http.Client{Transport: transport}, UserAgent: version.UserAgent(),
			Addresses: index.Addresses{
				AnimeLists: cfg.Index.AnimeListsURL, AniDBTitles: cfg.Index.AniDBTitlesURL, TMDBExports: cfg.Index.TMDBExportsURL,
				AnimeIDs: cfg.Index.AnimeIDsURL,
			},
			Say: func(what string) { f.say("fetching %s\n", ui.Escaped(what)) },
		}
		outcomes, err := updater.Update(ctx)
		if err != nil {
			return err
		}
		return reportUpdate(f, outcomes)
	})
}

// reportUpdate says what became of each list. One that could not be fetched makes the run incomplete.
func reportUpdate(f *factory, outcomes []index.Outcome) error {
	var failed []index.Outcome
	for _, o := range outcomes {
		switch {
		case o.Err != nil:
			failed = append(failed, o)
		case o.Unchanged:
			f.say("%s is up to date\n", o.Source)
		default:
			f.say("imported %s: %d entries, %d titles\n", o.Info.Source, o.Info.Rows, o.Info.Titles)
		}
	}
	if len(outcomes) == 0 {
		return usagef("set index.anime_lists_url, index.anidb_titles_url, index.tmdb_exports_url or index.anime_ids_url", "every address is off")
	}
	if len(failed) > 0 {
		unfetched(f, failed)
		return &failure{code: exitIncomplete}
	}
	return nil
}

// unfetched tells of each list by itself why it could not be fetched, and once what can be done.
func unfetched(f *factory, failed []index.Outcome) {
	var settings []string
	for _, o := range failed {
		complain(f.streams, lang.Textf("fetch %s: %v", o.Source, o.Err))
		if s := cmp.Or(addressSettings[o.Source], "index.tmdb_exports_url"); !slices.Contains(settings, s) {
			settings = append(settings, s)
		}
	}
	advise(f.streams, lang.Textf("check the network and run it again; another address, or off, goes into %s",
		strings.Join(settings, ", ")))
}

// addressSettings are the settings of the addresses that lists come from; TMDB's two exports lie at one address.
var addressSettings = map[index.Source]string{
	index.AnimeLists: "index.anime_lists_url", index.AniDB: "index.anidb_titles_url", index.AnimeIDs: "index.anime_ids_url",
}
