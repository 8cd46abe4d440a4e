// Command anivault finds out which TMDB entry, season and episode each video file is.
package main

import (
	"context"
	"os"

	"github.com/anivault/anivault/internal/cli"
	"github.com/anivault/anivault/internal/ui"
)

func main() { os.Exit(cli.Main(context.Background(), os.Args[1:], ui.SystemStreams())) }
