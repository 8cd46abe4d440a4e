package cli

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/anivault/anivault/internal/app"
	"github.com/anivault/anivault/internal/config"
	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/organize"
	"github.com/anivault/anivault/internal/ui"
	"github.com/anivault/anivault/tmdb"
)

func newConfigPath(f *factory) *cobra.Command {
	return f.setRun(command("config_path"), nil, func(invocation) error {
		path, err := config.FilePath(f.configFile, f.environ)
		if err == nil {
			_, err = fmt.Fprintln(f.streams.Out, path)
		}
		return err
	})
}

func newConfigValidate(f *factory) *cobra.Command {
	return f.setRun(command("config_validate"), nil, func(c invocation) error {
		cfg, err := f.load(c.cmd)
		if bad, ok := errors.AsType[*config.Error](err); ok {
			for _, e := range bad.Others { // the first error is returned, so it is printed last
				printMessage(f.streams, e.Text())
			}
		}
		if err == nil {
			_, caErr := app.NewNetworkTransport(cfg)
			_, layoutErr := organize.NewLayout(organize.CustomLayout, cfg.Organize.Template)
			err = cmp.Or(checkOutput("log file", cfg.Log.File), checkOutput("metrics file", cfg.Metrics.File),
				checkOutput("metrics textfile", cfg.Metrics.Textfile), caErr, templateError(cfg, layoutErr))
		}
		if err == nil {
			f.say("configuration is valid (%s)\n", cfg.Dirs.ConfigFile)
		}
		return err
	})
}

func newConfigShow(f *factory) *cobra.Command {
	var origin bool
	cmd := f.setRunWithConfig(command("config_show"), textOrJSON, func(c invocation) error {
		settings := []jsonSetting{}
		dirs := map[string]string{"state_dir": c.cfg.Dirs.State, "cache_dir": c.cfg.Dirs.Cache, "data_dir": c.cfg.Dirs.Data}
		for _, v := range c.cfg.Values() {
			key := v.Setting.Key
			settings = append(settings, jsonSetting{key, cmp.Or(v.Text, dirs[key]), v.Origin, v.Setting.Env})
		}
		if c.format == "json" {
			return f.encode(settings, "  ")
		}
		var lines rows
		for _, s := range settings {
			text := ui.Printable(cmp.Or(s.Value, "-"))
			if origin {
				text += "  (" + s.Origin + ")"
			}
			text = strings.ReplaceAll(text, ",https://", ", https://") // so that it can be wrapped
			lines.add(string(lang.Textf("%s", s.Key)), "%s", text)
		}
		return lines.write(f.streams.Out, f.streams.OutWidth())
	})
	cmd.Flags().BoolVar(&origin, "origin", false, "show where each value comes from")
	return cmd
}

type jsonSetting struct {
	Key    string `json:"key" doc:"its key in the config file"`
	Value  string `json:"value" doc:"the effective value; [set] for a key or token"`
	Origin string `json:"origin" doc:"default, config file, environment NAME or flag --name"`
	Env    string `json:"env" doc:"its environment variable"`
}

func newConfigInit(f *factory) *cobra.Command {
	var force bool
	cmd := f.setRun(command("config_init"), nil, func(c invocation) error { return initConfig(f, c.cmd, force) })
	cmd.Flags().BoolVar(&force, "force", false, "start over; an existing file is kept as config.yaml.bak")
	return cmd
}

// initConfig asks for a token and stores it in the config file. It asks only if it can store the answer, stores no
// token that TMDB refuses, and keeps a backup of a file that it replaces.
func initConfig(f *factory, cmd *cobra.Command, force bool) error {
	path, err := config.FilePath(f.configFile, f.environ)
	if err != nil {
		return err
	}
	file, err := config.ReadExisting(path)
	if err != nil {
		return err
	}
	keepsFile := file != nil && !force
	source := os.DevNull // for a new file, the token is tested without the old file's settings
	if keepsFile {
		source = f.configFile
	}
	cfg, err := f.loadFrom(cmd, source)
	if err == nil && keepsFile {
		err = file.CheckPutKey()
	}
	if err != nil {
		return err
	}
	if f.getenv(tokenVariable) != "" {
		f.warn("%s is set and overrides the file: unset it afterwards", tokenVariable)
	}
	key, err := askKey(cmd.Context(), f, cfg)
	switch {
	case err != nil:
		return err
	case key.Secret().IsSet():
		if key.APIKey.IsSet() {
			f.say("this is an API key (v3), which works as well; it is stored as tmdb.api_key\n")
		}
		if err := verifyKey(cmd.Context(), f, cfg, key); err != nil {
			return err
		}
	case keepsFile && f.streams.InTTY:
		f.say("%s is unchanged\n", ui.Printable(path))
		return nil
	case keepsFile:
		return usagef("for example: echo \"$TOKEN\" | anivault config init",
			"stdin had no token, and %s already exists: it is unchanged", ui.Printable(path))
	case file != nil && !f.streams.InTTY && file.HoldsKey():
		return usagef("give the token on stdin: echo \"$TOKEN\" | anivault config init --force",
			"%s holds a key, and stdin had no token: it is unchanged", ui.Printable(path))
	}
	return storeKey(f, path, file, key, force)
}

const tokenVariable = "ANIVAULT_TMDB_TOKEN"

// verifyKey asks TMDB whether it accepts the key. If it can't be checked, that is a warning and not an error.
func verifyKey(ctx context.Context, f *factory, cfg *config.Config, key config.Key) error {
	_, _, err := probe(ctx, cfg.WithKey(key))
	var cause *tmdb.UnauthorizedError
	switch {
	case errors.As(err, &cause):
		hint := lang.Text("it was not written; " +
			`copy the "API Read Access Token" from https://www.themoviedb.org/settings/api`)
		if cause.Cause != nil && cause.Cause.Gateway != "" {
			hint = findHint("token_at_gateway")
		}
		return refusedCredentialError("token", cause, hint)
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		_, text := app.Explain(err)
		f.warn("the token could not be checked: %s", text)
	default:
		f.say("TMDB accepts the token\n")
	}
	return nil
}

func storeKey(f *factory, path string, file *config.ExistingFile, key config.Key, force bool) error {
	if file != nil && !force {
		if err := file.PutKey(key); err != nil {
			return err
		}
		f.say("saved the token in %s; the rest of the file is unchanged\n", ui.Printable(path))
	} else {
		if file != nil {
			backup, err := file.Backup()
			if err != nil {
				return err
			}
			f.say("the previous file: %s\n", ui.Printable(backup))
		}
		titles := lang.LocaleTag(f.getenv)
		if strings.HasPrefix(titles, "en") {
			titles = "" // the default
		} else if titles != "" {
			titles += ",en-US" // the fallback for entries that have no title in the user's language
		}
		if err := config.WriteFile(path, key, titles); err != nil {
			return err
		}
		f.say("wrote %s\n", ui.Printable(path))
		if titles != "" {
			f.say("titles will be in %s, as your environment says; tmdb.language in the file changes that\n", titles)
		}
	}
	if key.Secret().IsSet() {
		f.say("next: anivault match PATH\nthen: anivault organize --interactive PATH --to LIBRARY\n")
	} else if f.streams.InTTY {
		f.say("it holds no token yet: put one under tmdb.token, or run anivault config init again\n")
	} else {
		f.say("stdin is not a terminal and had no token; put one under tmdb.token in the file, or run anivault config " +
			"init on a terminal\n")
	}
	return nil
}

// askKey reads a token or v3 API key: without echo from a terminal, else from the first line of stdin. After an empty
// answer neither is set.
func askKey(ctx context.Context, f *factory, cfg *config.Config) (config.Key, error) {
	if file, isFile := f.streams.In.(*os.File); f.streams.InTTY && isFile {
		const prompt = "TMDB API Read Access Token (themoviedb.org/settings/api; Enter for none):"
		fmt.Fprint(f.streams.Err, ui.WrapHanging(lang.Say(prompt), f.streams.ErrWidth()-1, 0)+" ")
		typed, err := readHidden(ctx, file)
		if err != nil { // Ctrl-C, Ctrl-D or a signal
			fmt.Fprintln(f.streams.Err)
			return config.Key{}, &exitError{code: max(exitStatusOfSignal(ctx), exitInterrupted)}
		}
		return cfg.ReadKey(typed)
	}
	line, err := bufio.NewReader(io.LimitReader(f.untilSignal(io.NopCloser(f.streams.In)), 64<<10)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return config.Key{}, lang.Error("read the token: %w", err)
	}
	return cfg.ReadKey(line)
}

// readHidden reads a line from a terminal without echo. Ctrl-C, Ctrl-D and the end of ctx are errors.
func readHidden(ctx context.Context, terminal *os.File) (string, error) {
	before, err := term.MakeRaw(int(terminal.Fd()))
	if err != nil {
		return "", err
	}
	defer func() { _ = term.Restore(int(terminal.Fd()), before) }() // it can't be helped
	typed := make(chan inputLine, 1)
	go func() {
		text, err := term.NewTerminal(terminal, "").ReadPassword("")
		typed <- inputLine{text, err}
	}()
	select {
	case got := <-typed:
		return got.text, got.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}
