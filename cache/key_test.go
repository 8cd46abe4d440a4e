package cache

import (
	"net/url"
	"strings"
	"testing"
)

func TestKeyIsTheQuestionWithoutTheAsker(t *testing.T) {
	rows := []struct{ method, url, key string }{
		{"GET", "https://api.example.org/3/tv/1", "GET https://api.example.org:443/3/tv/1"},
		{"", "http://API.Example.org", "GET http://api.example.org:80/"},
		{"GET", "http://[::1]:8080/3/tv/1#part", "GET http://[::1]:8080/3/tv/1"},
		{"GET", "https://user:pass@h/3/tv/1", "GET https://h:443/3/tv/1"},
		{"GET", "https://h/3/search/tv?query=A+b&language=en-US", "GET https://h:443/3/search/tv?language=en-US&query=A+b"},
		{"GET", "https://h/3/search/tv?language=en-US&query=A%20b", "GET https://h:443/3/search/tv?language=en-US&query=A+b"},
		{"GET", "https://h/x?b=2&a=1&b=1", "GET https://h:443/x?a=1&b=2&b=1"},
		{"GET", "https://h/x?api_key=S&a=1", "GET https://h:443/x?a=1"},
		{"GET", "https://h/x?a=1;api_key=S", "GET https://h:443/x?a=1"},
		{
			"GET", "https://h/x?API%5FKEY=S&Session_Id=S&guest_session_id=S&access_token=S&request_token=S",
			"GET https://h:443/x",
		},
		{"GET", "https://h/x?api_key=%zzS", "GET https://h:443/x"},
		{"GET", "https://h/x?q=%zz", "GET https://h:443/x?q=%25zz"},
		{"GET", "https://h/x?flag&q=", "GET https://h:443/x?flag&q="},
		{"GET", "https://h/a%2Fb", "GET https://h:443/a%2Fb"},
		{
			"GET", "https://h/3/tv/1?append_to_response=season/1,season/2",
			"GET https://h:443/3/tv/1?append_to_response=season%2F1%2Cseason%2F2",
		},
		{"GET", "https://h/x?query=Kimi&language=ja", "GET https://h:443/x?language=ja&query=Kimi"},
		{"GET", "https://h/x?query=kimi&language=ja", "GET https://h:443/x?language=ja&query=kimi"},
	}
	for _, r := range rows {
		u, err := url.Parse(r.url)
		if err != nil {
			t.Fatal(err)
		}
		if got := KeyOf(r.method, u); got != r.key {
			t.Errorf("%s\n got %s\nwant %s", r.url, got, r.key)
		}
	}
}

func TestParseKeyTakesKeysAndURLs(t *testing.T) {
	rows := []struct {
		text, key string
		ok        bool
	}{
		{"https://h/3/tv/1?api_key=S", "GET https://h:443/3/tv/1", true},
		{" GET https://h:443/3/tv/1 ", "GET https://h:443/3/tv/1", true},
		{"3/tv/1", "", false},
		{"", "", false},
		{"GET /3/tv/1", "", false},
		{"G3T https://h/", "", false},
	}
	for _, r := range rows {
		key, ok := ParseKey(r.text)
		if ok != r.ok || key != r.key {
			t.Errorf("%q: got %q %v", r.text, key, ok)
		}
	}
}

func FuzzKey(f *testing.F) {
	f.Add("https://h/3/tv/1?language=en-US&api_key=SECRETSECRET")
	f.Add("https://h/x?a;API%5fKEY=SECRETSECRET&=&&;=")
	f.Add("http://[::1]:1/%2F?%zz=%zz")
	f.Fuzz(func(t *testing.T, text string) {
		u, err := url.Parse(text)
		if err != nil || u.Host == "" {
			return
		}
		key := KeyOf("GET", u)
		again, ok := ParseKey(key)
		if u.Scheme != "" && isPlainHost(u) && (!ok || again != key) {
			t.Errorf("%q: key %q is not its own key but %q (%v)", text, key, again, ok)
		}
		for pair := range strings.SplitSeq(u.RawQuery, "&") {
			name, value, _ := strings.Cut(pair, "=")
			if strings.EqualFold(name, "api_key") && len(value) > 8 && !strings.Contains(value, ";") && strings.Count(
				text, value,
			) == 1 && strings.Contains(key, value) {
				t.Errorf("%q: the secret is in %q", text, key)
			}
		}
	})
}

// isPlainHost leaves out hosts that no URL of ours has.
func isPlainHost(u *url.URL) bool {
	return u.Opaque == "" && u.Hostname() != "" && !strings.ContainsFunc(u.Host, func(r rune) bool {
		return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-", r)
	})
}
