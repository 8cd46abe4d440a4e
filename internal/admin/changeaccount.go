package admin

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/anivault/anivault/internal/ui"
	"github.com/anivault/anivault/ratelimit"
)

// account returns the account that a request names.
func (s *Server) account(r *http.Request) (Account, error) {
	name := r.PathValue("name")
	list, err := s.accounts(r.Context())
	if err != nil {
		return Account{}, err
	}
	i := slices.IndexFunc(list, func(a Account) bool { return a.Name == name })
	if i < 0 {
		return Account{}, refuse(http.StatusNotFound, "there is no account %q", ui.Escaped(name))
	}
	return list[i], nil
}

// limitOf is an account's limit as text.
func limitOf(a Account, key string) string {
	switch key {
	case "account_concurrency":
		return fmt.Sprint(a.Limit)
	case "concurrency":
		return fmt.Sprint(a.KeyLimit)
	case "rate":
		if a.Rate > 0 {
			return fmt.Sprint(a.Rate)
		}
	case "quota":
		if a.Quota != nil {
			return fmt.Sprintf("%d/%s", a.Quota.Limit, a.Quota.Period)
		}
	}
	return "off"
}

// tuneAccount changes limits of an account.
func (s *Server) tuneAccount(r *http.Request, o order) (Answer, error) {
	lasts, err := o.period()
	if err != nil {
		return Answer{}, err
	}
	before, err := s.account(r)
	if err != nil {
		return Answer{}, err
	}
	set, ended := o.split()
	for key := range o.values {
		if !slices.ContainsFunc(ratelimit.AccountFields(), func(f ratelimit.AccountField) bool { return f.Key == key }) {
			return Answer{}, refuse(http.StatusUnprocessableEntity, "%s: is not a limit of an account", ui.Escaped(key))
		}
	}
	if len(o.values) == 0 {
		return Answer{}, refuse(http.StatusUnprocessableEntity, "nothing is named that should change")
	}
	if len(set) > 0 {
		err = s.operator().TuneAccount(r.Context(), before.Name, set, lasts)
	}
	if err == nil && len(ended) > 0 {
		err = s.operator().ResetAccount(r.Context(), before.Name, ended...)
	}
	if err != nil {
		return Answer{}, err
	}
	after, err := s.account(r)
	a := Answer{Changed: []Changed{}}
	for _, key := range slices.Sorted(maps.Keys(o.values)) {
		a.Changed = append(a.Changed, Changed{key, limitOf(before, key), limitOf(after, key)})
	}
	if len(set) > 0 {
		a.For = lastsText(lasts)
	}
	return a, err
}

func (s *Server) enable(r *http.Request, o order) (Answer, error) { return s.switchAccount(r, o, true) }

func (s *Server) disable(r *http.Request, o order) (Answer, error) {
	return s.switchAccount(r, o, false)
}

// switchAccount enables or disables an account.
func (s *Server) switchAccount(r *http.Request, o order, on bool) (Answer, error) {
	if err := o.without(); err != nil {
		return Answer{}, err
	}
	lasts, err := o.period()
	if err != nil {
		return Answer{}, err
	}
	before, err := s.account(r)
	if err == nil {
		err = s.operator().EnableAccount(r.Context(), before.Name, on, lasts)
	}
	if err != nil {
		return Answer{}, err
	}
	return Answer{[]Changed{{"enabled", fmt.Sprint(before.Enabled), fmt.Sprint(on)}}, lastsText(lasts)}, nil
}

// test asks the upstream one question with each key of an account. A key that is accepted is in again.
func (s *Server) test(r *http.Request, o order) (Answer, error) {
	if err := o.without(); err != nil {
		return Answer{}, err
	}
	before, err := s.account(r)
	if err != nil {
		return Answer{}, err
	}
	ctx, cancel := context.WithTimeout(r.Context(), testPatience)
	defer cancel()
	var bad []string
	for _, a := range s.gateway.Config().Pool() {
		if a.Name != before.Name {
			continue
		}
		for _, t := range s.gateway.TestAccount(ctx, a) {
			if t.Err != nil {
				bad = append(bad, fmt.Sprintf("key %d: %s", t.Number, ui.Escaped(t.Text)))
			}
		}
	}
	if len(bad) > 0 {
		return Answer{}, refuse(http.StatusBadGateway, "%s", strings.Join(bad, "; "))
	}
	after, err := s.account(r)
	a := Answer{Changed: []Changed{}}
	for i, k := range after.Keys[:min(len(after.Keys), len(before.Keys))] {
		if was := before.Keys[i].Standing; was != k.Standing {
			a.Changed = append(a.Changed, Changed{fmt.Sprintf("key %d", k.Number), was, k.Standing})
		}
	}
	return a, err
}

// testPatience is how long a test of an account's keys waits for permission and answers.
const testPatience = 10 * time.Second
