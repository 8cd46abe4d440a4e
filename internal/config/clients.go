package config

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/lockfile"
	"github.com/anivault/anivault/ratelimit"
)

// Client is who may ask the gateway. Its token is known by its hash alone.
type Client struct {
	Name        string
	TokenSHA256 string // 64 hex digits
	Class       string // "interactive" or "batch": the best it can have
	Weight      int    // requests a turn, 1 to 100
	Requests    ratelimit.Budget
	Upstream    ratelimit.Budget // of its requests, those that go to TMDB
	Admin       bool
	Made        time.Time // zero where nobody noted it
	Place       string    // file and line
}

// TokenHash returns the hash by which a token is known: 64 lower-case hex digits.
func TokenHash(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

var (
	clientName  = regexp.MustCompile(`^[a-z0-9-]{1,32}$`)
	clientHash  = regexp.MustCompile(`^[0-9a-f]{64}$`)
	clientClass = []string{"interactive", "batch"}
)

// Anonymous is the name of all who ask without a token.
const Anonymous = "anonymous"

var clientRecord = record[Client]{
	list: "clients", unknown: "is not a setting of a client; there are %s",
	notList: "must be a list of clients, such as - {name: bitmagnet, token_sha256: \"...\"}",
	form:    "each client is a section with name and token_sha256; see: anivault serve token new",
	begin:   func(place string) Client { return Client{Class: "interactive", Weight: 1, Place: place} },
	fields: []recordField[Client]{
		{key: "name", allowed: "1 to 32 of a-z, 0-9 and -, not " + Anonymous, take: func(c *Client, v string) bool {
			c.Name = v
			return clientName.MatchString(v) && v != Anonymous
		}},
		{
			key: "token_sha256", allowed: "64 lower-case hex digits, the SHA-256 of the token",
			secret: true, // people put the token itself there
			take: func(c *Client, v string) bool {
				c.TokenSHA256 = v
				return clientHash.MatchString(v)
			},
		},
		{key: "class", allowed: "interactive or batch", take: func(c *Client, v string) bool {
			c.Class = v
			return slices.Contains(clientClass, v)
		}},
		{key: "weight", allowed: "a whole number from 1 to 100", take: func(c *Client, v string) bool {
			return takeWhole(&c.Weight, v, 1, 100)
		}},
		{key: "requests", allowed: "a number in a time, such as 6000/1m, or off", take: func(c *Client, v string) bool {
			return takeLimit(&c.Requests, v)
		}},
		{key: "upstream", allowed: "a number in a time, such as 600/1m, or off", take: func(c *Client, v string) bool {
			return takeLimit(&c.Upstream, v)
		}},
		{key: "admin", allowed: "true or false", take: func(c *Client, v string) bool {
			b, err := strconv.ParseBool(v)
			c.Admin = b
			return err == nil
		}},
		{key: "made", allowed: "a time such as 2026-11-22T12:00:00Z", take: func(c *Client, v string) bool {
			at, err := time.Parse(time.RFC3339, v)
			c.Made = at
			return err == nil
		}},
	},
	check: func(r reader, item *yaml.Node, c *Client) {
		if c.Name == "" || c.TokenSHA256 == "" {
			r.refuse(item, "clients", c.Name,
				"a client needs name and token_sha256; make one with: anivault serve token new NAME")
		}
	},
}

func takeLimit(to *ratelimit.Budget, v string) bool {
	var t ratelimit.Tuning
	field, _ := ratelimit.FieldByKey("budget")
	err := field.Set(&t, v)
	*to = t.Budget
	return err == nil
}

// Check returns an *Error for a client that could not stand in a file.
func (c Client) Check() error {
	for _, f := range clientRecord.fields[:3] { // what serve token writes
		value := map[string]string{"name": c.Name, "token_sha256": c.TokenSHA256, "class": c.Class}[f.key]
		var copied Client
		if !f.take(&copied, value) {
			return &Error{Name: f.key, Value: value, Reason: lang.Textf("must be %s", f.allowed)}
		}
	}
	return nil
}

func readClients(in source, node *yaml.Node, bad *faults) []Client {
	if node == nil || node.Tag == "!!null" {
		return nil
	}
	return clientRecord.readAll(reader{in, bad}, node)
}

func unique(clients []Client, bad *faults) {
	for i, c := range clients {
		for _, d := range clients[:i] {
			switch {
			case c.Name == d.Name:
				bad.refuse(c.Place+": name", c.Name, lang.Textf("is the name of the client at %s too; names are unique", d.Place))
			case c.TokenSHA256 == d.TokenSHA256:
				bad.refuse(c.Place+": token_sha256", "",
					lang.Textf("is that of the client at %s too; each has a token of its own", d.Place))
			}
		}
	}
}

// ClientsFile is the file of the clients that `serve token` makes, in the data folder.
func ClientsFile(dataDir string) string { return filepath.Join(dataDir, "clients.yaml") }

const clientsVersion = 1

// readClientsFile reads clients.yaml; none where it is missing.
func readClientsFile(path string, bad *faults) ([]Client, error) {
	raw, err := readText(path)
	if err != nil || raw == nil {
		return nil, err
	}
	in := source{path, document(raw)}
	if _, version := child(in.top, "version"); version == nil || version.Value != strconv.Itoa(clientsVersion) {
		return nil, &Error{
			Name:   path,
			Reason: "is not a list of clients that this version can read; update anivault, or move the file away",
		}
	}
	_, list := child(in.top, "clients")
	return readClients(in, list, bad), nil
}

// WithoutRevokedClients returns c without the clients that were taken out of clients.yaml since it was read, or c
// itself where none was. Nothing else is read anew.
func (c *Config) WithoutRevokedClients() (*Config, error) {
	path := ClientsFile(c.Dirs.Data)
	var bad faults
	now, err := readClientsFile(path, &bad)
	if err = errors.Join(err, bad.err()); err != nil {
		return c, err
	}
	left := slices.DeleteFunc(slices.Clone(c.Serve.Clients), func(was Client) bool {
		return strings.HasPrefix(was.Place, path+":") &&
			!slices.ContainsFunc(now, func(is Client) bool { return is.TokenSHA256 == was.TokenSHA256 })
	})
	if len(left) == len(c.Serve.Clients) {
		return c, nil
	}
	out := *c
	out.Serve.Clients = left
	return &out, nil
}

// EditClients changes clients.yaml: change gets its clients and returns those that are written back. The file is 0600,
// written whole or not at all, and keeps its owner.
func EditClients(ctx context.Context, dataDir string, change func([]Client) ([]Client, error)) error {
	path := ClientsFile(dataDir)
	owner := ownerOf(path, dataDir, filepath.Dir(dataDir))
	if err := os.MkdirAll(dataDir, 0o700); err != nil {
		return lang.Error("make the data folder: %w", err)
	}
	release, err := lockfile.Acquire(ctx, filepath.Join(dataDir, ".clients.lock"), lockfile.Exclusive, 5*time.Second)
	if err != nil {
		return err
	}
	defer release()
	var bad faults
	clients, err := readClientsFile(path, &bad)
	if err = errors.Join(err, bad.err()); err != nil {
		return err
	}
	if clients, err = change(clients); err != nil {
		return err
	}
	if err := writeFile(path, clientsText(clients)); err != nil {
		return err
	}
	return errors.Join(owner.give(dataDir), owner.give(filepath.Join(dataDir, ".clients.lock")), owner.give(path))
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
		if !c.Made.IsZero() {
			fmt.Fprintf(&b, ", made: %s", c.Made.UTC().Format(time.RFC3339))
		}
		b.WriteString("}\n")
	}
	return b.Bytes()
}

// reader reads the lists of a file that are more than settings, and collects what can't be used.
type reader struct {
	in  source
	bad *faults
}

func (r reader) refuse(n *yaml.Node, key, value string, reason lang.Text) {
	r.bad.refuse(r.place(n)+": "+key, value, reason)
}

func (r reader) place(n *yaml.Node) string { return fmt.Sprintf("%s:%d", r.in.path, n.Line) }

type record[T any] struct {
	list    string    // the key of the list
	notList lang.Text // what is said where it is none
	form    lang.Text // what each item must be
	unknown string    // what is said of a key that is none of fields, a format for their names
	prefix  string    // of keys in errors
	fields  []recordField[T]
	begin   func(place string) T
	check   func(reader, *yaml.Node, *T) // of all fields together
}

// recordField is a key of a record. It holds a single value, or else what read reads.
type recordField[T any] struct {
	key     string
	allowed lang.Text
	take    func(*T, string) bool // reports whether it may be that value
	read    func(reader, *T, *yaml.Node)
	secret  bool // no error shows what people put there
}

func (rec record[T]) keys() string {
	var keys []string
	for _, f := range rec.fields {
		keys = append(keys, f.key)
	}
	return strings.Join(keys, ", ")
}

func (rec record[T]) readAll(r reader, list *yaml.Node) (out []T) {
	if list.Kind != yaml.SequenceNode {
		r.refuse(list, rec.list, "", rec.notList)
		return nil
	}
	for _, item := range list.Content {
		if item.Kind != yaml.MappingNode {
			r.refuse(item, rec.list, "", rec.form)
			continue
		}
		one := rec.begin(r.place(item))
		for i := 0; i+1 < len(item.Content); i += 2 {
			rec.readField(r, &one, item.Content[i], item.Content[i+1])
		}
		rec.check(r, item, &one)
		out = append(out, one)
	}
	return out
}

func (rec record[T]) readField(r reader, to *T, key, v *yaml.Node) {
	i := slices.IndexFunc(rec.fields, func(f recordField[T]) bool { return f.key == key.Value })
	if i < 0 {
		r.refuse(key, key.Value, "", lang.Textf(rec.unknown, rec.keys()))
		return
	}
	switch f := rec.fields[i]; {
	case f.read != nil:
		f.read(r, to, v)
	case v.Kind != yaml.ScalarNode || !f.take(to, v.Value):
		shown := v.Value
		if f.secret {
			shown = ""
		}
		r.refuse(v, rec.prefix+f.key, shown, lang.Textf("must be %s", f.allowed))
	}
}
