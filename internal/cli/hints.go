package cli

import (
	"errors"

	"github.com/anivault/anivault/ratelimit"
)

// hintFor returns the line that stands below an error and says what to do about it; "" where the error
// says so itself.
func hintFor(err error) string {
	var usage *usageError
	if errors.As(err, &usage) {
		return usage.hint
	}
	var refusal *refusedError
	if errors.As(err, &refusal) {
		return refusal.hint
	}
	if errors.Is(err, ratelimit.ErrNotShared) {
		return "anivault doctor looks at the folder and its files; a process that is stopped (Ctrl-Z) has to go on or end"
	}
	return tmdbHint(err)
}

// The hint of a missing key is what most people read first, so it says everything that is needed.
const noKeyMessage = "no TMDB key is set"

const noKeyHint = `a key is free: https://www.themoviedb.org/settings/api, "API Read Access Token"
      then: export ANIVAULT_TMDB_TOKEN=...    or keep it: anivault config init
      without a key: anivault demo, anivault parse, anivault match --offline`
