package docs_test

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Every link of a page leads to a file and a heading that exist. Pages in docs link to each other and to addresses, so
// that a static site can show the folder as it is.
func TestPagesLinkToWhatExists(t *testing.T) {
	pages, _ := filepath.Glob("*.md")
	more, _ := filepath.Glob("../*.md")
	if len(pages) < 10 || len(more) < 4 {
		t.Fatalf("only %q and %q", pages, more)
	}
	link := regexp.MustCompile(`\]\(([^()\s]+)\)`)
	for _, page := range append(pages, more...) {
		text := withoutCode(read(t, page))
		for _, found := range link.FindAllStringSubmatch(text, -1) {
			target, anchor, _ := strings.Cut(found[1], "#")
			if at, ours := strings.CutPrefix(target, "https://github.com/anivault/anivault/blob/main/"); ours {
				target = "../" + at
			} else if strings.Contains(target, "://") {
				continue
			} else if target != "" {
				target = filepath.Join(filepath.Dir(page), target)
				if filepath.Dir(page) == "." && strings.HasPrefix(target, "..") {
					t.Errorf("%s links to %s, which is outside docs", page, found[1])
				}
			} else {
				target = page
			}
			if !exists(target) {
				t.Errorf("%s links to %s, which does not exist", page, found[1])
			} else if anchor != "" && !headings(read(t, target))[anchor] {
				t.Errorf("%s links to %s, which has no such heading", page, found[1])
			}
		}
	}
}

func withoutCode(markdown string) string {
	return regexp.MustCompile("(?s)```.*?```|`[^`\n]*`").ReplaceAllString(markdown, "")
}

// headings returns the anchors that GitHub gives to the headings of a page.
func headings(markdown string) map[string]bool {
	anchors := map[string]bool{}
	markdown = regexp.MustCompile("(?s)```.*?```").ReplaceAllString(markdown, "")
	for _, heading := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(markdown, -1) {
		anchor := strings.ReplaceAll(strings.ToLower(heading[1]), " ", "-")
		anchors[regexp.MustCompile(`[^\p{L}\p{N}_-]`).ReplaceAllString(anchor, "")] = true
	}
	return anchors
}
