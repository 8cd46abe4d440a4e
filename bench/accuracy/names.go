package main

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
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
		fmt.Printf("\n== names of %s: percent of rows with title, season, episode and year right and nothing invented\n",
			list.file)
		printPartsHead("style")
		s.printStyles(list.apart)
		bySource, err := b.score(rows, output, "style", func(r row) string { return r.Source }, "-by", "style")
		if err != nil {
			return err
		}
		bySource.printSources()
		if err := b.note(list.file, rows, s.failed); err != nil {
			return err
		}
	}
	if err := b.otherWays(); err != nil {
		return err
	}
	fmt.Println()
	return b.speed()
}

// saidOtherwise is what the property test says of each way of writing names.
var saidOtherwise = regexp.MustCompile(
	`: ([^:]+): read otherwise are (\d+) of (\d+) read names, (\d+) of (\d+) unread ones`)

// otherWays prints how many names say the same when they are written in another way: what the property test of
// internal/release finds.
func (b *bench) otherWays() error {
	const test = "TestOtherWaysOfWritingANameSayTheSame"
	cmd := exec.Command("go", "test", "./internal/release", "-count=1", "-v", "-run", "^"+test+"$")
	cmd.Dir, cmd.Stderr = "..", os.Stderr
	text, failed := cmd.Output() // it fails above a tolerance, and says the shares all the same
	ways := saidOtherwise.FindAllStringSubmatch(string(text), -1)
	if len(ways) == 0 {
		return fmt.Errorf("%s says nothing: %w\n%s", test, failed, text)
	}
	fmt.Printf("\n== names written in other ways: percent that say the same\n")
	printPartsHead("way")
	var read, unread tally
	for _, w := range ways {
		n := make([]int, 4)
		for i := range n {
			n[i], _ = strconv.Atoi(w[i+2]) // digits
		}
		one, other := tally{n[1] - n[0], n[1]}, tally{n[3] - n[2], n[3]}
		printParts(w[1], one, other)
		read, unread = read.plus(one), unread.plus(other)
	}
	printParts("all ways", read, unread)
	if failed != nil {
		fmt.Println("more are read otherwise than the test tolerates")
	}
	return nil
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

// printSources prints what each source's names do to the figure: that of all others, how far its own is from it, and
// how far its unread rows are from its read ones, which is what falls if nobody had looked at them.
func (s *score) printSources() {
	rows := map[string]int{}
	for g, columns := range s.groups {
		rows[g.name] += columns["all4_core"].all
	}
	fmt.Printf("\n%-36s %6s %10s %8s %8s\n", "source left out", "rows", "without it", "its own", "unread")
	for _, source := range slices.Sorted(maps.Keys(rows)) {
		if rows[source] < minSourceRows {
			continue
		}
		read, unread := s.of("all4_core", func(name string) bool { return name != source })
		others := read.plus(unread)
		read, unread = s.of("all4_core", func(name string) bool { return name == source })
		fmt.Printf("%-36s %6d %10s %8s %8s\n", source, rows[source], others.percent(),
			difference(others, read.plus(unread)), difference(read, unread))
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
