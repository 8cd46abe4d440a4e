package config

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// home gives an environment with a home folder of its own and, if text is not empty, a config file in it.
func home(t *testing.T, text string, more ...string) Sources {
	t.Helper()
	dir := t.TempDir()
	env := append([]string{"HOME=" + dir, "AppData=" + dir, "LocalAppData=" + dir}, more...)
	if text != "" {
		path, err := FilePath("", env)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return Sources{Environ: env}
}

func TestFlagsBeatEnvironmentBeatFileBeatsDefault(t *testing.T) {
	const file = "tmdb:\n  language: fr-FR\n"
	flag := map[string]Flag{"tmdb.language": {"language", "de-DE"}}
	for _, row := range []struct {
		name         string
		file         string
		env          []string
		flags        map[string]Flag
		want, origin string
	}{
		{"nothing", "", nil, nil, "en-US", "default"},
		{"file", file, nil, nil, "fr-FR", "config file"},
		{
			"environment over file", file,
			[]string{"ANIVAULT_TMDB_LANGUAGE=ko-KR"},
			nil, "ko-KR",
			"environment ANIVAULT_TMDB_LANGUAGE",
		},
		{"flag over environment", file, []string{"ANIVAULT_TMDB_LANGUAGE=ko-KR"}, flag, "de-DE", "flag --language"},
		{
			"several", "",
			[]string{"ANIVAULT_TMDB_LANGUAGE=KO-kr, en-US,ko-KR,ja"},
			nil, "ko-KR en-US ja",
			"environment ANIVAULT_TMDB_LANGUAGE",
		},
		{"an empty variable is not set", file, []string{"ANIVAULT_TMDB_LANGUAGE="}, nil, "fr-FR", "config file"},
	} {
		t.Run(row.name, func(t *testing.T) {
			src := home(t, row.file, row.env...)
			src.Flags = row.flags
			cfg, warnings, err := Load(src)
			if err != nil || len(warnings) > 0 {
				t.Fatal(err, warnings)
			}
			if got := strings.Join(cfg.TMDB.Languages, " "); got != row.want {
				t.Errorf("languages = %q, want %q", got, row.want)
			}
			for _, v := range cfg.Values() {
				if v.Setting.Key == "tmdb.language" && v.Origin != row.origin {
					t.Errorf("origin = %q, want %q", v.Origin, row.origin)
				}
			}
		})
	}
}

// A ~/ in the file or a variable is the home folder, as in a shell; any other ~ is a name.
func TestHomeFolderInPaths(t *testing.T) {
	src := home(t, "organize: {to: ~/Library, to_tv: ~x, to_movies: sub/~/y, exec: [~/hook, ~/kept]}\n"+
		"log: {file: ~/anivault.log}\ntmdb: {ca_file: ~/none.pem}\n", "ANIVAULT_CACHE_DIR=~/c")
	dir := strings.TrimPrefix(src.Environ[0], "HOME=")
	cfg, _, err := Load(src)
	if err != nil {
		t.Fatal(err)
	}
	var got, want []string
	for _, v := range cfg.Values() {
		switch v.Setting.Key {
		case "organize.to", "organize.to_tv", "organize.to_movies", "log.file", "tmdb.ca_file", "cache_dir":
			got = append(got, v.Setting.Key+" "+v.Text)
		}
	}
	for _, row := range [][2]string{
		{"tmdb.ca_file", dir + "/none.pem"},
		{"cache_dir", dir + "/c"},
		{"log.file", dir + "/anivault.log"},
		{"organize.to", dir + "/Library"},
		{"organize.to_tv", "~x"},
		{"organize.to_movies", "sub/~/y"},
	} {
		want = append(want, row[0]+" "+row[1])
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := cfg.Dirs.Cache, filepath.Join(dir, "c"); got != want {
		t.Errorf("the cache is in %q, want %q", got, want)
	}
	if got, want := cfg.Organize.Exec, []string{dir + "/hook", "~/kept"}; !slices.Equal(got, want) {
		t.Errorf("exec is %q, want %q", got, want)
	}
}

// In a fresh file every line may be uncommented as it stands, and then says the default.
func TestFreshFileCanBeUncommented(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.yaml")
	if err := WriteFile(path, Key{}, ""); err != nil {
		t.Fatal(err)
	}
	fresh, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.ReplaceAll(string(fresh), "\n  # ", "\n  ")
	if text == string(fresh) {
		t.Fatal("nothing is commented out")
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	src := home(t, "")
	src.File = path
	cfg, _, err := Load(src)
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	said := 0
	for _, v := range cfg.Values() {
		if v.Origin != "config file" || v.Setting.Secret {
			continue
		}
		said++
		if v.Text != v.Setting.Default {
			t.Errorf("%s is %q, by default %q", v.Setting.Key, v.Text, v.Setting.Default)
		}
	}
	if said < len(newFileSettings)-1 { // an empty path is as good as none
		t.Errorf("only %d settings in\n%s", said, text)
	}
}

// YAML would read a number with a leading zero as octal.
func TestNumbersAreReadAsTheyAreWritten(t *testing.T) {
	cfg, _, err := Load(home(t, "serve: {socket_mode: 0660, queue: {max: 0200}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	if cfg.Serve.SocketMode != 0o660 || cfg.Serve.QueueMax != 200 {
		t.Errorf("%o, %d", cfg.Serve.SocketMode, cfg.Serve.QueueMax)
	}
}

// A folder is no config file, and the null device is an empty one; Windows' editors may write UTF-16.
func TestOddConfigFiles(t *testing.T) {
	dir := t.TempDir()
	src := home(t, "")
	src.File = dir
	if _, _, err := Load(src); err == nil ||
		!strings.Contains(err.Error(), "is a folder; name the file in it, such as "+filepath.Join(dir, "config.yaml")) {
		t.Errorf("a folder: %v", err)
	}
	src.File = os.DevNull
	if _, _, err := Load(src); err != nil {
		t.Errorf("%s: %v", os.DevNull, err)
	}
	src.File = filepath.Join(dir, "utf16.yaml")
	var utf16 []byte
	for _, r := range "\ufefftmdb:\n  language: ko-KR\n" {
		utf16 = append(utf16, byte(r), byte(r>>8))
	}
	if err := os.WriteFile(src.File, utf16, 0o600); err != nil {
		t.Fatal(err)
	}
	if cfg, _, err := Load(src); err != nil || cfg.TMDB.Languages[0] != "ko-KR" {
		t.Errorf("UTF-16: %v", err)
	}
}

// Whatever the environment is asked for is in one of the two tables: this reads the program's source.
func TestEveryVariableIsInATable(t *testing.T) {
	known := map[string]bool{"TERM": true}
	for _, s := range Settings() {
		known[s.Env] = true
	}
	for _, v := range OtherVariables() {
		if v.Doc == "" || v.Name != "TERM" && known[v.Name] {
			t.Errorf("%s has no description, or occurs twice", v.Name)
		}
		known[v.Name] = true
	}
	for _, dir := range []standardDir{configDir, stateDir, cacheDir, dataDir} {
		for _, name := range []string{dir.xdgVariable, dir.windowsVariable} {
			if !known[name] {
				t.Errorf("%s is in no table", name)
			}
		}
	}
	asked := regexp.MustCompile(`(?:[gG]etenv|LookupEnv|lookup)\("([A-Za-z_]+)"\)|env\["([A-Za-z_]+)"\]`)
	found := 0
	err := filepath.WalkDir(filepath.Join("..", ".."), func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && strings.HasPrefix(d.Name(), ".") && d.Name() != ".." {
			return fs.SkipDir // not of the program
		}
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") ||
			strings.Contains(filepath.ToSlash(path), "/bench/") {
			return err
		}
		raw, err := os.ReadFile(path)
		for _, m := range asked.FindAllStringSubmatch(string(raw), -1) {
			found++
			if name := m[1] + m[2]; !known[name] {
				t.Errorf("%s reads %s, which no table explains", path, name)
			}
		}
		return err
	})
	if err != nil || found < 4 {
		t.Errorf("%d variables are read in the source: %v", found, err)
	}
}

func TestBadSettingsNameThingValueAndRemedy(t *testing.T) {
	for _, row := range []struct {
		name, file string
		env        []string
		want       []string // parts of the message
	}{
		{"unknown key", "tmdb:\n  langauge: fr\n", nil, []string{"tmdb.langauge", "did you mean tmdb.language?"}},
		{"unknown section", "cachee:\n  max_size: 1GB\n", nil, []string{"cachee.max_size", "did you mean cache.max_size?"}},
		{"limiter number", "", []string{"ANIVAULT_RATE_BASE=fast"}, []string{"ANIVAULT_RATE_BASE", `"fast"`}},
		{
			"crossed limiter values in the file", "limiter:\n  concurrency: 9\n  concurrency_total: 4\n", nil,
			[]string{
				"config.yaml:2: limiter.concurrency=9 with ", "config.yaml:3: limiter.concurrency_total=4: ",
				"one process may not",
			},
		},
		{"crossed limiter values", "", []string{"ANIVAULT_RATE_BASE=60"}, []string{"rate_base", "ceiling"}},
		{
			"more slots than TMDB allows connections", "",
			[]string{"ANIVAULT_CONCURRENCY_TOTAL=21"},
			[]string{"ANIVAULT_CONCURRENCY_TOTAL=21", "20 connections"},
		},
		{"limiter key in the file", "limiter:\n  p_throttle: 7\n", nil, []string{"p_throttle", "7"}},
		{
			"base url", "",
			[]string{"ANIVAULT_TMDB_BASE_URL=ftp://x"},
			[]string{"ANIVAULT_TMDB_BASE_URL", `"ftp://x"`, "https://"},
		},
		{
			"language", "",
			[]string{"ANIVAULT_TMDB_LANGUAGE=english"},
			[]string{"ANIVAULT_TMDB_LANGUAGE", `"english"`, "ko-KR"},
		},
		{
			"coordinator", "",
			[]string{"ANIVAULT_COORDINATOR=redis"},
			[]string{"ANIVAULT_COORDINATOR", `"redis"`, "file, memory", "redis://host:6379"},
		},
		{
			"coordinator of another kind", "",
			[]string{"ANIVAULT_COORDINATOR=http://h"},
			[]string{"ANIVAULT_COORDINATOR", "redis://, rediss:// or unix://"},
		},
		{
			"coordinator without host", "",
			[]string{"ANIVAULT_COORDINATOR=redis:///0"},
			[]string{"ANIVAULT_COORDINATOR", "names no host"},
		},
		{"coordinator's database", "", []string{"ANIVAULT_COORDINATOR=redis://h/films"}, []string{`"films"`, "database"}},
		{"coordinator's query", "", []string{"ANIVAULT_COORDINATOR=redis://h?db=1"}, []string{"redis://host:6379/0"}},
		{"coordinator's socket", "", []string{"ANIVAULT_COORDINATOR=unix://run/redis.sock"}, []string{"unix:///run"}},
		{
			"password with a percent sign", "",
			[]string{"ANIVAULT_COORDINATOR=redis://u:100%!@h"},
			[]string{"%XX", "password file", "[redacted]@h"},
		},
		{
			"coordinator's password file", "",
			[]string{"ANIVAULT_COORDINATOR=redis://h", "ANIVAULT_COORDINATOR_PASSWORD_FILE=/nowhere"},
			[]string{"ANIVAULT_COORDINATOR_PASSWORD_FILE", `"/nowhere"`, "cannot be read"},
		},
		{
			"empty password file", "",
			[]string{"ANIVAULT_COORDINATOR=redis://h", "ANIVAULT_COORDINATOR_PASSWORD_FILE=" + os.DevNull},
			[]string{"ANIVAULT_COORDINATOR_PASSWORD_FILE", "first line is empty"},
		},
		{
			"coordinator's authority", "",
			[]string{"ANIVAULT_COORDINATOR=rediss://h", "ANIVAULT_COORDINATOR_CA_FILE=" + os.DevNull},
			[]string{"ANIVAULT_COORDINATOR_CA_FILE", "no certificate"},
		},
		{
			"coordinator's prefix", "",
			[]string{"ANIVAULT_COORDINATOR_PREFIX=a*b"},
			[]string{"ANIVAULT_COORDINATOR_PREFIX", "letters, digits"},
		},
		{"a group's number that is none", "serve: {socket_group: -1}\n", nil, []string{"serve.socket_group", `"-1"`}},
		{
			"a group's number that means no change", "serve: {socket_group: 4294967295}\n", nil,
			[]string{"serve.socket_group", "group's name or number"},
		},
		{"size", "cache:\n  max_size: lots\n", nil, []string{"cache.max_size", `"lots"`, "512MB"}},
		{"small size", "cache:\n  max_size: 1MB\n", nil, []string{"cache.max_size", `"1MB": must be 1MiB or more`}},
		{"a list for a value", "tmdb:\n  language: [a, b]\n", nil, []string{"tmdb.language", "single value"}},
		{
			"a list for a secret", "tmdb:\n  token: [x]\n", nil,
			[]string{"config.yaml:2: tmdb.token", "is a list", "single value", "Token"},
		},
		{
			"a section for a secret", "tmdb:\n  token: {v4: x}\n", nil,
			[]string{"config.yaml:2: tmdb.token: is a section", "single value"},
		},
		{"a list at the top", "- tmdb\n", nil, []string{"config.yaml", "not a list", "anivault config init"}},
		{"text at the top", "hello\n", nil, []string{"config.yaml", "must have sections", "not a single value"}},
		{
			"a value for a section", "limiter: off\n", nil,
			[]string{"config.yaml:1: limiter", "must be a section, not a single value", "indented"},
		},
		{"tabs", "tmdb:\n\tlanguage: fr\n", nil, []string{"not valid YAML", "line 2", "spaces, not with tabs"}},
		{"another encoding", "t\x00m\x00d\x00b\x00", nil, []string{"not valid YAML", "UTF-8"}},
		{
			"bytes that are not UTF-8", "tmdb:\n  language: \"\xff\"\n", nil,
			[]string{"not valid YAML", "save it as text in UTF-8"},
		},
		{
			"a sign that YAML keeps for itself", "log:\n  file: @log\n", nil,
			[]string{"not valid YAML", "line 2", "@, ` or % needs quotes"},
		},
		{
			"a duplicate key", "tmdb:\n  language: fr\ntmdb:\n  token: x\n", nil,
			[]string{"not valid YAML", "line 3", "\"tmdb\" already defined at line 1"},
		},
		{"a number at the top", "12\n", nil, []string{"must have sections", "not a single value"}},
		{"not YAML", "tmdb: {\n", nil, []string{"config.yaml", "not valid YAML"}},
		{
			"unquoted key that YAML reads as a number", "tmdb:\n  api_key: 12345678901234567890123456789012\n", nil,
			[]string{"tmdb.api_key", "quotes"},
		},
		{"confidence", "", []string{"ANIVAULT_MATCH_MIN_CONFIDENCE=NaN"}, []string{"MIN_CONFIDENCE", "0 to 1"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, _, err := Load(home(t, row.file, row.env...))
			if err == nil {
				t.Fatal("no error")
			}
			for _, part := range row.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%q does not say %q", err, part)
				}
			}
		})
	}
}

func TestANamedFileHasToExist(t *testing.T) {
	src := home(t, "")
	if _, _, err := Load(src); err != nil {
		t.Errorf("the default file may be missing: %v", err)
	}
	src.File = filepath.Join(t.TempDir(), "none.yaml")
	if _, _, err := Load(src); err == nil || !strings.Contains(err.Error(), "does not exist") {
		t.Errorf("a named file may not be missing: %v", err)
	}
}

func TestWarnings(t *testing.T) {
	src := home(t, "", "ANIVAULT_RATE_BSE=3", "ANIVAULT_RETRY_BUDGET=0.2")
	_, warnings, err := Load(src)
	want := []string{
		"ANIVAULT_RATE_BSE is not a variable that anivault reads; did you mean ANIVAULT_RATE_BASE?",
		"ANIVAULT_RETRY_BUDGET is not a variable that anivault reads; did you mean ANIVAULT_BUDGET?",
	}
	var got []string
	for _, w := range warnings {
		got = append(got, w.String())
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(err, diff)
	}
	src = home(t, "tmdb:\n  token: abc\n")
	path, _ := FilePath("", src.Environ)
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	_, warnings, err = Load(src)
	if err != nil ||
		readableByOthers(path) && (len(warnings) != 1 || !strings.Contains(warnings[0].String(), "chmod 600")) {
		t.Error(err, warnings)
	}
	key := filepath.Join(t.TempDir(), "key.pem")
	if err := os.WriteFile(key, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	_, warnings, err = Load(home(t, "serve: {tls: {cert: c.pem, key: '"+key+"'}}\n"))
	if err != nil ||
		readableByOthers(key) && (len(warnings) != 1 || !strings.Contains(warnings[0].String(), "key.pem holds a key")) {
		t.Error(err, warnings)
	}
}

func TestTheFirstKeyThatIsSetWins(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("from-file\nsecond line\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		name       string
		env        []string
		token, key string
	}{
		{
			"token",
			[]string{"ANIVAULT_TMDB_TOKEN=tok", "ANIVAULT_TMDB_API_KEY=key", "ANIVAULT_TMDB_TOKEN_FILE=" + file},
			"tok",
			"",
		},
		{"token file", []string{"ANIVAULT_TMDB_API_KEY=key", "ANIVAULT_TMDB_TOKEN_FILE=" + file}, "from-file", ""},
		{"key", []string{"ANIVAULT_TMDB_API_KEY= key "}, "", "key"},
		{"none", nil, "", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			cfg, _, err := Load(home(t, "", row.env...))
			if err != nil {
				t.Fatal(err)
			}
			if got := [2]string{cfg.TMDB.Token.Reveal(), cfg.TMDB.APIKey.Reveal()}; got != [2]string{row.token, row.key} {
				t.Errorf("token and key = %q", got)
			}
		})
	}
}

// TMDB's second host is TMDB: it needs a key, and allows as few connections.
func TestBothHostsOfTMDBAreTMDB(t *testing.T) {
	for base, want := range map[string]bool{
		"https://api.tmdb.org/3": true, "https://API.themoviedb.org": true, "https://api.tmdb.org.example": false,
		"http://nas:7373": false,
	} {
		cfg, _, err := Load(home(t, "", "ANIVAULT_TMDB_BASE_URL="+base))
		if err != nil || cfg.AsksTMDB() != want || cfg.LacksKey() != want {
			t.Errorf("%s: asks TMDB %t, lacks a key %t; want %t (%v)", base, cfg.AsksTMDB(), cfg.LacksKey(), want, err)
		}
	}
}

func TestSecretsShowNowhere(t *testing.T) {
	const canary = "canary-5f2a"
	cfg, _, err := Load(home(t, "tmdb:\n  api_key: "+canary+"\n", "ANIVAULT_TMDB_TOKEN="+canary))
	if err != nil {
		t.Fatal(err)
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x"} {
		if s := fmt.Sprintf(verb, *cfg); strings.Contains(s, canary) || strings.Contains(s, fmt.Sprintf("%x", canary)) {
			t.Errorf("%s shows the key", verb)
		}
	}
	_, _, err = Load(home(t, "", "ANIVAULT_TMDB_TOKEN="+canary+" x"))
	if err == nil || strings.Contains(err.Error(), canary) {
		t.Errorf("a refused key: %v", err)
	}
	for name, token := range map[string]string{
		"a client's": "anv_" + strings.Repeat("Aa-0_", 8) + "xyz", "TMDB's": "eyJhbGci.eyJhdWQi.c2ln",
		"v3": strings.Repeat("0F", 16),
	} {
		for _, yaml := range []string{
			"tmdb: {token_file: " + token + "}\n", "serve: {listen: [" + token + "]}\n",
			"accounts: [{name: " + token + ", keys: [{token: none}]}]\n",
		} {
			if _, _, err := Load(home(t, yaml)); err == nil || strings.Contains(err.Error(), token) {
				t.Errorf("%s token in a wrong place: %v", name, err)
			}
		}
		cfg, _, err := Load(home(t, "tmdb: {ca_file: "+token+"}\n"))
		if err != nil || strings.Contains(fmt.Sprint(cfg.Values()), token) {
			t.Errorf("%s token is shown: %v", name, err)
		}
	}
}

func TestAWrittenFileLoads(t *testing.T) {
	src := home(t, "")
	path, err := FilePath("", src.Environ)
	if err != nil {
		t.Fatal(err)
	}
	for _, token := range []string{"", `a.b"c`} {
		if err := WriteFile(path, Key{Token: NewSecret(token)}, "ko-KR"); err != nil {
			t.Fatal(err)
		}
		cfg, warnings, err := Load(src)
		if err != nil || len(warnings) > 0 || cfg.TMDB.Token.Reveal() != token {
			t.Errorf("%q: %v %v", token, err, warnings)
		}
	}
	if readableByOthers(path) {
		t.Error("others can read the file")
	}
}

func TestBaseURL(t *testing.T) {
	for in, want := range map[string]string{
		"https://api.themoviedb.org":     "https://api.themoviedb.org",
		"https://api.themoviedb.org/3":   "https://api.themoviedb.org",
		"https://api.themoviedb.org/3//": "https://api.themoviedb.org",
		"http://127.0.0.1:8080/tmdb/3/":  "http://127.0.0.1:8080/tmdb",

		"HTTPS://API.TheMovieDB.org.:443/3": "https://api.themoviedb.org",
		"https://api.themoviedb.org.":       "https://api.themoviedb.org",
		"https://api.themoviedb.org:443":    "https://api.themoviedb.org",
		"http://[::1]:80":                   "http://[::1]:80",
		"http://tmdb.lan.:8080":             "http://tmdb.lan:8080",
	} {
		cfg, _, err := Load(home(t, "", "ANIVAULT_TMDB_BASE_URL="+in))
		if err != nil || cfg.TMDB.BaseURL.String() != want {
			t.Errorf("%s: %v %v", in, cfg, err)
		}
	}
	for _, in := range []string{
		"https://API.themoviedb.org", "https://api.themoviedb.org.:443", "http://api.themoviedb.org",
	} {
		if _, _, err := Load(home(t, "", "ANIVAULT_TMDB_BASE_URL="+in, "ANIVAULT_CONCURRENCY_TOTAL=21")); err == nil {
			t.Errorf("%s may have 21 connections", in)
		}
	}
}

func TestParseSize(t *testing.T) {
	for in, want := range map[string]int64{"0": 0, "512MB": 512e6, "1GiB": 1 << 30, "10 kb": 10e3, "7B": 7, "2k": 2000} {
		if got, err := ParseSize(in); err != nil || got != want {
			t.Errorf("ParseSize(%q) = %d, %v; want %d", in, got, err, want)
		}
	}
	for _, in := range []string{"", "MB", "-1", "1.5GB", "1XB", "99999999999TB", "9223372036854775807KB"} {
		if got, err := ParseSize(in); err == nil {
			t.Errorf("ParseSize(%q) = %d, want an error", in, got)
		}
	}
}

func TestNearest(t *testing.T) {
	words := []string{"match", "parse", "version", "type", "yes"}
	for in, want := range map[string]string{
		"mtch": "match", "pasre": "parse", "verson": "version", "zzzzzz": "",
		"par": "parse", "pa": "", "tpye": "type", "nope": "", "dest": "", "": "",
		"매치": "", "없는주제": "", "리미터": "", // letters count, not bytes
	} {
		got, ok := Nearest(in, words)
		if ok != (want != "") || ok && got != want {
			t.Errorf("Nearest(%q) = %q, %v", in, got, ok)
		}
	}
}

func FuzzParseSize(f *testing.F) {
	f.Add("512MB")
	f.Add("1 GiB")
	f.Fuzz(func(t *testing.T, s string) {
		if n, err := ParseSize(s); err == nil && n < 0 {
			t.Errorf("ParseSize(%q) = %d", s, n)
		}
	})
}
