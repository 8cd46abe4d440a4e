package release

import (
	"strconv"
	"unicode/utf8"
)

// This file decides how a reading looks as one line of JSON.

// AppendJSON appends the object that "parse" prints for a name (docs: NDJSON of
// parse) to dst and returns it. Absent fields are left out. It does not append
// a line end and allocates only when dst has to grow.
func (r *Release) AppendJSON(dst []byte) []byte {
	dst = append(dst, `{"name":`...)
	dst = appendString(dst, r.Path)
	dst = field(dst, "title", r.Title)
	if len(r.Titles) > 0 {
		dst = append(dst, `,"titles":[`...)
		for i := range r.Titles {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendString(dst, r.Titles[i].Text)
		}
		dst = append(dst, ']')
	}
	if len(r.Seasons) > 0 {
		dst = append(dst, `,"seasons":[`...)
		for i, s := range r.Seasons {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = strconv.AppendInt(dst, int64(s), 10)
		}
		dst = append(dst, ']')
		if s, one := r.Season(); one {
			dst = append(dst, `,"season":`...)
			dst = strconv.AppendInt(dst, int64(s), 10)
		}
	}
	if len(r.Episodes) > 0 {
		dst = append(dst, `,"episodes":[`...)
		for i, e := range r.Episodes {
			if i > 0 {
				dst = append(dst, ',')
			}
			if whole := int64(e); float64(whole) == e {
				dst = strconv.AppendInt(dst, whole, 10)
			} else {
				dst = strconv.AppendFloat(dst, e, 'f', -1, 64)
			}
		}
		dst = append(dst, ']')
	}
	if r.Absolute {
		dst = append(dst, `,"absolute":true`...)
	}
	dst = numberField(dst, "year", r.Year)
	dst = field(dst, "group", r.Group)
	dst = field(dst, "resolution", r.Resolution)
	dst = numberField(dst, "version", r.Version)
	dst = field(dst, "checksum", r.Checksum)
	dst = field(dst, "kind", r.Kind.String())
	dst = field(dst, "source", r.Source)
	dst = field(dst, "video", r.Video)
	dst = field(dst, "audio", r.Audio)
	dst = numberField(dst, "part", r.Part)
	dst = field(dst, "episode_title", r.EpisodeTitle)
	dst = field(dst, "special", r.Special)
	if len(r.IDs) > 0 {
		dst = append(dst, `,"ids":{`...)
		for i, id := range r.IDs {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendString(dst, id.Source)
			dst = append(dst, ':')
			dst = appendString(dst, id.Value)
		}
		dst = append(dst, '}')
	}
	dst = field(dst, "extension", r.Extension)
	return append(dst, '}')
}

func field(dst []byte, name, value string) []byte {
	if value == "" {
		return dst
	}
	dst = append(dst, ',', '"')
	dst = append(dst, name...)
	dst = append(dst, '"', ':')
	return appendString(dst, value)
}

func numberField(dst []byte, name string, value int) []byte {
	if value == 0 {
		return dst
	}
	dst = append(dst, ',', '"')
	dst = append(dst, name...)
	dst = append(dst, '"', ':')
	return strconv.AppendInt(dst, int64(value), 10)
}

const hex = "0123456789abcdef"

// appendString quotes s as JSON (RFC 8259 section 7). Bytes that are not UTF-8 become U+FFFD; U+2028 and U+2029 are
// escaped so that a line stays one line to every reader.
func appendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			if c >= 0x20 && c != '"' && c != '\\' && c != 0x7F {
				i++
				continue
			}
			dst = append(dst, s[start:i]...)
			switch c {
			case '"', '\\':
				dst = append(dst, '\\', c)
			case '\n':
				dst = append(dst, '\\', 'n')
			case '\r':
				dst = append(dst, '\\', 'r')
			case '\t':
				dst = append(dst, '\\', 't')
			default:
				dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
			}
			i++
			start = i
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 {
			dst = append(dst, s[start:i]...)
			dst = append(dst, "\uFFFD"...)
			i++
			start = i
			continue
		}
		if r == 0x2028 || r == 0x2029 {
			dst = append(dst, s[start:i]...)
			dst = append(dst, `\u202`...)
			dst = append(dst, hex[r&15])
			i += n
			start = i
			continue
		}
		i += n
	}
	dst = append(dst, s[start:]...)
	return append(dst, '"')
}
