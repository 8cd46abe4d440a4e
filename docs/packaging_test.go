package docs_test

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// The commands of SECURITY.md accept only what the release workflow signs, and it signs what they verify.
func TestSecurityNamesTheReleaseWorkflow(t *testing.T) {
	release, security := read(t, "../.goreleaser.yaml"), read(t, "../SECURITY.md")
	read(t, "../.github/workflows/release.yml")
	pattern := regexp.MustCompile(`--certificate-identity-regexp '(.*)'`)
	found := pattern.FindAllStringSubmatch(security, -1)
	if len(found) != 2 {
		t.Fatalf("%d identities", len(found))
	}
	const workflow = "https://github.com/anivault/anivault/.github/workflows/release.yml@refs/tags/v"
	for _, f := range found {
		identity := regexp.MustCompile(f[1])
		for signer, want := range map[string]bool{
			workflow + "1.2.3": true,
			"https://github.com/anivault/anivault/.github/workflows/ci.yml@refs/tags/v1.2.3":      false,
			"https://github.com/anivault/anivault/.github/workflows/release.yml@refs/heads/main":  false,
			"https://github.com/other/anivault/.github/workflows/release.yml@refs/tags/v1.2.3":    false,
			"https://evil.example/?" + workflow + "1.2.3":                                         false,
			"https://github.com/anivault/anivault/xgithub/workflows/release.yml@refs/tags/v1.2.3": false,
		} {
			if identity.MatchString(signer) != want {
				t.Errorf("%s: %s: want %t", f[1], signer, want)
			}
		}
	}
	for _, text := range []string{`signature: "${artifact}.sigstore.json"`, "name_template: checksums.txt"} {
		if !strings.Contains(release, text) {
			t.Errorf(".goreleaser.yaml has no %s", text)
		}
	}
	if image := "ghcr.io/anivault/anivault"; !strings.Contains(release, "images: ["+image+"]") ||
		!strings.Contains(security, "cosign verify "+image+":") {
		t.Error("another image is signed than verified")
	}
}

// Each line of README that installs a release names what .goreleaser.yaml publishes.
func TestInstallLinesNameWhatAReleasePublishes(t *testing.T) {
	type repository struct{ Owner, Name string }
	type published struct {
		Name, Publisher string
		Repository      repository
	}
	var release struct {
		Project string `yaml:"project_name"`
		Nfpms   []struct {
			Package string `yaml:"package_name"`
			Formats []string
		}
		Dockers []struct{ Images []string } `yaml:"dockers_v2"`
		Casks   []published                 `yaml:"homebrew_casks"`
		Scoops  []published
		Winget  []published
		Nix     []published
		Aurs    []published
		Release struct{ GitHub repository }
	}
	if err := yaml.Unmarshal([]byte(read(t, "../.goreleaser.yaml")), &release); err != nil {
		t.Fatal(err)
	}
	name, packages := release.Project, release.Nfpms[0]
	tap, _ := strings.CutPrefix(release.Casks[0].Repository.Name, "homebrew-")
	bucket, nur, source := release.Scoops[0].Repository, release.Nix[0].Repository, release.Release.GitHub
	lines := []string{
		"`brew install --cask " + release.Casks[0].Repository.Owner + "/" + tap + "/" + name + "`",
		"`scoop bucket add " + name + " https://github.com/" + bucket.Owner + "/" + bucket.Name + "`",
		"`scoop install " + name + "`",
		"`winget install " + release.Winget[0].Publisher + "." + name + "`",
		"`" + release.Aurs[0].Name + "`",
		"`nix profile install github:" + source.Owner + "/" + source.Name + "`",
		"github.com/" + nur.Owner + "/" + nur.Name,
		" " + release.Dockers[0].Images[0] + "`",
	}
	for _, format := range packages.Formats {
		lines = append(lines, " ./"+packages.Package+"_*"+map[string]string{"deb": "_linux_amd64"}[format]+"."+format+"`")
	}
	for _, readme := range []string{"../README.md", "../README.ko.md"} {
		text := read(t, readme)
		for _, line := range lines {
			if !strings.Contains(text, line) {
				t.Errorf("%s lacks %s", readme, line)
			}
		}
	}
}

// An action is named by the hash of a commit: a tag can be moved.
func TestWorkflowsPinTheirActions(t *testing.T) {
	files, _ := filepath.Glob("../.github/workflows/*.yml")
	if len(files) < 3 {
		t.Fatal(files)
	}
	uses, pinned := regexp.MustCompile(`uses: .*`), regexp.MustCompile(`^uses: [\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$`)
	for _, file := range files {
		for _, use := range uses.FindAllString(read(t, file), -1) {
			if !pinned.MatchString(use) {
				t.Errorf("%s: %s", file, use)
			}
		}
	}
}

// The compose file mounts downloads and library as one volume, and the document shows it.
func TestCompose(t *testing.T) {
	text := read(t, "../packaging/compose.yaml")
	if !strings.Contains(read(t, "nas.md"), "```yaml\n"+text+"```\n") {
		t.Error("docs/nas.md does not show packaging/compose.yaml")
	}
	var compose struct {
		Services map[string]struct {
			Image   string
			User    string
			Command []string
			Volumes []string

			Environment map[string]string
		}
	}
	if err := yaml.Unmarshal([]byte(text), &compose); err != nil {
		t.Fatal(err)
	}
	watch := compose.Services["watch"]
	if len(watch.Volumes) != 2 || !strings.HasSuffix(watch.Volumes[1], ":/data") {
		t.Errorf("%q", watch.Volumes)
	}
	for _, at := range []string{watch.Command[1], watch.Command[3]} {
		if !strings.HasPrefix(at, "/data/") {
			t.Errorf("%s is in another volume", at)
		}
	}
	if compose.Services["serve"].Environment["ANIVAULT_SERVE_PLAIN_HTTP"] != "true" {
		t.Error("serve refuses to start without TLS on an address that is not loopback")
	}
	for name, s := range compose.Services {
		if s.Environment["ANIVAULT_TMDB_TOKEN_FILE"] == "" {
			t.Errorf("%s has no key", name)
		}
		if s.User != "1000:1000" || s.Image != "ghcr.io/anivault/anivault:latest" || s.Command[0] != name {
			t.Errorf("%s: %+v", name, s)
		}
	}
}

// The units of the packages are those that the documents show, from their first section on.
func TestDocumentsShowThePackagesUnits(t *testing.T) {
	for unit, doc := range map[string]string{
		"anivault.service": "scripting.md", "anivault.timer": "scripting.md",
	} {
		t.Run(unit, func(t *testing.T) {
			_, text, _ := strings.Cut("\n"+read(t, "../packaging/"+unit), "\n[Unit]\n")
			if block := "```ini\n[Unit]\n" + text + "```\n"; !strings.Contains(read(t, doc), block) {
				t.Errorf("docs/%s does not show packaging/%s", doc, unit)
			}
			release := read(t, "../.goreleaser.yaml")
			if !strings.Contains(release, "dst: /usr/lib/systemd/system/"+unit+"\n") {
				t.Errorf("the packages don't have %s", unit)
			}
		})
	}
}

// systemd opens the files of standard output and error before it makes a unit's folders: in such a folder the file
// can't be opened, and the unit never starts.
func TestUnitsRedirectIntoNoFolderOfTheirOwn(t *testing.T) {
	units, _ := filepath.Glob("../packaging/*.service")
	if len(units) < 2 {
		t.Fatal(units)
	}
	folder := regexp.MustCompile(`(?m)^\w+Directory=(\w[\w-]*)$`)
	for _, unit := range units {
		text := read(t, unit)
		for _, name := range folder.FindAllStringSubmatch(text, -1) {
			if into := regexp.MustCompile(`(?m)^Standard\w+=\w+:.*/` + name[1] + `/.*$`).FindString(text); into != "" {
				t.Errorf("%s: %s", unit, into)
			}
		}
	}
}

// Root has folders of its own, without the service's key and clients: what root runs about the service names the
// service's folders.
func TestCommandsAboutAServiceNameItsFolders(t *testing.T) {
	files, _ := filepath.Glob("../packaging/*anivault-gateway.service")
	command := regexp.MustCompile(`sudo (?:env )?(.*)anivault (?:--\S+ \S+ )?serve `)
	for _, file := range append(files, "../packaging/config.yaml") {
		found := command.FindAllStringSubmatch(read(t, file), -1)
		if len(found) == 0 {
			t.Errorf("%s names no command", file)
		}
		for _, f := range found {
			if f[1] != "$(systemctl show -P Environment anivault-gateway) " &&
				f[1] != "ANIVAULT_DATA_DIR=/var/lib/anivault-gateway/data " {
				t.Errorf("%s: %s", file, f[0])
			}
		}
	}
}
