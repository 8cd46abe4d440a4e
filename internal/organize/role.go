package organize

import (
	"path"
	"strings"

	"github.com/anivault/anivault/internal/library"
)

// Role says what a file is in a library.
type Role string

// The roles.
const (
	RoleVideo    Role = "video"
	RoleSubtitle Role = "subtitle"
	RoleAudio    Role = "audio"
	RoleImage    Role = "image"
	RoleNFO      Role = "nfo"
	RoleFont     Role = "font"
	RoleExtra    Role = "extra"
	RoleOther    Role = "other"
)

var roles = map[string]Role{
	".nfo": RoleNFO,
	".mka": RoleAudio, ".ac3": RoleAudio, ".eac3": RoleAudio, ".dts": RoleAudio, ".flac": RoleAudio, ".aac": RoleAudio, ".mp3": RoleAudio,
	".jpg": RoleImage, ".jpeg": RoleImage, ".png": RoleImage, ".webp": RoleImage, ".gif": RoleImage, ".bmp": RoleImage, ".tbn": RoleImage,
	".ttf": RoleFont, ".otf": RoleFont, ".ttc": RoleFont,
}

// RoleOf returns what a file is by its extension.
func RoleOf(name string) Role {
	if role, known := roles[strings.ToLower(path.Ext(name))]; known {
		return role
	}
	switch {
	case library.IsSubtitle(name):
		return RoleSubtitle
	case library.IsVideo(name):
		return RoleVideo
	}
	return RoleOther
}

// followsNobody reports whether a file is a download that is not complete, or its torrent.
func followsNobody(name string) bool {
	return IsUnfinished(name) || strings.EqualFold(path.Ext(name), ".torrent")
}

// IsUnfinished reports whether a file is a download that is not complete, by its name.
func IsUnfinished(name string) bool {
	switch strings.ToLower(path.Ext(name)) {
	case ".part", ".!qb", ".crdownload", ".aria2", ".partial", ".tmp", ".unfinished":
		return true
	}
	return false
}

// RoleIn returns what a file of a unit is.
func (u *Unit) RoleIn(op *Op) Role {
	if role := RoleOf(op.To); role != RoleVideo || !u.Follows {
		return role
	}
	return RoleExtra
}
