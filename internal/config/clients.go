package config

import (
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed" // for the table of the settings of lists
	"encoding/hex"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/anivault/anivault/internal/atomicfile"
	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/lazyregexp"
	"github.com/anivault/anivault/internal/lockfile"
	"github.com/anivault/anivault/internal/slicesx"
	"github.com/anivault/anivault/internal/wordlist"
	"github.com/anivault/anivault/ratelimit"
)

// Client is a program that may use the gateway. Only the hash of its token is stored, which its JSON does not show.
type Client struct {
	Name        string           `json:"name" doc:"its name"`
	TokenSHA256 string           `json:"-"` // 64 hex digits
	Class       string           `json:"class" doc:"the best class it can have: interactive or batch"`
	Weight      int              `json:"-"` // its share of requests compared with other clients, 1 to 100
	Requests    ratelimit.Budget `json:"-"`
	Upstream    ratelimit.Budget `json:"-"` // limits only those requests that go to TMDB
	Admin       bool             `json:"admin" doc:"whether it may read /metrics"`
	Created     time.Time        `json:"made,omitzero" doc:"when its token was made, RFC 3339; absent if not recorded"`
	Place       string           `json:"place" doc:"the file and line that define it"`
}

// TokenHash returns the SHA-256 of a token, in 64 lower-case hex digits.
func TokenHash(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

var (
	clientNamePattern = lazyregexp.New(`^[a-z0-9][a-z0-9-]{0,31}$`)
	clientHashPattern = lazyregexp.New(`^[0-9a-f]{64}$`)
)

// Anonymous is the name of all clients without a token in logs and metrics.
const Anonymous = "anonymous"

var clientSchema = listSchema[Client]{
	key: "clients", unknown: "is not a setting of a client; there are %s",
	notList:    "must be a list of clients, such as - {name: bitmagnet, token_sha256: \"...\"}",
	notSection: "each client is a section with name and token_sha256; see: anivault serve token new",
	newItem:    func(place string) Client { return Client{Class: "interactive", Weight: 1, Place: place} },
	targets: func(_ reader, c *Client) map[string]any {
		return map[string]any{
			"name": func(v string) error {
				if v == Anonymous {
					return strconv.ErrSyntax
				}
				return storeAndCheck(&c.Name, clientNamePattern)(v)
			},
			"token_sha256": storeAndCheck(&c.TokenSHA256, clientHashPattern),
			"class":        &c.Class, "weight": &c.Weight, "requests": &c.Requests, "upstream": &c.Upstream, "admin": &c.Admin,
			"made": func(v string) (err error) {
				c.Created, err = time.Parse(time.RFC3339, v)
				return err
			},
		}
	},
	checkItem: func(r reader, item *yaml.Node, c *Client) {
		if c.Name == "" || c.TokenSHA256 == "" {
			r.reject(item, "clients", c.Name,
				"a client needs name and token_sha256; make one with: anivault serve token new NAME")
		}
	},
}

// storeAndCheck returns a setter that rejects texts that don't match pattern. It stores them nevertheless, because
// other errors name the account or client by them.
func storeAndCheck(target *string, pattern func() *regexp.Regexp) func(string) error {
	return func(v string) error {
		*target = v
		if !pattern().MatchString(v) {
			return strconv.ErrSyntax
		}
		return nil
	}
}

func readLimit(v string) (ratelimit.Budget, error) {
	var t ratelimit.Tuning
	field, _ := ratelimit.FieldByKey("budget")
	err := field.Set(&t, v)
	return t.Budget, err
}

// Check returns an *Error if the name, hash or class of a client is not valid.
func (c Client) Check() error {
	var copied Client
	targets := clientSchema.targets(reader{}, &copied)
	for _, s := range itemSettings("clients")[:3] { // name, token_sha256 and class
		value := map[string]string{"name": c.Name, "token_sha256": c.TokenSHA256, "class": c.Class}[s.Key]
		s.bind(targets[s.Key])
		if s.set(value) != nil {
			return &Error{Name: s.Key, Value: value, Reason: lang.Textf("must be %s", s.Allowed)}
		}
	}
	return nil
}

func readClients(in source, node *yaml.Node, problems *errorList) []Client {
	if node != nil && node.Tag == "!!null" {
		return nil
	}
	return clientSchema.readAll(reader{in, problems}, node)
}

func checkUniqueClients(clients []Client, problems *errorList) {
	for i, c := range clients {
		for _, d := range clients[:i] {
			switch {
			case c.Name == d.Name:
				problems.reject(c.Place+": name", c.Name, lang.Textf("is also the name of the client at %s; names must be "+
					"unique", d.Place))
			case c.TokenSHA256 == d.TokenSHA256:
				problems.reject(c.Place+": token_sha256", "",
					lang.Textf("is also the token of the client at %s; give each client its own", d.Place))
			}
		}
	}
}

// ClientsFile returns the path of the file, in the data folder, with the clients made by `serve token`.
func ClientsFile(dataDir string) string { return filepath.Join(dataDir, "clients.yaml") }

const clientsVersion = 1

func readClientsFile(path string) ([]Client, error) {
	raw, err := readText(path)
	if err != nil || raw == nil {
		return nil, err
	}
	in := source{path: path, root: parseYAMLNode(raw), exists: true}
	if _, version := findKey(in.root, "version"); version == nil || version.Value != strconv.Itoa(clientsVersion) {
		return nil, &Error{
			Name:   path,
			Reason: "is not a list of clients that this version can read; update anivault, or move the file away",
		}
	}
	_, list := findKey(in.root, "clients")
	var problems errorList
	clients := readClients(in, list, &problems)
	return clients, problems.err()
}

func (c *Client) isFrom(path string) bool { return strings.HasPrefix(c.Place, path+":") }

// WithoutRevokedClients returns a copy of c without the clients that clients.yaml no longer has; c if it has all.
func (c *Config) WithoutRevokedClients() (*Config, error) {
	path := ClientsFile(c.Dirs.Data)
	now, err := readClientsFile(path)
	if err != nil {
		return c, err
	}
	if !fileExists(path) { // revoking the last token leaves a file with an empty list
		return c, nil
	}
	left := slices.DeleteFunc(slices.Clone(c.Serve.Clients), func(old Client) bool {
		return old.isFrom(path) &&
			!slices.ContainsFunc(now, func(c Client) bool { return c.TokenSHA256 == old.TokenSHA256 })
	})
	if len(left) == len(c.Serve.Clients) {
		return c, nil
	}
	out := *c
	out.Serve.Clients = left
	return &out, nil
}

// EditClients calls change with the clients of clients.yaml and writes the list that change returns. It replaces the
// file atomically, with mode 0600, and keeps its owner; if it is new, it gets that of its folder.
func EditClients(ctx context.Context, dataDir string, change func([]Client) ([]Client, error)) error {
	path, lock := ClientsFile(dataDir), filepath.Join(dataDir, ".clients.lock")
	if err := lockfile.MkdirAll(dataDir); err != nil {
		return lang.Error("make the data folder: %w", err)
	}
	owner := ownerOf(path, dataDir)
	release, err := lockfile.Acquire(ctx, lock, lockfile.Exclusive, 5*time.Second)
	if err != nil {
		return err
	}
	defer release()
	clients, err := readClientsFile(path)
	if err != nil {
		return err
	}
	if clients, err = change(clients); err != nil {
		return err
	}
	text := clientsText(clients)
	if len(text) > maxFileSize {
		return fileError(path, lang.Textf("would be larger than %d bytes: revoke clients that you don't need", maxFileSize))
	}
	if err := atomicfile.WriteText(path, 0o600, text); err != nil {
		return err
	}
	return owner.applyTo(lock, path)
}

func clientsText(clients []Client) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# made by: anivault serve token\nversion: %d\nclients:\n", clientsVersion)
	for _, c := range clients {
		fmt.Fprintf(&b, "  - {name: %s, token_sha256: %q, class: %s, weight: %d", c.Name, c.TokenSHA256, c.Class, c.Weight)
		for _, l := range []struct {
			key   string
			limit ratelimit.Budget
		}{{"requests", c.Requests}, {"upstream", c.Upstream}} {
			if l.limit.On() {
				fmt.Fprintf(&b, ", %s: %s", l.key, l.limit)
			}
		}
		if c.Admin {
			b.WriteString(", admin: true")
		}
		if !c.Created.IsZero() {
			fmt.Fprintf(&b, ", made: %s", c.Created.UTC().Format(time.RFC3339))
		}
		b.WriteString("}\n")
	}
	return b.Bytes()
}

type reader struct {
	source   source
	problems *errorList
}

func (r reader) reject(n *yaml.Node, key, value string, reason lang.Text) {
	r.problems.reject(r.place(n)+": "+key, value, reason)
}

func (r reader) place(n *yaml.Node) string { return fmt.Sprintf("%s:%d", r.source.path, n.Line) }

// listSchema describes a list of sections in the config file, such as accounts. T is the type of an item.
type listSchema[T any] struct {
	key        string    // the key of the list
	notList    lang.Text // the error if the value is not a list
	notSection lang.Text // the error if an item is not a section
	unknown    string    // the error for an unknown key: a format string for the list of known keys
	prefix     string    // precedes each key in errors
	newItem    func(place string) T
	targets    func(reader, *T) map[string]any // by key: what Setting.bind takes, or a func that reads a list
	checkItem  func(reader, *yaml.Node, *T)    // checks all fields together
}

//go:embed items.json
var itemsJSON []byte

var itemRows = wordlist.Table[Setting](itemsJSON)

// itemSettings returns the settings of an item of a list. Their keys are without the list's.
func itemSettings(list string) (out []Setting) {
	for _, s := range itemRows() {
		if in, key, _ := strings.Cut(s.Key, "."); in == list {
			s.Key = key
			out = append(out, s)
		}
	}
	if list == "accounts" {
		for _, f := range ratelimit.AccountFields() {
			out = append(out, Setting{Key: f.Key, Allowed: lang.Text(f.Allowed)})
		}
	}
	return out
}

func (rec listSchema[T]) readAll(r reader, list *yaml.Node) (out []T) {
	switch {
	case list == nil:
		return nil
	case list.Kind != yaml.SequenceNode:
		r.reject(list, rec.key, "", rec.notList)
		return nil
	}
	for _, item := range list.Content {
		if item.Kind != yaml.MappingNode {
			r.reject(item, rec.key, "", rec.notSection)
			continue
		}
		one := rec.newItem(r.place(item))
		targets := rec.targets(r, &one)
		for i := 0; i+1 < len(item.Content); i += 2 {
			rec.readField(r, targets, item.Content[i], item.Content[i+1])
		}
		rec.checkItem(r, item, &one)
		out = append(out, one)
	}
	return out
}

func (rec listSchema[T]) readField(r reader, targets map[string]any, key, v *yaml.Node) {
	settings := itemSettings(rec.key)
	i := slices.IndexFunc(settings, func(s Setting) bool { return s.Key == key.Value })
	if i < 0 {
		known := slicesx.Map(settings, func(s Setting) string { return s.Key })
		r.reject(key, key.Value, "", lang.Textf(rec.unknown, strings.Join(known, ", ")))
		return
	}
	s := settings[i]
	if read, isList := targets[s.Key].(func(*yaml.Node)); isList {
		read(v)
		return
	}
	if s.bind(targets[s.Key]); v.Kind != yaml.ScalarNode || s.set(v.Value) != nil {
		shown := v.Value
		if s.Secret {
			shown = ""
		}
		r.reject(v, rec.prefix+s.Key, shown, lang.Textf("must be %s", s.Allowed))
	}
}
