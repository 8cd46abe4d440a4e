package tmdb

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

const maxRedirects = 5

// CheckRedirect is an http.Client.CheckRedirect that keeps a credential at the server it was meant for. It follows a
// redirect on the same scheme, host and port, or from http to https on the same host and port (or from port 80 to
// 443). Any other redirect, and the sixth in a row, is a *ConfigError.
func CheckRedirect(req *http.Request, via []*http.Request) error {
	if len(via) == 0 {
		return nil
	}
	if len(via) > maxRedirects {
		err := fmt.Errorf("more than %d redirects in a row", maxRedirects)
		return &ConfigError{Kind: ConfigRedirect, Host: req.URL.Host, Err: err}
	}
	if err := refuseRedirect(via[0].URL, req.URL); err != nil {
		return err
	}
	return nil
}

// refuseRedirect returns nil for a redirect that may be followed.
func refuseRedirect(from, to *url.URL) *ConfigError {
	switch {
	case !strings.EqualFold(from.Hostname(), to.Hostname()):
		return &ConfigError{Kind: ConfigRedirect, Host: to.Host}
	case from.Scheme == "https" && to.Scheme != "https":
		return &ConfigError{Kind: ConfigDowngrade, Host: to.Host}
	case portOf(from) != portOf(to) && !(isDefaultPort(from) && isDefaultPort(to)):
		return &ConfigError{Kind: ConfigRedirect, Host: to.Host} // another port is another server
	}
	return nil
}

func isDefaultPort(u *url.URL) bool { return portOf(u) == portOf(&url.URL{Scheme: u.Scheme}) }

func portOf(u *url.URL) string {
	if port := u.Port(); port != "" {
		return port
	}
	if u.Scheme == "https" {
		return "443"
	}
	return "80"
}

// redirectTarget returns the address that an answer redirects to, nil if none.
func redirectTarget(req *http.Request, resp *http.Response) *url.URL {
	switch resp.StatusCode {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther,
		http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
	default:
		return nil
	}
	location := resp.Header.Get("Location")
	if location == "" || req == nil || req.URL == nil {
		return nil
	}
	to, err := req.URL.Parse(location)
	if err != nil {
		return nil
	}
	return to
}
