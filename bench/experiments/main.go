// Command experiments repeats three published experiments with the limiter of this project beside their own clients,
// and shows the trap of overload that feeds on itself. It writes the tables of docs/experiments.md.
//
//	go run -C bench ./experiments [-only quota,retries,shared,trap] [-seeds 5] [-print]
//
// Everything runs in virtual time.
package main

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/anivault/anivault/bench/virtual"
)

const page = "../docs/experiments.md"

func main() {
	only := flag.String("only", "quota,retries,shared,trap", "experiments to run, separated by commas")
	seeds := flag.Int("seeds", 5, "runs of each client; retries has one")
	show := flag.Bool("print", false, "print the tables instead of writing them into the page")
	flag.Parse()
	virtual.Main("experiments", func(together virtual.Together) error {
		for _, e := range []struct {
			name string
			run  func() []string
		}{
			{"quota", func() []string { return quotaTable(together, *seeds) }},
			{"retries", func() []string { return retryTable(together) }},
			{"shared", func() []string { return sharedTable(together, *seeds) }},
			{"trap", func() []string { return trapTable(together, *seeds) }},
		} {
			if !slices.Contains(strings.Split(*only, ","), e.name) {
				continue
			}
			table := strings.Join(e.run(), "\n") + "\n"
			if *show {
				fmt.Printf("%s\n\n%s\n", e.name, table)
				continue
			}
			if err := write(e.name, table); err != nil {
				return err
			}
		}
		return nil
	})
}

// write replaces a table of the page.
func write(name, table string) error {
	raw, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	begin, end := fmt.Sprintf("<!-- %s: begin -->\n", name), fmt.Sprintf("<!-- %s: end -->", name)
	before, rest, ok := strings.Cut(string(raw), begin)
	_, after, ended := strings.Cut(rest, end)
	if !ok || !ended {
		return fmt.Errorf("%s has no place for the table %q", page, name)
	}
	return os.WriteFile(page, []byte(before+begin+"\n"+table+"\n"+end+after), 0o644) //nolint:gosec // a document
}
