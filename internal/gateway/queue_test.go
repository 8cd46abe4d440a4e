package gateway

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// A script pushes tickets and pops them: "a b2 c!" are tickets of clients a, b (with weight 2) and c (class batch),
// "<a" is one at the head of a's line, "*3" takes three.
func TestTurns(t *testing.T) {
	for name, row := range map[string]struct{ script, want string }{
		"one client: first come, first served":    {"a1 a2 a3 *3", "a1 a2 a3"},
		"clients take turns":                      {"a1 a2 a3 b1 c1 *5", "a1 b1 c1 a2 a3"},
		"weight is requests a turn":               {"a1:2 a2:2 a3:2 b1 b2 *5", "a1 a2 b1 a3 b2"},
		"a retry is the first of its line":        {"a1 a2 b1 <a3 *4", "a3 b1 a1 a2"},
		"who comes later gets the next turn":      {"a1 a2 a3 *1 b1 *3", "a1 a2 b1 a3"},
		"batch waits for interactive":             {"a1! b1 b2 *3", "b1 b2 a1"},
		"and passes while there is none":          {"a1! a2! *2", "a1 a2"},
		"every ninth is batch":                    {"x1! x2! " + many("a", 20) + "*20", many9("a", 18)},
		"what is taken out has no turn":           {"a1 a2 b1 -a1 *2", "a2 b1"},
		"a line that was left gives up its place": {"a1 b1 b2 -a1 *2", "b1 b2"},
		"nobody waits":                            {"*1 a1 *2", "a1"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := strings.Join(turns(row.script), " "); got != row.want {
				t.Errorf("%s\n got %s\nwant %s", row.script, got, row.want)
			}
		})
	}
}

func many(client string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "%s%d ", client, i+1)
	}
	return b.String()
}

// many9 is what comes of n interactive tickets with two of batch, x1 and x2, between them.
func many9(client string, n int) string {
	all := strings.Fields(many(client, n))
	all = slices.Insert(all, 16, "x2")
	all = slices.Insert(all, 8, "x1")
	return strings.Join(all, " ")
}

func turns(script string) (out []string) {
	var f fairOrder
	tickets, names := map[string]*ticket{}, map[*ticket]string{}
	for word := range strings.FieldsSeq(script) {
		var n int
		if _, err := fmt.Sscanf(word, "*%d", &n); err == nil {
			for range n {
				if t := f.pop(); t != nil {
					out = append(out, names[t])
				}
			}
			continue
		}
		if name, ok := strings.CutPrefix(word, "-"); ok {
			f.remove(tickets[name])
			continue
		}
		word, head := strings.CutPrefix(word, "<")
		word, isBatch := strings.CutSuffix(word, "!")
		t := &ticket{weight: 1}
		if isBatch {
			t.class = batch
		}
		name, weight, ok := strings.Cut(word, ":")
		if ok {
			fmt.Sscan(weight, &t.weight)
		}
		t.client = name[:1]
		tickets[name], names[t] = t, name
		f.push(t, head)
	}
	return out
}

// The queue is work-conserving, keeps each client's order, and gives clients that always have work what their weights
// say, within one request.
func TestTurnsAreFair(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		var f fairOrder
		clients := rapid.IntRange(1, 6).Draw(r, "clients")
		weights := make([]int, clients)
		for c := range weights {
			weights[c] = rapid.IntRange(1, 5).Draw(r, "weight")
		}
		next, last, got := make([]int, clients), make([]int, clients), make([]int, clients)
		number := map[*ticket]int{}
		add := func(c int) {
			next[c]++
			tk := &ticket{client: fmt.Sprint(c), weight: weights[c]}
			number[tk] = next[c]
			f.push(tk, false)
		}
		for c := range clients {
			for range weights[c] + 1 { // it always has work
				add(c)
			}
		}
		sum := 0
		for _, w := range weights {
			sum += w
		}
		rounds := rapid.IntRange(1, 5).Draw(r, "rounds")
		for range rounds * sum {
			tk := f.pop()
			if tk == nil {
				r.Fatal("somebody waits, and nobody is let in")
			}
			var c int
			fmt.Sscan(tk.client, &c)
			if number[tk] != last[c]+1 {
				r.Fatalf("client %d: %d after %d", c, number[tk], last[c])
			}
			last[c]++
			got[c]++
			add(c)
		}
		for c, w := range weights {
			if d := got[c] - rounds*w; d < -1 || d > 1 {
				r.Fatalf("client %d of weight %d had %d of %d turns", c, w, got[c], rounds*sum)
			}
		}
	})
}

// ahead is never less than what is really let in before, if nobody else comes.
func TestAheadIsABound(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		var f fairOrder
		for range rapid.IntRange(0, 40).Draw(r, "waiting") {
			c := rapid.IntRange(0, 4).Draw(r, "client")
			f.push(&ticket{client: fmt.Sprint(c), weight: c%3 + 1, class: class(rapid.IntRange(0, 1).Draw(r, "class"))}, false)
		}
		c := rapid.IntRange(0, 5).Draw(r, "new client")
		tk := &ticket{client: fmt.Sprint(c), weight: c%3 + 1, class: class(rapid.IntRange(0, 1).Draw(r, "new class"))}
		bound := f.countAhead(tk)
		f.push(tk, false)
		for n := 0; ; n++ {
			if f.pop() == tk {
				if n > bound+interactivePerBatch { // a turn of batch may be under way
					r.Fatalf("%d were ahead, said were %d", n, bound)
				}
				return
			}
		}
	})
}

// Under any mixture of entering, giving up and leaving there are never more inside than places, and in the end nobody
// is.
func TestQueueLosesNoPlace(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		places := rapid.IntRange(1, 4).Draw(r, "places")
		alone := rapid.Bool().Draw(r, "no other process asks")
		q := &queue{slots: func() int { return places }, contended: func() bool { return !alone }}
		var wg sync.WaitGroup
		var mu sync.Mutex
		inside, most, asking, mostAsking := 0, 0, 0, 0
		for i := range rapid.IntRange(1, 30).Draw(r, "questions") {
			ctx, cancel := context.WithCancel(context.Background())
			if rapid.Bool().Draw(r, "gives up") {
				wg.Go(cancel)
			} else {
				defer cancel()
			}
			retries := rapid.IntRange(0, 2).Draw(r, "retries")
			unused := rapid.Bool().Draw(r, "answered before the limiter")
			elsewhere := rapid.Bool().Draw(r, "waits in the cache")
			granted := rapid.Bool().Draw(r, "granted")
			wg.Go(func() {
				f := &flight{ticket: ticket{client: fmt.Sprint(i % 3), weight: 1, class: class(i % 2)}}
				tk := &f.ticket
				if q.waitTurn(ctx, tk, false) != nil {
					return
				}
				defer q.releaseIfAdmitted(tk)
				if elsewhere {
					q.yieldLimiter(withFlight(ctx, f))
				}
				change := func(in, asks int) {
					mu.Lock()
					defer mu.Unlock()
					inside, asking = inside+in, asking+asks
					most, mostAsking = max(most, inside), max(mostAsking, asking)
				}
				for try := 0; try <= retries && !unused; try++ {
					if q.Enter(withFlight(ctx, f)) != nil {
						return
					}
					asks := 1
					if elsewhere && try == 0 {
						asks = 0 // one more may ask beside those
					}
					change(1, asks)
					if granted {
						change(0, -asks)
						q.Granted()
						asks = 0
					}
					runtime.Gosched()
					change(-1, -asks)
					q.Leave(granted)
				}
			})
		}
		wg.Wait()
		if n, _ := q.running(); n != 0 || q.inLimiter != 0 || most > places || q.waitingByClass() != [classCount]int{} ||
			alone && mostAsking > 1 {
			r.Fatalf(
				"%d inside, %d ask, %v wait; at most %d of %d were inside, %d asked",
				n,
				q.inLimiter,
				q.waitingByClass(),
				most,
				places,
				mostAsking,
			)
		}
	})
}

func TestATicketMovesIntoAnotherLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		places := 0
		q := &queue{slots: func() int { return places }}
		var order []string
		var mu sync.Mutex
		enter := func(name, client string, c class) *ticket {
			tk := &ticket{client: client, weight: 1, class: c}
			go func() {
				if q.waitTurn(t.Context(), tk, false) == nil {
					mu.Lock()
					order = append(order, name)
					mu.Unlock()
					q.releaseIfAdmitted(tk)
				}
			}()
			synctest.Wait()
			return tk
		}
		enter("a1", "a", interactive)
		late := enter("b1", "b", batch)
		enter("a2", "a", interactive)
		q.requeue(late, "c", 1, interactive)
		places = 1
		q.mu.Lock()
		q.admit()
		q.mu.Unlock()
		synctest.Wait()
		if diff := cmp.Diff([]string{"a1", "b1", "a2"}, order); diff != "" {
			t.Error(diff)
		}
	})
}
