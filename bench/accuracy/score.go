package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// score is what the evaluation's scorer says of rows: by group, by whether they are unread, by column.
type score struct {
	groups map[group]map[string]tally
	failed map[int][]byte // by place among the rows: what is wrong with it
}

type group struct {
	name   string
	unread bool
}

// tally counts right rows among those that say something.
type tally struct{ right, all int }

func (t tally) plus(o tally) tally { return tally{t.right + o.right, t.all + o.all} }

// percent returns the share of right rows, "-" for none.
func (t tally) percent() string {
	if t.all == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f", 100*t.share())
}

func (t tally) share() float64 { return float64(t.right) / float64(t.all) }

// of returns the tallies of a column over the groups that are asked for, of the read rows and of the unread ones.
func (s *score) of(column string, want func(name string) bool) (read, unread tally) {
	for g, columns := range s.groups {
		switch {
		case !want(g.name):
		case g.unread:
			unread = unread.plus(columns[column])
		default:
			read = read.plus(columns[column])
		}
	}
	return read, unread
}

const unreadMark = "|unread"

// score runs the evaluation's scorer over the output that a program gave for the rows, one line for each. groupOf names
// the group of a row; label is the field by which the scorer groups.
func (b *bench) score(rows []row, output []byte, label string, groupOf func(row) string,
	args ...string,
) (*score, error) {
	dir, err := os.MkdirTemp(b.tmp, "score-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	in, out := filepath.Join(dir, "rows"), filepath.Join(dir, "output")
	tallies, failures := filepath.Join(dir, "tallies"), filepath.Join(dir, "failures")
	var labelled bytes.Buffer
	for i, r := range rows {
		fields := map[string]any{}
		if err := json.Unmarshal(r.raw, &fields); err != nil {
			return nil, err
		}
		fields["id"], fields[label] = strconv.Itoa(i), groupOf(r)
		if r.unread() {
			fields[label] = groupOf(r) + unreadMark
		}
		if err := json.NewEncoder(&labelled).Encode(fields); err != nil {
			return nil, err
		}
	}
	for name, content := range map[string][]byte{in: labelled.Bytes(), out: output} {
		if err := os.WriteFile(name, content, 0o600); err != nil {
			return nil, err
		}
	}
	args = append(args, "-in", in, "-json", tallies, "-errors", failures, "--", "cat", out)
	if text, err := exec.Command(b.scorer, args...).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("scorer: %w: %s", err, text)
	}
	s := &score{groups: map[group]map[string]tally{}, failed: map[int][]byte{}}
	return s, s.read(tallies, failures)
}

// read takes the scorer's files in.
func (s *score) read(tallies, failures string) error {
	raw, err := os.ReadFile(tallies)
	if err != nil {
		return err
	}
	var groups map[string]map[string][2]int
	if err := json.Unmarshal(raw, &groups); err != nil {
		return err
	}
	for name, columns := range groups {
		if name == "ALL" || strings.HasPrefix(name, "+") { // they count rows of other groups again
			continue
		}
		g := group{strings.TrimSuffix(name, unreadMark), strings.HasSuffix(name, unreadMark)}
		s.groups[g] = map[string]tally{}
		for column, n := range columns {
			s.groups[g][column] = tally{n[0], n[1]}
		}
	}
	raw, err = os.ReadFile(failures)
	if err != nil {
		return err
	}
	lines := bufio.NewScanner(bytes.NewReader(raw))
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var f struct {
			ID int `json:"id,string"`
		}
		if err := json.Unmarshal(lines.Bytes(), &f); err != nil {
			return err
		}
		s.failed[f.ID] = bytes.Clone(lines.Bytes())
	}
	return lines.Err()
}

// note appends what went wrong to the file that was asked for. The unread rows stay unread.
func (b *bench) note(run string, rows []row, failed map[int][]byte) error {
	if b.errors == "" {
		return nil
	}
	f, err := os.OpenFile(b.errors, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer f.Close()
	for i, r := range rows {
		if what, ok := failed[i]; ok && !r.unread() {
			if _, err := fmt.Fprintf(f, "{\"run\":%q,\"row\":%q,\"failure\":%s}\n", run, r.ID, what); err != nil {
				return err
			}
		}
	}
	return nil
}

// anything is a condition that every group meets.
func anything(string) bool { return true }

// printParts prints a line of four columns: all rows, those that are read, those that are not, and how far these are
// apart.
func printParts(label string, read, unread tally) {
	fmt.Printf("%-36s %6d %7s   %6d %7s   %6d %7s %8s\n", label, read.all+unread.all, read.plus(unread).percent(),
		read.all, read.percent(), unread.all, unread.percent(), difference(read, unread))
}

func difference(read, unread tally) string {
	if read.all == 0 || unread.all == 0 {
		return "-"
	}
	return fmt.Sprintf("%+.2f", 100*(unread.share()-read.share()))
}

func printPartsHead(label string) {
	fmt.Printf("%-36s %6s %7s   %6s %7s   %6s %7s %8s\n", label, "rows", "all", "rows", "read", "rows", "unread", "apart")
}
