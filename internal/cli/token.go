package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/anivault/anivault/internal/config"
)

// askToken reads a token: hidden from a terminal, the first line from a pipe. An empty answer means
// that the file is written without one.
func (c *command) askToken() (config.Secret, error) {
	file, isFile := c.streams.In.(*os.File)
	if c.streams.InTTY && isFile {
		fmt.Fprint(c.streams.Err, "TMDB API Read Access Token (https://www.themoviedb.org/settings/api; Enter for none): ")
		raw, err := term.ReadPassword(int(file.Fd()))
		fmt.Fprintln(c.streams.Err)
		if err != nil {
			return config.Secret{}, fmt.Errorf("read the token: %w", err)
		}
		return config.CheckSecret(string(raw))
	}
	line, err := bufio.NewReader(io.LimitReader(c.streams.In, 64<<10)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return config.Secret{}, fmt.Errorf("read the token: %w", err)
	}
	return config.CheckSecret(strings.TrimSpace(line))
}
