// Package kit holds what the benchmarks share: the line about the machine, the
// program that is measured, and its environment.
package kit

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/anivault/anivault/internal/tmdbfake"
	"github.com/anivault/anivault/internal/tmdbfake/catalogfile"
)

// Machine returns a line about the machine and its load: figures are worth little
// without it.
func Machine() string {
	return fmt.Sprintf("%d cores, load %s, %s %s/%s, %s UTC", runtime.NumCPU(), Load(), runtime.Version(), runtime.GOOS,
		runtime.GOARCH, time.Now().UTC().Format("2006-01-02 15:04"))
}

// Load returns the load averages, "unknown" where the system has none.
func Load() string {
	raw, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	words := strings.Fields(string(raw))
	return strings.Join(words[:min(3, len(words))], " ")
}

// Anivault returns the program to measure: bin, or if that is "" one built from
// this repository into dir. It has to be called in the folder bench.
func Anivault(ctx context.Context, dir, bin string) (string, error) {
	if bin != "" {
		return filepath.Abs(bin)
	}
	bin = filepath.Join(dir, "anivault")
	if runtime.GOOS == "windows" {
		bin += ".exe"
	}
	return bin, Build(ctx, "..", bin, "./cmd/anivault")
}

// Build builds a package of the module in dir into a file.
func Build(ctx context.Context, dir, to, pkg string) error {
	build := exec.CommandContext(ctx, "go", "build", "-C", dir, "-o", to, pkg)
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return fmt.Errorf("build %s (run this from bench): %w", pkg, err)
	}
	return nil
}

// StandIn starts a stand-in for TMDB, which the caller closes.
func StandIn(c tmdbfake.Config) (*tmdbfake.Fake, *tmdbfake.Server, error) {
	fake, err := tmdbfake.New(c)
	if err != nil {
		return nil, nil, err
	}
	server, err := fake.Listen("127.0.0.1:0")
	return fake, server, err
}

// Env returns the environment of a user whose home is a folder of the benchmark and
// who asks the stand-in at url. No setting of the real user is in it.
func Env(home, url string) []string {
	env := slices.DeleteFunc(os.Environ(), func(v string) bool {
		return strings.HasPrefix(v, "ANIVAULT_") || strings.HasPrefix(v, "XDG_")
	})
	return append(env, "HOME="+home, "ANIVAULT_TMDB_BASE_URL="+url, "ANIVAULT_TMDB_TOKEN=bench-token")
}

// Quantile returns the value below which the share q of all values lies; q is from
// 0 to 1.
func Quantile[T cmp.Ordered](values []T, q float64) T {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[min(int(q*float64(len(sorted))), len(sorted)-1)]
}

// Fairness returns Jain's index: 1 if all have the same, 1/n if one has all.
func Fairness(shares []int) float64 {
	var sum, squares float64
	for _, n := range shares {
		sum += float64(n)
		squares += float64(n) * float64(n)
	}
	if squares == 0 {
		return 0
	}
	return sum * sum / (float64(len(shares)) * squares)
}

// Usage is what a process took.
type Usage struct {
	Took, CPU time.Duration
	Peak      int64 // bytes of memory
}

// Run runs a process to its end and measures it.
func Run(cmd *exec.Cmd) (Usage, error) {
	start := time.Now()
	err := cmd.Run()
	u := Usage{Took: time.Since(start)}
	if s := cmd.ProcessState; s != nil {
		u.CPU, u.Peak = s.UserTime()+s.SystemTime(), peak(s)
	}
	return u, err
}

// Catalogue returns a catalogue of series that are called by [Title], with ids from first on.
func Catalogue(series, first, episodes int) (*tmdbfake.Catalogue, error) {
	var lines strings.Builder
	for i := range series {
		fmt.Fprintf(&lines, `{"kind":"tv","tmdb_id":%d,"titles":[{"lang":"en","type":"main","title":%q}],`+
			`"year":%d,"seasons":[{"season":1,"episodes":%d}]}`+"\n", first+i, Title(i), 1970+i%50, episodes)
	}
	return catalogfile.Read(strings.NewReader(lines.String()))
}

// Library creates empty files of invented series whose titles begin with a name.
func Library(dir, name string, series int) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for i := range series {
		file := fmt.Sprintf("[Group] %s %s - 01 [1080p].mkv", name, word(i))
		if err := os.WriteFile(filepath.Join(dir, file), nil, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// word writes a number as a word: digits could be read as a season.
func word(i int) string {
	syllables := []string{"ba", "cu", "do", "fe", "gi", "ka", "lu", "mo", "ne", "pi"}
	var b strings.Builder
	for _, c := range fmt.Sprintf("%05d", i) {
		b.WriteString(syllables[c-'0'])
	}
	return b.String()
}

// Title returns a made-up title that no other number below ten thousand has.
func Title(n int) string {
	syllables := []string{"ba", "ke", "lo", "mi", "nu", "ra", "se", "to", "vi", "zu"}
	at := func(digit int) string { return syllables[digit%10] }
	first, second := at(n/1000)+at(n/100)+"dor", at(n/10)+at(n)+"shima"
	return strings.ToUpper(first[:1]) + first[1:] + " " + strings.ToUpper(second[:1]) + second[1:]
}

// Percentages reads a list such as "0,2.5,5" as shares; "" is an empty one. name is the flag, for the error.
func Percentages(name, list string) (shares []float64, err error) {
	if list == "" {
		return nil, nil
	}
	for text := range strings.SplitSeq(list, ",") {
		percentage, err := strconv.ParseFloat(text, 64)
		if err != nil || !(percentage >= 0 && percentage <= 100) {
			return nil, fmt.Errorf("%s %q: not a percentage", name, text)
		}
		shares = append(shares, percentage/100)
	}
	return shares, nil
}
