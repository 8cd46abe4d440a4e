package app

import (
	"io/fs"
	"syscall"
	"testing"

	"github.com/anivault/anivault/cache"
	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/lockfile"
	"github.com/anivault/anivault/ratelimit"
	"github.com/anivault/anivault/ratelimit/machine"
	"github.com/anivault/anivault/tmdb"
)

// Each reason to stop has a text of its own, not only the one for unknown reasons.
func TestEachReasonToStopHasWords(t *testing.T) {
	over := map[string]bool{"resume": true, "auto_recover": true, "retry_after_elapsed": true} // a block has ended
	for _, r := range machine.Rules() {
		if r.To != ratelimit.Sleep && r.To != ratelimit.CacheOnly || over[r.Reason.String()] {
			continue
		}
		t.Run(r.To.String()+" "+r.Reason.String(), func(t *testing.T) {
			why := BlockText(ratelimit.Block{State: r.To, Cause: r.Reason}).String()
			if why == BlockText(ratelimit.Block{}).String() {
				t.Errorf("BlockText says only %q: add a row to blockTexts", why)
			}
		})
	}
}

// People read the errors of packages that don't use lang in their language, too.
func TestErrorsOfOtherPackagesAreTranslated(t *testing.T) {
	lang.Use(lang.Korean)
	lang.UseErrorTexts(ErrorText)
	defer lang.Use(lang.English)
	for want, err := range map[string]error{
		"/c에 캐시를 쓰지 못해 캐시 없이 계속합니다: 디스크에 남은 공간이 없습니다": cache.Warning{
			Kind: "write", Path: "/c", Err: syscall.ENOSPC,
		},
		"tmdb: GET /3/tv/1: HTTP 503 Service Unavailable, TMDB의 응답이 아님(JSON 대신 HTML 페이지)": &tmdb.Error{
			Method: "GET", Path: "/3/tv/1", HTTPStatus: 503, Foreign: tmdb.ReasonHTML,
		},
		"tmdb: /3/tv/1의 응답을 해석할 수 없음: 빈 본문 (0 bytes)": &tmdb.DecodeError{
			Path: "/3/tv/1", Reason: tmdb.ReasonEmpty,
		},
		"/f: 폴더입니다. 일반 파일이어야 합니다": &lockfile.NotRegularError{Path: "/f", Mode: fs.ModeDir},
	} {
		if got := lang.Say(lang.TextOf(err)); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
