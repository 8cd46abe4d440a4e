package main

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// snapshot marks rows whose truth is what another program read from them.
const snapshot = "snapshot"

// nameLists are the files of names to read. In some the snapshots are a group of their own.
var nameLists = []struct {
	file  string
	apart bool
}{{"parse_dev.jsonl", false}, {"parse_dev2.jsonl", true}}

// nameColumns are the scorer's columns that are printed for all styles together.
var nameColumns = []struct{ label, column string }{
	{"title", "title_core"},
	{"season", "season"},
	{"episode", "episode"},
	{"year", "year"},
	{"group", "group"},
	{"nothing invented", "fp"},
}

// names scores what is read from names: title, season, episode and year right, and nothing invented.
func (b *bench) names() error {
	for _, list := range nameLists {
		rows, err := readRows(b.file(list.file))
		if err != nil {
			return err
		}
		rows = slices.DeleteFunc(rows, func(r row) bool { return slices.Contains(r.Flags, "see") })
		output, err := b.parse(rows)
		if err != nil {
			return err
		}
		s, err := b.score(rows, output, "style", func(r row) string {
			if list.apart && r.Trust == snapshot {
				return snapshot
			}
			return r.Style
		}, "-by", "style")
		if err != nil {
			return err
		}
		fmt.Printf("\n== names of %s: percent of rows with title, season, episode and year right and nothing invented\n", list.file)
		printPartsHead("style")
		s.printStyles(list.apart)
		if err := b.note(list.file, rows, s.failed); err != nil {
			return err
		}
	}
	fmt.Println()
	return b.speed()
}

func (s *score) printStyles(apart bool) {
	const whole = "all4_core"
	styles := map[string]bool{}
	for g := range s.groups {
		styles[g.name] = true
	}
	own := func(name string) bool { return !apart || name != snapshot }
	line := func(label, column string, want func(string) bool) {
		read, unread := s.of(column, want)
		printParts(label, read, unread)
	}
	for _, style := range slices.Sorted(maps.Keys(styles)) {
		if own(style) {
			line(style, whole, func(name string) bool { return name == style })
		}
	}
	line("all styles", whole, own)
	for _, c := range nameColumns {
		line("   "+c.label, c.column, own)
	}
	if apart {
		line("snapshots of another program", whole, func(name string) bool { return name == snapshot })
		line("all rows", whole, anything)
	}
}

// parse returns what anivault reads from names, one line for each.
func (b *bench) parse(rows []row) ([]byte, error) {
	cmd := exec.Command(b.anivault, "parse", "--format", "ndjson")
	cmd.Stdin, cmd.Stderr = inputs(rows), os.Stderr
	return cmd.Output()
}

// inputs returns the names, one a line.
func inputs(rows []row) *bytes.Buffer {
	var in bytes.Buffer
	clean := strings.NewReplacer("\n", " ", "\r", " ")
	for _, r := range rows {
		in.WriteString(clean.Replace(r.Input))
		in.WriteByte('\n')
	}
	return &in
}

// speed prints how many names are read in a second.
func (b *bench) speed() error {
	text, err := exec.Command(b.scorer, "-in", b.file(nameLists[0].file), "-bench", "20", "--",
		b.anivault, "parse", "--format", "ndjson").Output()
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "speed:") {
			fmt.Print(line)
		}
	}
	return err
}
