package ratelimit

import "slices"

// AccountView is an account of a configuration as all processes know it: what a person or program is told of it. Its keys
// are those of the configuration, in its order, and Enabled counts the configuration too.
type AccountView struct {
	AccountStatus
	// Barred is why no request may go through it, whatever the time: ReasonNoAccount where it is disabled,
	// ReasonCredentials where each of its keys is out; ReasonNone where it is in.
	Barred Reason
}

// View returns an account as all processes know it.
func (st *Status) View(own Account) AccountView {
	v := AccountView{AccountStatus: AccountStatus{Name: own.Name}}
	if i := slices.IndexFunc(st.Accounts, func(a AccountStatus) bool { return a.Name == own.Name }); i >= 0 {
		v.AccountStatus = st.Accounts[i]
	}
	known := v.Keys
	v.Keys = nil
	for _, print := range own.Keys {
		k := KeyStatus{Key: print}
		if i := slices.IndexFunc(known, func(k KeyStatus) bool { return k.Key == print }); i >= 0 {
			k = known[i]
		}
		v.Keys = append(v.Keys, k)
	}
	var told *bool
	if v.Told {
		told = &v.Enabled
	}
	v.Barred = own.barred(told, func(print Fingerprint) bool {
		return v.Keys[slices.Index(own.Keys, print)].Standing.Out()
	})
	v.Enabled = v.Barred != ReasonNoAccount
	return v
}

// Standing is that of the account's best key: in before unproven, and either before one that is out.
func (v *AccountView) Standing() KeyStatus {
	var best KeyStatus
	for i, k := range v.Keys {
		if i == 0 || rank(k.Standing) < rank(best.Standing) {
			best = k
		}
	}
	return best
}

func rank(s Standing) int {
	return slices.Index([]Standing{Proven, Unproven, Suspended, Refused}, s)
}

// barred returns why an account may not be used whatever the time, ReasonNone where it may. told is an operator's word
// whether it is enabled, nil for none; out says of a key whether it may not be used.
func (a *Account) barred(told *bool, out func(Fingerprint) bool) Reason {
	disabled := a.Disabled
	if told != nil {
		disabled = !*told
	}
	switch {
	case disabled:
		return ReasonNoAccount
	case !slices.ContainsFunc(a.Keys, func(print Fingerprint) bool { return !out(print) }):
		return ReasonCredentials
	}
	return ReasonNone
}
