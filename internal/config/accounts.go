package config

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/slicesx"
	"github.com/anivault/anivault/ratelimit"
)

// Account is an account of TMDB with its keys. The embedded ratelimit.Account has its limits.
type Account struct {
	ratelimit.Account
	Keys  []Key  // in the order of the file; Account.Keys has their fingerprints
	Place string // the file and line where the account begins
}

// Key is one key of an account: a token, or a v3 key.
type Key struct {
	Token, APIKey Secret
	File          string // the file that the key was read from; "" for the config file
}

// Secret returns the token or the v3 key.
func (k Key) Secret() Secret { return cmp.Or(k.Token, k.APIKey) }

// Fingerprint returns a hash that identifies the key without revealing it.
func (k Key) Fingerprint() ratelimit.Fingerprint { return ratelimit.FingerprintOf(k.Secret().Reveal()) }

// DefaultAccount is the name of the account for the single key of a configuration without accounts.
const DefaultAccount = "default"

const (
	maxAccounts     = 32
	maxAccountKeys  = 8
	defaultPriority = 50
)

// HasKey reports whether there is a token or a key.
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

// LimiterAccounts returns EffectiveAccounts without the keys: the limiter needs only their fingerprints.
func (c *Config) LimiterAccounts() []ratelimit.Account {
	return slicesx.Map(c.EffectiveAccounts(), func(a Account) ratelimit.Account { return a.Account })
}

// EffectiveAccounts returns the configured accounts. For a single key without accounts, it returns a default account.
func (c *Config) EffectiveAccounts() []Account {
	if len(c.Accounts) > 0 || !c.TMDB.HasKey() {
		return c.Accounts
	}
	k := Key{Token: c.TMDB.Token, APIKey: c.TMDB.APIKey}
	a := Account{
		Account: ratelimit.Account{Name: DefaultAccount, Priority: defaultPriority}, Keys: []Key{k},
		Place: c.KeyOrigin(),
	}
	a.Account.Keys = []ratelimit.Fingerprint{k.Fingerprint()}
	return []Account{a}
}

// OnlyAccount returns the name of the account for log lines; "-" unless there is exactly one.
func (c *Config) OnlyAccount() string {
	if pool := c.EffectiveAccounts(); len(pool) == 1 {
		return pool[0].Name
	}
	return "-"
}

// KeyNumber returns the number of a key in its account, from 1; 0 if the configuration does not have it.
func (c *Config) KeyNumber(account string, key ratelimit.Fingerprint) int {
	for _, a := range c.EffectiveAccounts() {
		if a.Name == account {
			return slices.Index(a.Account.Keys, key) + 1
		}
	}
	return 0
}

var accountSchema = listSchema[Account]{
	key: "accounts", notSection: "each account is a section with name and keys",
	unknown: "is not a setting of an account; there are %s",
	newItem: func(place string) Account {
		return Account{Account: ratelimit.Account{Priority: defaultPriority}, Place: place}
	},
	targets: func(r reader, a *Account) map[string]any {
		targets := map[string]any{
			"name": storeAndCheck(&a.Name, clientNamePattern), "priority": &a.Priority,
			"enabled": func(v string) error {
				on, err := strconv.ParseBool(v)
				a.Disabled = !on
				return err
			},
			"keys":     func(v *yaml.Node) { a.Keys = r.readKeys(v) },
			"schedule": func(v *yaml.Node) { a.Schedule = scheduleSchema.readAll(r, v) },
		}
		for _, f := range ratelimit.AccountFields() {
			targets[f.Key] = func(v string) error { return f.Set(&a.Account, v) }
		}
		return targets
	},
	checkItem: func(r reader, item *yaml.Node, a *Account) {
		a.Account.Keys = slicesx.Map(a.Keys, Key.Fingerprint)
		if keys, _ := findKey(item, "keys"); a.Name == "" || keys == nil {
			r.reject(item, "accounts", a.Name, "an account needs name and keys")
		}
		if a.Slots > 0 && a.KeySlots > a.Slots {
			_, v := findKey(item, "concurrency")
			r.reject(v, "concurrency", strconv.Itoa(a.KeySlots), lang.Textf("is above account_concurrency %d, "+
				"which all keys share: lower it, or raise account_concurrency", a.Slots))
		}
	},
}

func readAccounts(in source, problems *errorList) []Account {
	at, node := findKey(in.root, "accounts")
	if at == nil {
		return nil
	}
	r := reader{in, problems}
	if node.Kind != yaml.SequenceNode || len(node.Content) == 0 {
		r.reject(at, "accounts", "", "must be a list of accounts, such as - {name: main, keys: [{token_file: /path}]}; "+
			"leave it out for one key")
		return nil
	}
	if n := len(node.Content); n > maxAccounts {
		r.reject(at, "accounts", strconv.Itoa(n), lang.Textf("at most %d accounts are allowed", maxAccounts))
		return nil
	}
	out := accountSchema.readAll(r, node)
	r.checkUniqueAccounts(out)
	return out
}

const keyForms = "token, token_file, api_key or api_key_file"

// readKeys reads the keys of an account. It never shows a key in its errors.
func (r reader) readKeys(node *yaml.Node) (out []Key) {
	if node.Kind != yaml.SequenceNode || len(node.Content) == 0 || len(node.Content) > maxAccountKeys {
		r.reject(node, "keys", "", lang.Textf(
			"must be a list of 1 to %d keys, each with one of %s, such as [{token_file: /path}]", maxAccountKeys, keyForms))
		return nil
	}
	for _, item := range node.Content {
		if item.Kind != yaml.MappingNode || len(item.Content) != 2 || item.Content[1].Kind != yaml.ScalarNode {
			r.reject(item, "keys", "", lang.Textf("each key is one of %s, such as {token_file: /path}", keyForms))
			continue
		}
		name, value := item.Content[0].Value, item.Content[1].Value
		if k, ok := r.readKey(item, name, value); ok {
			out = append(out, k)
		}
	}
	return out
}

func (r reader) readKey(item *yaml.Node, name, value string) (k Key, ok bool) {
	form, isFile := strings.CutSuffix(name, "_file")
	if form != "token" && form != "api_key" {
		r.reject(item, name, "", lang.Textf("is not a form of a key; there are %s", keyForms))
		return k, false
	}
	if isFile {
		k.File = ExpandHome(value, r.source.home)
		line, err := firstLine(k.File)
		if err != nil {
			r.reject(item, name, k.File, lang.TextOf(err))
			return k, false
		}
		value = line
	}
	secret, err := readSecret(value)
	switch {
	case err != nil:
		r.reject(item, name, k.File, lang.TextOf(err))
		return k, false
	case !secret.IsSet():
		r.reject(item, name, k.File, "is empty; write the key there")
		return k, false
	case form == "token":
		k.Token = secret
	default:
		k.APIKey = secret
	}
	return k, true
}

const scheduleForm = `such as - {from: "08:00", to: "23:00", account_concurrency: 3}`

var scheduleSchema = listSchema[ratelimit.Period]{
	key: "schedule", unknown: "is not a setting of a schedule; there are %s", prefix: "schedule.",
	notSection: "each part of the day has from, to and account_concurrency, " + scheduleForm,
	notList:    "must be a list of parts of the day, " + scheduleForm,
	newItem:    func(string) (p ratelimit.Period) { return p },
	targets: func(_ reader, p *ratelimit.Period) map[string]any {
		return map[string]any{
			"from": parseInto(&p.From, readClock), "to": parseInto(&p.To, readClock), "account_concurrency": &p.Slots,
		}
	},
	checkItem: func(r reader, item *yaml.Node, p *ratelimit.Period) {
		switch {
		case len(item.Content) != 2*3:
			r.reject(item, "schedule", "", "each part of the day has from, to and account_concurrency, "+scheduleForm)
		case p.From == p.To:
			r.reject(item, "schedule", "", "from and to are the same: leave the part out, "+
				"and set account_concurrency of the account")
		}
	},
}

func readClock(v string) (time.Duration, error) {
	t, err := time.Parse("15:04", v)
	return time.Duration(t.Hour())*time.Hour + time.Duration(t.Minute())*time.Minute, err
}

func (r reader) checkUniqueAccounts(list []Account) {
	type owner struct{ account, key int }
	seen := map[ratelimit.Fingerprint]owner{}
	for i, a := range list {
		for _, b := range list[:i] {
			if a.Name != "" && a.Name == b.Name {
				r.problems.reject(a.Place+": name", a.Name,
					lang.Textf("is also the name of the account at %s; names must be unique", b.Place))
			}
		}
		for j, print := range a.Account.Keys {
			if before, ok := seen[print]; ok {
				r.problems.reject(a.Place+": keys", fmt.Sprintf("key %d", j+1),
					lang.Textf("is also key %d of account %s; each key may appear once", before.key+1, list[before.account].Name))
				continue
			}
			seen[print] = owner{i, j}
		}
	}
}

// resolveAccounts checks the accounts against other settings: a single key in the same file and limits above the
// limiter's are errors. It removes the accounts if the environment or a flag has a key.
func (c *Config) resolveAccounts(problems *errorList) {
	if len(c.Accounts) == 0 {
		return
	}
	_, section := findKey(c.file.root, "tmdb")
	for _, key := range []string{"token", "token_file", "api_key"} {
		if k, _ := findKey(section, key); k != nil {
			problems.reject(c.file.location("tmdb."+key), "",
				"cannot be combined with accounts: move it into the keys of an account, or leave accounts out")
			return
		}
		if kind, where, _ := strings.Cut(c.value("tmdb."+key).Origin, " "); kind == "environment" || kind == "flag" {
			c.accountsOverriddenBy = cmp.Or(c.accountsOverriddenBy, where)
		}
	}
	for _, a := range c.Accounts {
		if a.Rate > c.Tuning.RateBase {
			problems.reject(a.Place+": rate", strconv.FormatFloat(a.Rate, 'f', -1, 64),
				lang.Textf("is above limiter.rate_base %g, which all accounts share: lower it, or raise rate_base",
					c.Tuning.RateBase))
		}
		most := a.Slots
		for _, p := range a.Schedule {
			most = max(most, p.Slots)
		}
		if most > c.Tuning.ConcurrencyTotal {
			problems.reject(a.Place+": account_concurrency", strconv.Itoa(most),
				lang.Textf("is above limiter.concurrency_total %d, which all accounts share: lower it, or raise "+
					"concurrency_total", c.Tuning.ConcurrencyTotal))
		}
	}
	if c.accountsOverriddenBy != "" {
		c.Accounts = nil
	}
}
