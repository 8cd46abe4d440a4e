package config

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/anivault/anivault/ratelimit"
)

// Account is one of the accounts through whose keys TMDB is asked. Its limits are the limiter's.
type Account struct {
	ratelimit.Account
	Keys  []Key  // in the order of the file; those of the embedded Account are their fingerprints
	Place string // file and line
}

// Key is one key of an account: a token, or a v3 key.
type Key struct {
	Token, APIKey Secret
	File          string // where it was read from; "" where it stands in the config file
}

// Secret is the key itself, whatever its form.
func (k Key) Secret() Secret {
	if k.Token.IsSet() {
		return k.Token
	}
	return k.APIKey
}

// Fingerprint names the key without telling it.
func (k Key) Fingerprint() ratelimit.Fingerprint { return ratelimit.FingerprintOf(k.Secret().Reveal()) }

// DefaultAccount is the name of the one account of a configuration without accounts.
const DefaultAccount = "default"

const (
	maxAccounts     = 32
	maxAccountKeys  = 8
	defaultPriority = 50
)

// HasKey reports whether there is anything to authenticate with.
func (c *Config) HasKey() bool { return c.TMDB.HasKey() || len(c.Accounts) > 0 }

// Secrets returns all keys.
func (c *Config) Secrets() []Secret {
	out := []Secret{c.TMDB.Token, c.TMDB.APIKey}
	for _, a := range c.Accounts {
		for _, k := range a.Keys {
			out = append(out, k.Secret())
		}
	}
	return slices.DeleteFunc(out, func(s Secret) bool { return !s.IsSet() })
}

// LimiterAccounts returns the accounts of the Pool as the limiter knows them.
func (c *Config) LimiterAccounts() []ratelimit.Account {
	var out []ratelimit.Account
	for _, a := range c.Pool() {
		out = append(out, a.Account)
	}
	return out
}

// Pool returns the accounts, and for a configuration without any the one account of its one key.
func (c *Config) Pool() []Account {
	if len(c.Accounts) > 0 || !c.TMDB.HasKey() {
		return c.Accounts
	}
	k := Key{Token: c.TMDB.Token, APIKey: c.TMDB.APIKey}
	a := Account{Account: ratelimit.Account{Name: DefaultAccount, Priority: defaultPriority}, Keys: []Key{k}, Place: c.KeyOrigin()}
	a.Account.Keys = []ratelimit.Fingerprint{k.Fingerprint()}
	return []Account{a}
}

// OnlyAccount returns the name of the one account, "-" where there are several or none: the log's word for what is not known.
func (c *Config) OnlyAccount() string {
	if pool := c.Pool(); len(pool) == 1 {
		return pool[0].Name
	}
	return "-"
}

// KeyNumber returns the number of a key in the list of its account, from 1 on; 0 where the configuration has none.
func (c *Config) KeyNumber(account string, key ratelimit.Fingerprint) int {
	for _, a := range c.Pool() {
		if a.Name == account {
			return slices.Index(a.Account.Keys, key) + 1
		}
	}
	return 0
}

// accountField is a key of an account that is a single value, what it may hold, and how that is taken.
type accountField struct {
	key, allowed string
	take         func(*Account, string) bool
}

// accountFields begin with what the limiter doesn't know.
var accountFields = slices.Concat([]accountField{
	{"name", "1 to 32 of a-z, 0-9 and -", func(a *Account, v string) bool {
		a.Name = v
		return clientName.MatchString(v)
	}},
	{"priority", "a whole number from 0 to 1000, smaller ones first", func(a *Account, v string) bool {
		n, err := strconv.Atoi(v)
		a.Priority = n
		return err == nil && n >= 0 && n <= 1000
	}},
	{"enabled", "true or false", func(a *Account, v string) bool {
		on, err := strconv.ParseBool(v)
		a.Disabled = !on
		return err == nil
	}},
}, limiterFields())

func limiterFields() (out []accountField) {
	for _, f := range ratelimit.AccountFields() {
		out = append(out, accountField{f.Key, f.Allowed, func(a *Account, v string) bool { return f.Set(&a.Account, v) == nil }})
	}
	return out
}

// accountReader reads the accounts of a file, and collects what can't be used.
type accountReader struct {
	in  source
	bad *faults
}

func (r accountReader) refuse(n *yaml.Node, key, value, reason string) {
	r.bad.add(&Error{Name: fmt.Sprintf("%s:%d: %s", r.in.path, n.Line, key), Value: value, Reason: reason})
}

// readAccounts reads the list of accounts.
func readAccounts(in source, bad *faults) []Account {
	at, node := child(in.top, "accounts")
	if at == nil {
		return nil
	}
	r := accountReader{in, bad}
	if node.Kind != yaml.SequenceNode || len(node.Content) == 0 {
		r.refuse(at, "accounts", "", "must be a list of accounts, such as - {name: main, keys: [{token_file: /path}]}; leave it out for one key")
		return nil
	}
	if n := len(node.Content); n > maxAccounts {
		r.refuse(at, "accounts", strconv.Itoa(n), fmt.Sprintf("at most %d accounts are allowed", maxAccounts))
		return nil
	}
	var out []Account
	for _, item := range node.Content {
		if item.Kind != yaml.MappingNode {
			r.refuse(item, "accounts", "", "each account is a section with name and keys")
			continue
		}
		out = append(out, r.account(item))
	}
	r.unique(out)
	return out
}

// account reads one account.
func (r accountReader) account(item *yaml.Node) Account {
	a := Account{Account: ratelimit.Account{Priority: defaultPriority}, Place: fmt.Sprintf("%s:%d", r.in.path, item.Line)}
	for i := 0; i+1 < len(item.Content); i += 2 {
		k, v := item.Content[i], item.Content[i+1]
		f := slices.IndexFunc(accountFields, func(f accountField) bool { return f.key == k.Value })
		switch {
		case k.Value == "keys":
			a.Keys = r.keys(v)
		case k.Value == "schedule":
			a.Schedule = r.schedule(v)
		case f < 0:
			r.refuse(k, k.Value, "", "is not a setting of an account; there are "+accountKeys())
		case v.Kind != yaml.ScalarNode || !accountFields[f].take(&a, v.Value):
			r.refuse(v, k.Value, v.Value, "must be "+accountFields[f].allowed)
		}
	}
	for _, k := range a.Keys {
		a.Account.Keys = append(a.Account.Keys, k.Fingerprint())
	}
	if keys, _ := child(item, "keys"); a.Name == "" || keys == nil {
		r.refuse(item, "accounts", a.Name, "an account needs name and keys")
	}
	if a.Slots > 0 && a.KeySlots > a.Slots {
		_, v := child(item, "concurrency")
		r.refuse(v, "concurrency", strconv.Itoa(a.KeySlots), fmt.Sprintf("is above account_concurrency %d, which all keys have together: "+
			"lower it, or raise account_concurrency", a.Slots))
	}
	return a
}

func accountKeys() string {
	var keys []string
	for _, f := range accountFields {
		keys = append(keys, f.key)
	}
	return strings.Join(append(keys, "keys", "schedule"), ", ")
}

// keyForms are the ways to write a key.
const keyForms = "token, token_file, api_key or api_key_file"

// keys reads the keys of an account. What they say is in no error.
func (r accountReader) keys(node *yaml.Node) (out []Key) {
	if node.Kind != yaml.SequenceNode || len(node.Content) == 0 || len(node.Content) > maxAccountKeys {
		r.refuse(node, "keys", "", fmt.Sprintf("must be a list of 1 to %d keys, each with one of %s, such as [{token_file: /path}]", maxAccountKeys, keyForms))
		return nil
	}
	for _, item := range node.Content {
		if item.Kind != yaml.MappingNode || len(item.Content) != 2 || item.Content[1].Kind != yaml.ScalarNode {
			r.refuse(item, "keys", "", "each key is one of "+keyForms+", such as {token_file: /path}")
			continue
		}
		name, value := item.Content[0].Value, item.Content[1].Value
		if k, ok := r.key(item, name, value); ok {
			out = append(out, k)
		}
	}
	return out
}

func (r accountReader) key(item *yaml.Node, name, value string) (k Key, ok bool) {
	form, isFile := strings.CutSuffix(name, "_file")
	if form != "token" && form != "api_key" {
		r.refuse(item, name, "", "is not a form of a key; there are "+keyForms)
		return k, false
	}
	if isFile {
		k.File = value
		line, err := firstLine(value)
		if err != nil {
			r.refuse(item, name, value, err.Error())
			return k, false
		}
		value = line
	}
	secret, err := readSecret(value)
	switch {
	case err != nil:
		r.refuse(item, name, k.File, err.Error())
		return k, false
	case !secret.IsSet():
		r.refuse(item, name, k.File, "is empty; write the key there")
		return k, false
	case form == "token":
		k.Token = secret
	default:
		k.APIKey = secret
	}
	return k, true
}

// schedule reads the parts of the day that have a limit of their own.
func (r accountReader) schedule(node *yaml.Node) (out []ratelimit.Period) {
	const form = `such as - {from: "08:00", to: "23:00", account_concurrency: 3}`
	if node.Kind != yaml.SequenceNode {
		r.refuse(node, "schedule", "", "must be a list of parts of the day, "+form)
		return nil
	}
	for _, item := range node.Content {
		var p ratelimit.Period
		found := 0
		for i := 0; item.Kind == yaml.MappingNode && i+1 < len(item.Content); i += 2 {
			k, v := item.Content[i], item.Content[i+1]
			ok := true
			switch k.Value {
			case "from":
				p.From, ok = clock(v.Value)
			case "to":
				p.To, ok = clock(v.Value)
			case "account_concurrency":
				n, err := strconv.Atoi(v.Value)
				p.Slots, ok = n, err == nil && n >= 0 && n <= 256
			default:
				r.refuse(k, k.Value, "", "is not a setting of a schedule; there are from, to, account_concurrency")
			}
			found++
			if !ok {
				r.refuse(v, "schedule."+k.Value, v.Value, map[bool]string{
					true: "must be a whole number from 0 (no limit) to 256", false: "must be a time of the day such as 08:00",
				}[k.Value == "account_concurrency"])
			}
		}
		switch {
		case found != 3:
			r.refuse(item, "schedule", "", "each part of the day has from, to and account_concurrency, "+form)
		case p.From == p.To:
			r.refuse(item, "schedule", "", "from and to are the same: leave the part out, and set account_concurrency of the account")
		}
		out = append(out, p)
	}
	return out
}

// clock reads a time of the day.
func clock(v string) (time.Duration, bool) {
	t, err := time.Parse("15:04", v)
	return time.Duration(t.Hour())*time.Hour + time.Duration(t.Minute())*time.Minute, err == nil
}

// unique refuses accounts of one name, and a key that is there twice.
func (r accountReader) unique(list []Account) {
	type owner struct{ account, key int }
	seen := map[ratelimit.Fingerprint]owner{}
	for i, a := range list {
		for _, b := range list[:i] {
			if a.Name != "" && a.Name == b.Name {
				r.bad.add(&Error{Name: a.Place + ": name", Value: a.Name, Reason: "is the name of the account at " + b.Place + " too; names are unique"})
			}
		}
		for j, print := range a.Account.Keys {
			if before, ok := seen[print]; ok {
				r.bad.add(&Error{
					Name: a.Place + ": keys", Value: fmt.Sprintf("key %d", j+1),
					Reason: fmt.Sprintf("is key %d of account %s too; each key stands once", before.key+1, list[before.account].Name),
				})
				continue
			}
			seen[print] = owner{i, j}
		}
	}
}

// chooseAccounts refuses accounts beside a key in the same file and limits that cross the limiter's. A key in the
// environment or of a flag wins over them.
func (c *Config) chooseAccounts(bad *faults) {
	if len(c.Accounts) == 0 {
		return
	}
	_, section := child(c.in.top, "tmdb")
	for _, key := range []string{"token", "token_file", "api_key"} {
		if k, _ := child(section, key); k != nil {
			bad.add(&Error{Name: c.in.at("tmdb." + key), Reason: "stands beside accounts: move it into the keys of an account, or leave accounts out"})
			return
		}
	}
	for _, a := range c.Accounts {
		if a.Rate > c.Tuning.RateBase {
			bad.add(&Error{
				Name: a.Place + ": rate", Value: strconv.FormatFloat(a.Rate, 'f', -1, 64),
				Reason: fmt.Sprintf("is above limiter.rate_base %g, which all accounts have together: lower it, or raise rate_base", c.Tuning.RateBase),
			})
		}
		most := a.Slots
		for _, p := range a.Schedule {
			most = max(most, p.Slots)
		}
		if most > c.Tuning.ConcurrencyTotal {
			bad.add(&Error{
				Name: a.Place + ": account_concurrency", Value: strconv.Itoa(most),
				Reason: fmt.Sprintf("is above limiter.concurrency_total %d, which all accounts have together: lower it, or raise concurrency_total",
					c.Tuning.ConcurrencyTotal),
			})
		}
	}
	for _, key := range []string{"tmdb.token", "tmdb.token_file", "tmdb.api_key"} {
		kind, where, _ := strings.Cut(c.origin(key), " ")
		if kind != "environment" && kind != "flag" {
			continue
		}
		c.overruled = cmp.Or(c.overruled, where)
	}
	if c.overruled != "" {
		c.Accounts = nil
	}
}

// keyFiles are the files from which the accounts' keys were read.
func (c *Config) keyFiles() (files []string) {
	for _, a := range c.Accounts {
		for _, k := range a.Keys {
			if k.File != "" {
				files = append(files, k.File)
			}
		}
	}
	return files
}

// keysInFile reports whether the config file itself holds keys of accounts.
func (c *Config) keysInFile() bool {
	return slices.ContainsFunc(c.Accounts, func(a Account) bool {
		return slices.ContainsFunc(a.Keys, func(k Key) bool { return k.File == "" })
	})
}
