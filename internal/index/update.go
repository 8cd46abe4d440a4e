package index

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/lockfile"
)

// Addresses are the URLs of each list, tried in order; a list without any is not downloaded. TMDBExports are folders
// with the exports.
type Addresses struct {
	AnimeLists  []string `setting:"index.anime_lists_url"`
	AniDBTitles []string `setting:"index.anidb_titles_url"`
	TMDBExports []string `setting:"index.tmdb_exports_url"`
	AnimeIDs    []string `setting:"index.anime_ids_url"`
}

// CheckAddress returns an error unless lists may be downloaded from an address: it must be https, or http on this
// machine. The error says what is allowed.
func CheckAddress(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "":
		return lang.Error("must be an https URL, or off")
	case u.User != nil:
		return lang.Error("must not have a user or password")
	case u.Scheme == "https",
		u.Scheme == "http" && (u.Hostname() == "localhost" || net.ParseIP(u.Hostname()).IsLoopback()):
		return nil
	}
	return lang.Error("must be an https URL (http on this machine only), or off")
}

// Updater downloads lists, only over https (or http from this machine), and only those that have changed. It downloads
// AniDB's list at most once a day, as AniDB asks.
type Updater struct {
	Dir       string // the data folder
	Addresses Addresses
	Client    *http.Client
	UserAgent string
	Now       func() time.Time
	Say       func(what string) // called with each URL before it is requested; may be nil
}

// Outcome says what happened to a source. Err is why it could not be downloaded or imported. Unchanged means that the
// imported list is current.
type Outcome struct {
	Source    Source
	Unchanged bool
	Err       error
	Refused   error      // a warning: why an earlier address failed, or that no address has a newer list
	Info      SourceInfo // what was imported; the last list, which is kept, if nothing was
}

const (
	maxDownload      = 1 << 30
	minAniDBInterval = 24 * time.Hour // for AniDB's titles
	maxExportDays    = 3              // TMDB publishes an export at 08:00 UTC, so the newest may be yesterday's
	maxRedirects     = 5
)

var errNoSuchFile = lang.Error("there is no such file")

// Update downloads the lists that have changed and imports them together. If a source fails, its Outcome has the error,
// and the others go on. Only one process updates at a time.
func (u Updater) Update(ctx context.Context) ([]Outcome, error) {
	if err := lockfile.MkdirAll(u.Dir); err != nil {
		return nil, lang.Error("make the data folder: %w", err)
	}
	unlock, err := lockfile.Acquire(ctx, filepath.Join(u.Dir, FileName+".update.lock"), lockfile.Exclusive, lockTimeout)
	if err != nil {
		return nil, lang.Error("wait for another update: %w", err)
	}
	defer unlock()
	removeLeftovers(u.Dir, fetchPrefix)
	work, err := os.MkdirTemp(u.Dir, fetchPrefix)
	if err != nil {
		return nil, lang.Error("make a scratch folder: %w", err)
	}
	defer os.RemoveAll(work)
	known := map[Source]SourceInfo{}
	if x, err := Open(u.Dir); err == nil {
		infos, _, err := x.Stats()
		if err = errors.Join(err, x.Close()); err == nil {
			for _, i := range infos {
				known[i.Source] = i
			}
		}
	}
	wanted := u.wantedLists()
	outcomes := make([]Outcome, len(wanted))
	fetch := func(i int) *listFile {
		return u.fetchNewest(ctx, &wanted[i], known[wanted[i].source], work, &outcomes[i])
	}
	var inputs []listFile
	for i, w := range wanted {
		outcomes[i].Source, outcomes[i].Info = w.source, known[w.source]
		if in := fetch(i); in != nil {
			inputs = append(inputs, *in)
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	return outcomes, u.importAll(ctx, inputs, outcomes, fetch)
}

// importAll imports the files. Where one is refused, it takes the next address of its list.
func (u Updater) importAll(
	ctx context.Context, inputs []listFile, outcomes []Outcome, fetchNext func(int) *listFile,
) error {
	of := func(s Source) int {
		return slices.IndexFunc(outcomes, func(o Outcome) bool { return o.Source == s })
	}
	for len(inputs) > 0 {
		infos, err := importInputs(ctx, u.Dir, inputs, u.Now())
		for _, info := range infos {
			o := &outcomes[of(info.Source)]
			o.Info, o.Refused, o.Err = info, o.Err, nil
		}
		var fault *ImportError
		if !errors.As(err, &fault) {
			return err
		}
		bad := slices.IndexFunc(inputs, func(in listFile) bool { return in.url == fault.File })
		if bad < 0 {
			return err
		}
		i := of(inputs[bad].wantSource)
		outcomes[i].refuse(err)
		inputs = slices.Delete(inputs, bad, bad+1)
		if in := fetchNext(i); in != nil {
			inputs = append(inputs, *in)
		} else if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return nil
}

// refuse keeps the reason that tells most: a missing file comes after everything else.
func (o *Outcome) refuse(err error) {
	if o.Err == nil || errors.Is(o.Err, errNoSuchFile) {
		o.Err = err
	}
}

const fetchPrefix = ".fetch-"

type wantedList struct {
	source Source
	urls   []string
}

func (u Updater) wantedLists() []wantedList {
	lists := []wantedList{
		{AnimeLists, u.Addresses.AnimeLists},
		{AniDB, u.Addresses.AniDBTitles},
		{AnimeIDs, u.Addresses.AnimeIDs},
		{TVExport, u.exportURLs("tv_series_ids")},
		{FilmExport, u.exportURLs("movie_ids")},
	}
	return slices.DeleteFunc(lists, func(w wantedList) bool { return len(w.urls) == 0 })
}

func (u Updater) exportURLs(name string) (urls []string) {
	for day := range maxExportDays {
		date := u.Now().UTC().AddDate(0, 0, -day).Format("01_02_2006")
		for _, folder := range u.Addresses.TMDBExports {
			urls = append(urls, strings.TrimRight(folder, "/")+"/"+name+"_"+date+".json.gz")
		}
	}
	return urls
}

// fetchNewest downloads the list from the first of its remaining addresses that has it, and removes those it has tried.
// It returns nil if there is nothing to import.
func (u Updater) fetchNewest(
	ctx context.Context, w *wantedList, last SourceInfo, work string, out *Outcome,
) *listFile {
	isExport := w.source == TVExport || w.source == FilmExport
	for len(w.urls) > 0 && ctx.Err() == nil {
		address := w.urls[0]
		w.urls = w.urls[1:]
		known, same := last, last.URL == address
		if same && (isExport || // an export never changes once published
			w.source == AniDB && u.Now().Sub(last.Imported) < minAniDBInterval && !last.Imported.After(u.Now())) {
			out.Unchanged, out.Refused, out.Err, w.urls = true, nil, nil, nil
			return nil
		}
		if u.Say != nil {
			u.Say(address)
		}
		if !same {
			known.ETag, known.Modified = "", ""
		}
		in, err := u.fetch(ctx, w.source, address, known, work)
		switch {
		case err == nil && in != nil:
			in.last = last
			return in
		case err == nil && last.IsStale(u.Now()):
			out.refuse(importError(address, &staleError{last.Grew}))
		case err == nil:
			out.Unchanged, out.Refused, out.Err, w.urls = true, out.Err, nil, nil
			return nil
		default:
			out.refuse(err)
			if isExport && !errors.Is(err, errNoSuchFile) { // the other days would fail alike
				w.urls = slices.DeleteFunc(w.urls, func(u string) bool { return path.Dir(u) == path.Dir(address) })
			}
		}
	}
	if errors.As(out.Err, new(*staleError)) {
		out.Unchanged, out.Refused, out.Err = true, out.Err, nil
	}
	return nil
}

func (u Updater) fetch(
	ctx context.Context, source Source, address string, known SourceInfo, work string,
) (*listFile, error) {
	if err := CheckAddress(address); err != nil {
		return nil, fmt.Errorf("%s: %w", address, err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	for name, value := range map[string]string{
		"User-Agent": u.UserAgent, "If-None-Match": known.ETag, "If-Modified-Since": known.Modified,
	} {
		if value != "" {
			req.Header.Set(name, value)
		}
	}
	resp, err := u.client().Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	switch {
	case resp.StatusCode == http.StatusNotModified:
		return nil, nil
	case resp.StatusCode == http.StatusNotFound,
		resp.StatusCode == http.StatusForbidden && source != AniDB: // cloud storage answers so for a missing file
		return nil, fmt.Errorf("%s: %s: %w", address, resp.Status, errNoSuchFile)
	case resp.StatusCode != http.StatusOK:
		return nil, lang.Error("%s: the server answered %s", address, resp.Status)
	}
	f, err := os.CreateTemp(work, string(source))
	if err != nil {
		return nil, err
	}
	n, err := io.Copy(f, io.LimitReader(resp.Body, maxDownload+1))
	if err == nil && n > maxDownload {
		err = lang.Error("it is larger than %d GiB", maxDownload>>30)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, fmt.Errorf("%s: %w", address, err)
	}
	return &listFile{
		path: f.Name(), name: path.Base(req.URL.Path), url: address, wantSource: source,
		etag: resp.Header.Get("ETag"), modified: resp.Header.Get("Last-Modified"),
	}, nil
}

func (u Updater) client() *http.Client {
	c := *u.Client
	c.CheckRedirect = func(req *http.Request, via []*http.Request) error {
		if len(via) >= maxRedirects {
			return lang.Error("too many redirects")
		}
		return CheckAddress(req.URL.String())
	}
	return &c
}
