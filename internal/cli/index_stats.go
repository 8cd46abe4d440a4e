package cli

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/anivault/anivault/internal/index"
	"github.com/anivault/anivault/internal/ui"
)

// wireIndex is what the index holds, in JSON.
type wireIndex struct {
	Bytes   int64              `json:"file_bytes" doc:"size of the index"`
	Sources []index.SourceInfo `json:"sources" doc:"the lists it was made from"`
}

func (c *command) indexStatsCommand() *cobra.Command {
	return leaf(&cobra.Command{
		Use:     "stats",
		Short:   "Say what was imported, and when",
		Example: "  anivault index stats",
	}, textOrJSON, func(cmd *cobra.Command, _ []string, format string) error {
		return c.withIndex(cmd, func(x *index.Index) error {
			infos, size, err := x.Stats()
			switch {
			case err != nil:
				return err
			case format == "json":
				return c.printJSON(wireIndex{size, append([]index.SourceInfo{}, infos...)})
			}
			for _, i := range infos {
				_, err := fmt.Fprintf(c.streams.Out, "%-12s  %8d entries  %8d titles  %s  %s\n", i.Source, i.Rows, i.Titles,
					i.Imported.Local().Format(time.DateTime), ui.Printable(i.File))
				if err != nil {
					return err
				}
			}
			_, err = fmt.Fprintf(c.streams.Out, "%s in all\n", ui.Size(size))
			return err
		})
	})
}
