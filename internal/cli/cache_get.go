package cli

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"github.com/anivault/anivault/cache"
	"github.com/anivault/anivault/internal/ui"
)

func (c *command) cacheGetCommand() *cobra.Command {
	return c.onCache(&cobra.Command{
		Use:     "get KEY|URL",
		Short:   "Print a cached answer's body",
		Example: `  anivault cache get "https://api.themoviedb.org/3/movie/149?append_to_response=alternative_titles%2Ctranslations%2Cexternal_ids&language=en-US"`,
		Args:    exactArgs("KEY|URL"),
	}, nil, func(ctx context.Context, store *cache.Store, args []string, _ string) error {
		key, ok := cache.ParseKey(args[0])
		if !ok {
			return usagef("anivault cache list shows the keys", "%s is neither a key nor a URL", ui.Printable(args[0]))
		}
		e, found, err := store.Get(ctx, key)
		switch {
		case err != nil:
			return err
		case !found:
			return &exitError{exitIncomplete, usagef("anivault cache list shows the keys; all that follows the ? belongs to a key",
				"nothing is cached under %s", ui.Printable(shownKey(key)))}
		}
		body := string(e.Body)
		if c.streams.OutTTY {
			body = ui.EscapedLines(body)
		}
		_, err = fmt.Fprintln(c.streams.Out, body)
		return err
	})
}

// shownKey is a key as a person writes its URL.
func shownKey(key string) string {
	key = strings.TrimPrefix(key, "GET ")
	if u, err := url.Parse(key); err == nil && (u.Scheme == "https" && u.Port() == "443" || u.Scheme == "http" && u.Port() == "80") {
		u.Host = strings.TrimSuffix(u.Host, ":"+u.Port())
		return u.String()
	}
	return key
}
