package title

import (
	"fmt"
	"strings"
)

// WithYear puts the year behind a title, unless the title ends with it or there is none: "Title (1999)".
func WithYear(name string, year int) string {
	said := fmt.Sprintf("(%d)", year)
	if year == 0 || strings.HasSuffix(name, said) {
		return name
	}
	return name + " " + said
}
