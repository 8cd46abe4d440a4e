package cli

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/anivault/anivault/cache"
	"github.com/anivault/anivault/internal/atomicfile"
)

func (c *command) cacheExportCommand() *cobra.Command {
	return c.onCache(&cobra.Command{
		Use:     "export [FILE]",
		Short:   "Write the whole cache as NDJSON (to stdout without FILE)",
		Example: "  anivault cache export backup.ndjson\n  anivault cache export | zstd > backup.ndjson.zst",
		Args:    atMostOne("FILE"),
	}, nil, func(ctx context.Context, store *cache.Store, args []string, _ string) (err error) {
		n := 0
		write := func(out io.Writer) error {
			n, err = store.Export(ctx, out)
			return err
		}
		if len(args) == 0 || args[0] == "-" {
			err = write(c.streams.Out)
		} else {
			err = atomicfile.Write(args[0], 0o600, write)
		}
		if err == nil {
			c.say("exported %d records: %s\n", n, recordKinds)
		}
		return err
	})
}
