package ratelimit

import "slices"

// uses returns how much of its quota each account has used, nil where there are no accounts.
func (s *Snapshot) uses() map[string]int {
	if len(s.accounts) == 0 {
		return nil
	}
	m := make(map[string]int, len(s.accounts))
	for i := range s.accounts {
		m[s.accounts[i].name] = s.accounts[i].quota.used
	}
	return m
}

// usedSince returns what was used since before.
func (s *Snapshot) usedSince(before map[string]int) map[string]int {
	m := s.uses()
	for name := range m {
		m[name] = max(m[name]-before[name], 0)
	}
	return m
}

// rejoinAccounts brings along what a process did with the accounts while it was alone: use of quotas, pauses, and what
// it learnt of keys since then.
func (s *Snapshot) rejoinAccounts(a *Absence, used map[string]int, carried func(Stamp) Stamp) {
	for i := range a.Snapshot.accounts {
		theirs := &a.Snapshot.accounts[i]
		ours := s.accountBy(theirs.name)
		if ours == nil {
			continue
		}
		if a.since != 0 {
			ours.learn(theirs, carried)
		}
		if n := used[theirs.name]; n > 0 {
			if ours.quota.since == 0 {
				ours.quota = budgetUse{since: carried(theirs.quota.since), period: theirs.quota.period}
			}
			ours.quota.used += n
		}
	}
}

// recallAccounts brings back what was known of accounts before something was lost.
func (s *Snapshot) recallAccounts(last *Snapshot) {
	for i := range last.accounts {
		theirs := &last.accounts[i]
		ours := s.accountBy(theirs.name)
		if ours == nil {
			continue
		}
		ours.learn(theirs, func(t Stamp) Stamp { return t })
		if ours.quota.since == theirs.quota.since {
			ours.quota.used = max(ours.quota.used, theirs.quota.used)
		}
	}
}

// learn takes over pauses, and the standing of keys where it is newer.
func (a *account) learn(from *account, carried func(Stamp) Stamp) {
	if a.machine.epoch != 0 {
		a.machine.pauseUntil = max(a.machine.pauseUntil, carried(from.machine.pauseUntil))
	}
	a.bucket.full = max(a.bucket.full, carried(from.bucket.full))
	for i := range a.keys {
		k := &a.keys[i]
		j := slices.IndexFunc(from.keys, func(o accountKey) bool { return o.print == k.print })
		if j >= 0 && carried(from.keys[j].since) > k.since {
			k.standing, k.since = from.keys[j].standing, carried(from.keys[j].since)
		}
	}
}

// sameKey returns the number here of a key of another snapshot, 0 where it is unknown.
func (s *Snapshot) sameKey(last *Snapshot, id uint64) uint64 {
	theirs, k := last.keyOf(id)
	if k == nil {
		return 0
	}
	if a := s.accountBy(theirs.name); a != nil {
		if ours := a.key(k.print); ours != nil {
			return ours.id
		}
	}
	return 0
}
