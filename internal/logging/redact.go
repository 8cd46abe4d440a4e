package logging

import (
	"encoding/base64"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// redacted stands where a secret was.
const redacted = "[redacted]"

// shortest is the length from which a known secret is looked for: replacing every "a" would hide the log itself.
const shortest = 6

// patterns find unknown secrets by what stands around them. The part before the secret is kept.
var patterns = []*regexp.Regexp{
	regexp.MustCompile(`(?i)((?:api[_-]?key|access[_-]?token|token|session_id|password|passwd|secret)` +
		`["']?\s*[=:]\s*["']?)[^\s&"',;}\]]+`),
	regexp.MustCompile(`(?i)(bearer\s+)[A-Za-z0-9._~+/=-]{6,}`),
	regexp.MustCompile(`(://[^/\s:@]*:)[^/\s@]+@`), // a proxy's password
	regexp.MustCompile(`()eyJ[A-Za-z0-9_-]{6,}\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*`),
}

// Redactor replaces secrets in text. It is safe for concurrent use.
type Redactor struct{ known *strings.Replacer }

// NewRedactor returns a redactor for these secrets, in every form in which they travel, and for all that looks like a
// key or a token. Empty and very short secrets are ignored.
func NewRedactor(secrets ...string) *Redactor {
	var forms []string
	for _, s := range secrets {
		if len(s) < shortest {
			continue
		}
		forms = append(forms, s, url.QueryEscape(s), url.PathEscape(s), base64.StdEncoding.EncodeToString([]byte(s)))
	}
	// a secret that contains another one goes first
	slices.SortFunc(forms, func(a, b string) int { return len(b) - len(a) })
	var pairs []string
	for _, f := range slices.Compact(forms) {
		pairs = append(pairs, f, redacted)
	}
	return &Redactor{known: strings.NewReplacer(pairs...)}
}

// String returns s with every secret replaced.
func (r *Redactor) String(s string) string {
	s = r.known.Replace(s)
	if !suspicious(s) {
		return s
	}
	for _, p := range patterns {
		s = p.ReplaceAllStringFunc(s, func(hit string) string {
			keep := p.FindStringSubmatch(hit)[1]
			rest := hit[len(keep):]
			if strings.HasPrefix(rest, "[redacted") || strings.HasPrefix(rest, "[set") { // already done
				return hit
			}
			if strings.HasSuffix(hit, "@") {
				return keep + redacted + "@"
			}
			return keep + redacted
		})
	}
	return s
}

// suspicious is a cheap test that rules most lines out.
func suspicious(s string) bool {
	return strings.ContainsAny(s, "=:") || strings.Contains(s, "eyJ") || strings.Contains(strings.ToLower(s), "bearer")
}
