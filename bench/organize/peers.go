package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/anivault/anivault/bench/kit"
	"github.com/anivault/anivault/internal/apply"
	"github.com/anivault/anivault/internal/organize"
	"github.com/anivault/anivault/internal/organize/disk"
)

// rename is a file and the name it is to get.
type rename struct{ from, to string }

// hard are renames that are in each other's way, or in the way of what is there, and the pattern that says them to mmv.
var hard = []struct {
	name    string
	there   []string // besides the files that are renamed
	renames []rename
	pattern [2]string
	clash   bool // not all of it can be done
}{
	{"two take each other's names", nil, []rename{{"1-2", "2-1"}, {"2-1", "1-2"}}, [2]string{"?-?", "#2-#1"}, false},
	{"two want one name", nil, []rename{{"a1", "a"}, {"a2", "a"}}, [2]string{"a?", "a"}, true},
	{"the name is taken", []string{"b"}, []rename{{"b1", "b"}}, [2]string{"b?", "b"}, true},
}

// peer is a program that renames files in the folder where it is run.
type peer struct {
	name  string
	needs string // the program
	runs  func(dir string, renames []rename, pattern [2]string) []*exec.Cmd
}

func perPair(words ...string) func(string, []rename, [2]string) []*exec.Cmd {
	return func(_ string, renames []rename, _ [2]string) (out []*exec.Cmd) {
		for _, r := range renames {
			args := append(slices.Clone(words[1:]), r.from, r.to)
			out = append(out, exec.Command(words[0], args...))
		}
		return out
	}
}

var peerTable = []peer{
	{"mv, one by one", "mv", perPair("mv")},
	{"mv -n, one by one", "mv", perPair("mv", "-n")},
	{"cp -al and rm, one by one", "cp", func(_ string, renames []rename, _ [2]string) (out []*exec.Cmd) {
		for _, r := range renames {
			out = append(out, exec.Command("cp", "-al", r.from, r.to), exec.Command("rm", r.from))
		}
		return out
	}},
	{"mmv -p -t", "mmv", func(_ string, _ []rename, pattern [2]string) []*exec.Cmd {
		return []*exec.Cmd{exec.Command("mmv", "-p", "-t", pattern[0], pattern[1])}
	}},
	{"vidir", "vidir", func(dir string, renames []rename, _ [2]string) []*exec.Cmd {
		var edited strings.Builder
		args := make([]string, 0, len(renames))
		for i, r := range renames {
			fmt.Fprintf(&edited, "%d\t./%s\n", i+1, r.to)
			args = append(args, "./"+r.from)
		}
		text, editor := dir+".edited", dir+".editor"
		if os.WriteFile(text, []byte(edited.String()), 0o600) != nil || os.WriteFile(editor, []byte("#!/bin/sh\ncp '"+text+"' \"$1\"\n"), 0o700) != nil {
			return nil
		}
		cmd := exec.Command("vidir", args...)
		cmd.Env = append(os.Environ(), "VISUAL="+editor, "EDITOR="+editor)
		return []*exec.Cmd{cmd}
	}},
	{"rename (Perl)", "rename", func(_ string, renames []rename, _ [2]string) []*exec.Cmd {
		var pairs strings.Builder
		args := []string{""}
		for _, r := range renames {
			fmt.Fprintf(&pairs, "q(%s)=>q(%s),", r.from, r.to)
			args = append(args, r.from)
		}
		args[0] = "my %m = (" + pairs.String() + "); $_ = $m{$_} // $_"
		return []*exec.Cmd{exec.Command("rename", args...)}
	}},
	{"rclone moveto, one by one", "rclone", perPair("rclone", "moveto")},
	{"renamer (npm)", "renamer", func(_ string, _ []rename, _ [2]string) []*exec.Cmd { return nil }},
}

// peers lets each peer, and anivault, do renames that are in each other's way, and many that are not.
func peers(dir, bin string) error {
	all := append([]peer{{"anivault apply", bin, applies(bin)}}, peerTable...)
	easy := make([]rename, 50)
	for i := range easy {
		easy[i] = rename{fmt.Sprintf("x%03d", i), fmt.Sprintf("y%03d", i)}
	}
	fmt.Printf("\n%-28s", "peer")
	for _, h := range hard {
		fmt.Printf(" %-30s", h.name)
	}
	fmt.Printf(" %s\n", "50 files, s")
	for n, p := range all {
		fmt.Printf("%-28s", p.name)
		if _, err := exec.LookPath(p.needs); err != nil {
			fmt.Println(" is not here")
			continue
		}
		for i, h := range hard {
			said, _, err := try(filepath.Join(dir, fmt.Sprint(n, "-", i)), p, h.there, h.renames, h.pattern, h.clash)
			if err != nil {
				return err
			}
			fmt.Printf(" %-30s", said)
		}
		_, took, err := try(filepath.Join(dir, fmt.Sprint(n, "-easy")), p, nil, easy, [2]string{"x*", "y#1"}, false)
		if err != nil {
			return err
		}
		fmt.Printf(" %.3f\n", took.Seconds())
	}
	return nil
}

// try says what a peer has made of renames: "right", "n lost", "nothing done", "part done".
func try(dir string, p peer, there []string, renames []rename, pattern [2]string, clash bool) (said string, took time.Duration, err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", 0, err
	}
	names := slices.Clone(there)
	for _, r := range renames {
		names = append(names, r.from)
	}
	for _, name := range names {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(name), 0o600); err != nil {
			return "", 0, err
		}
	}
	commands := p.runs(dir, renames, pattern)
	began := time.Now()
	for _, cmd := range commands {
		cmd.Dir = dir
		_ = cmd.Run() // what became of the files says all
	}
	took = time.Since(began)
	items, err := os.ReadDir(dir)
	if err != nil {
		return "", 0, err
	}
	now := map[string]string{} // content → name
	for _, item := range items {
		text, err := os.ReadFile(filepath.Join(dir, item.Name()))
		if err != nil {
			return "", 0, err
		}
		now[string(text)] = item.Name()
	}
	lost, done := 0, 0
	for _, name := range names {
		if now[name] == "" {
			lost++
		}
	}
	for _, r := range renames {
		if now[r.from] == r.to {
			done++
		}
	}
	switch {
	case lost > 0:
		return fmt.Sprint(lost, " lost"), took, nil
	case done == len(renames):
		return "right", took, nil
	case done == 0 && clash:
		return "nothing done, nothing lost", took, nil
	case done == 0:
		return "not done", took, nil
	}
	return "part done, nothing lost", took, nil
}

// applies carries a plan of the renames out.
func applies(bin string) func(string, []rename, [2]string) []*exec.Cmd {
	return func(dir string, renames []rename, _ [2]string) []*exec.Cmd {
		text, err := planOf(dir, dir, organize.Move, renames)
		if err != nil {
			return nil
		}
		cmd := exec.Command(bin, "apply", "--quiet", "-")
		cmd.Env, cmd.Stdin = kit.Env(dir+".home", "http://127.0.0.1:9"), bytes.NewReader(text)
		return []*exec.Cmd{cmd}
	}
}

// planOf returns the text of a plan for the files of a folder.
func planOf(from, to string, verb organize.Verb, renames []rename) ([]byte, error) {
	source, err := disk.Root(from)
	if err != nil {
		return nil, err
	}
	target, err := disk.Root(to)
	if err != nil {
		return nil, err
	}
	items, err := (&disk.Disk{}).List(source.Path)
	if err != nil {
		return nil, err
	}
	p := &organize.Plan{
		ID: apply.NewID(time.Now()), Made: time.Now(), Mode: organize.ModeMove, Layout: "jellyfin",
		Sources: []organize.Root{source.Root}, Targets: []organize.Root{target.Root},
	}
	for _, r := range renames {
		i, found := slices.BinarySearchFunc(items, r.from, func(item organize.Item, name string) int { return strings.Compare(item.Name, name) })
		if !found {
			return nil, fmt.Errorf("%s is not there", r.from)
		}
		item := &items[i]
		p.Units = append(p.Units, organize.Unit{Dir: ".", Ops: []organize.Op{{
			Verb: verb, Size: item.Size, MTime: item.MTime, Inode: item.Inode, Source: r.from, To: r.to,
		}}})
	}
	var text bytes.Buffer
	err = p.Write(&text)
	return text.Bytes(), err
}
