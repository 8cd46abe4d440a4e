package notify

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/anivault/anivault/internal/config"
	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/organize"
	"github.com/anivault/anivault/internal/report"
	"github.com/anivault/anivault/internal/slicesx"
)

const (
	requestTimeout = 10 * time.Second
	mostAnswer     = 4 << 20
)

func newClient() *http.Client {
	return &http.Client{
		Timeout: requestTimeout,
		// The other address would get the token.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

func send(ctx context.Context, client *http.Client, t *config.NotifyTarget, n *Notice) error {
	c := call{t, client, ctx}
	mappings := slicesx.Map(t.Paths, resolveMapping)
	folders := slicesx.Map(n.Folders, func(folder string) string { return serverPath(mappings, folder) })
	switch t.Kind {
	case "jellyfin", "emby":
		type update struct{ Path, UpdateType string }
		var body struct{ Updates []update }
		body.Updates = slicesx.Map(folders, func(folder string) update { return update{folder, "Modified"} })
		return c.postJSON("/Library/Media/Updated", body, nil)
	case "plex":
		return c.refreshPlex(folders)
	case "kodi":
		return errors.Join(slicesx.Map(folders, func(folder string) error {
			return c.kodi("VideoLibrary.Scan", map[string]any{"directory": strings.TrimSuffix(folder, "/") + "/"})
		})...)
	case "ntfy":
		return c.do(http.MethodPost, "", strings.NewReader(n.Text), http.Header{
			"Title": {mime.QEncoding.Encode("utf-8", n.title())},
		}, nil)
	default:
		body, err := n.body(t.Template)
		if err != nil {
			return err
		}
		return c.do(http.MethodPost, "", bytes.NewReader(body), http.Header{"Content-Type": {"application/json"}}, nil)
	}
}

// Check asks a media server for something that needs the token. Other targets get a test message.
func Check(ctx context.Context, t *config.NotifyTarget) error {
	c := call{t, newClient(), ctx}
	switch t.Kind {
	case "kodi":
		return c.kodi("JSONRPC.Version", map[string]any{})
	case "plex":
		return c.do(http.MethodGet, "/library/sections", nil, nil, nil)
	case "jellyfin", "emby":
		return c.do(http.MethodGet, "/System/Info", nil, nil, nil)
	}
	return send(ctx, c.client, t, &Notice{Event: Changed, At: time.Now(), Text: "a test by anivault doctor"})
}

// resolveMapping resolves the symbolic links of our folder, as those of the folders in a notice are resolved.
func resolveMapping(m config.PathMapping) config.PathMapping {
	m.From, m.To = path.Clean(m.From), strings.TrimSuffix(m.To, "/")
	if real, err := filepath.EvalSymlinks(m.From); err == nil {
		m.From = filepath.ToSlash(real)
	}
	return m
}

// serverPath returns the server's path of one of our folders, by the longest mapping that contains it.
func serverPath(mappings []config.PathMapping, folder string) string {
	best := config.PathMapping{}
	for _, m := range mappings {
		if organize.IsBelow(folder, m.From) && len(m.From) >= len(best.From) {
			best = m
		}
	}
	return cmp.Or(best.To+strings.TrimPrefix(folder, best.From), "/")
}

func (n *Notice) title() string { return "anivault: " + n.Event }

// Fields are the placeholders of a template: {event} and so on.
var Fields = []string{"event", "run", "at", "folders", "title", "text"}

// body returns the notice as JSON, or a template with its placeholders replaced by values that are escaped for JSON.
func (n *Notice) body(template string) ([]byte, error) {
	if template == "" {
		return report.AppendJSON(nil, n)
	}
	var pairs []string
	for i, value := range []string{
		n.Event, n.Run, n.At.UTC().Format(time.RFC3339), strings.Join(n.Folders, "\n"), n.title(), n.Text,
	} {
		quoted, err := json.Marshal(value)
		if err != nil {
			return nil, err
		}
		pairs = append(pairs, "{"+Fields[i]+"}", string(quoted[1:len(quoted)-1]))
	}
	return []byte(strings.NewReplacer(pairs...).Replace(template)), nil
}

type call struct {
	*config.NotifyTarget
	client *http.Client
	ctx    context.Context //nolint:containedctx // a call is short
}

// refreshPlex asks Plex to scan folders, each in the section of the library that contains it.
func (c call) refreshPlex(folders []string) error {
	var answer struct {
		MediaContainer struct {
			Directory []struct {
				Key      string
				Location []struct{ Path string }
			}
		}
	}
	if err := c.do(http.MethodGet, "/library/sections", nil, nil, &answer); err != nil {
		return err
	}
	var errs []error
	for _, folder := range folders {
		found := false
		for _, section := range answer.MediaContainer.Directory {
			holds := func(l struct{ Path string }) bool { return organize.IsBelow(folder, l.Path) }
			if slices.ContainsFunc(section.Location, holds) {
				found = true
				errs = append(errs, c.do(http.MethodGet,
					"/library/sections/"+url.PathEscape(section.Key)+"/refresh?path="+url.QueryEscape(folder), nil, nil, nil))
			}
		}
		if !found {
			errs = append(errs, lang.Error("no section of Plex contains %s; check the setting notify.paths", folder))
		}
	}
	return errors.Join(errs...)
}

func (c call) kodi(method string, params any) error {
	var answer struct {
		Error *struct{ Message string }
	}
	request := map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
	if err := c.postJSON("/jsonrpc", request, &answer); err != nil {
		return err
	}
	if answer.Error != nil {
		return lang.Error("the server refuses: %s", answer.Error.Message)
	}
	return nil
}

func (c call) postJSON(at string, value, answer any) error {
	body, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return c.do(http.MethodPost, at, bytes.NewReader(body), http.Header{"Content-Type": {"application/json"}}, answer)
}

// do sends a request to a path below the target's address, with its token. It decodes the answer unless it is nil.
func (c call) do(method, at string, body io.Reader, header http.Header, answer any) error {
	address := *c.URL
	if at != "" {
		add, err := url.Parse(at)
		if err != nil {
			return err
		}
		address.Path, address.RawQuery = path.Join("/", address.Path, add.Path), add.RawQuery
	}
	req, err := http.NewRequestWithContext(c.ctx, method, address.String(), body)
	if err != nil {
		return lang.Error("%s is not an address", c.Name())
	}
	maps.Copy(req.Header, header)
	req.Header.Set("Accept", "application/json")
	c.authorize(req)
	resp, err := c.client.Do(req)
	if err != nil {
		if of, ok := errors.AsType[*url.Error](err); ok {
			err = of.Err // the message already names the target, and the address may hold a secret
		}
		return err
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(resp.Body, mostAnswer))
	switch {
	case resp.StatusCode >= 300:
		return lang.Error("the answer is %s", resp.Status)
	case err != nil:
		return err
	case answer != nil && json.Unmarshal(raw, answer) != nil:
		return lang.Error("the answer is not JSON: is this the address of %s?", c.Kind)
	}
	return nil
}

func (c call) authorize(req *http.Request) {
	token := c.Token.Reveal()
	if token == "" {
		return
	}
	switch c.Kind {
	case "jellyfin":
		req.Header.Set("Authorization", `MediaBrowser Token="`+token+`"`)
	case "emby":
		req.Header.Set("X-Emby-Token", token)
	case "plex":
		req.Header.Set("X-Plex-Token", token)
	case "kodi":
		user, password, ok := strings.Cut(token, ":")
		if !ok {
			user, password = "kodi", token
		}
		req.SetBasicAuth(user, password)
	default:
		req.Header.Set("Authorization", "Bearer "+token)
	}
}
