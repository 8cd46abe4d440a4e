package config

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/anivault/anivault/internal/atomicfile"
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

// Names, classes and hashes as they are written.
var (
	clientName  = regexp.MustCompile(`^[a-z0-9-]{1,32}$`)
	clientHash  = regexp.MustCompile(`^[0-9a-f]{64}$`)
	clientClass = []string{"interactive", "batch"}
)

// Anonymous is the name of all who ask without a token.
const Anonymous = "anonymous"

var clientRecord = record[Client]{
	list: "clients", unknown: "is not a setting of a client; there are %s",
	form:  "each client is a section with name and token_sha256; see: anivault serve token new",
	begin: func(place string) Client { return Client{Class: "interactive", Weight: 1, Place: place} },
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

// readClients reads a list of clients; node is nil where there is none.
func readClients(in source, node *yaml.Node, bad *faults) []Client {
	if node == nil || node.Tag == "!!null" {
		return nil
	}
	r := reader{in, bad}
	if node.Kind != yaml.SequenceNode {
		r.refuse(node, "clients", "", "must be a list of clients, such as - {name: bitmagnet, token_sha256: \"...\"}")
		return nil
	}
	return clientRecord.readAll(r, node)
}

// unique refuses clients that share a name or a token.
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

// clientsVersion is the form of clients.yaml.
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

// WithoutRevoked returns c without the clients that were taken out of clients.yaml since it was read, or c itself where
// none was. Nothing else is read anew.
func (c *Config) WithoutRevoked() (*Config, error) {
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
	if err := atomicfile.Write(path, 0o600, func(w io.Writer) error {
		_, err := w.Write(clientsText(clients))
		return err
	}); err != nil {
		return err
	}
	return errors.Join(owner.give(dataDir), owner.give(filepath.Join(dataDir, ".clients.lock")), owner.give(path))
}

// clientsText writes what readClientsFile reads.
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
