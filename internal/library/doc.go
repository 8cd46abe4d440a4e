// Package library reads a media library: it walks folders, tells media from everything else, and says of each file
// that is left out why.
//
// [Walk] yields one [Dir] per folder: first the folder's own files in byte order of their names, then its folders,
// again in that order, so two walks of one tree give the same sequence. What is not media (pictures, subtitles,
// ".nfo") is passed over in silence; media that is left out comes with File.Skip set, and so does a folder that is
// not entered (File.IsDir).
//
// What a user names is taken at their word: a root is entered though it is hidden, called "Extras" or named in an
// ignore file, as with fd and ripgrep. A file that is named goes through the rules that judge names (samples,
// trailers, creditless openings, menus, --exclude), because a shell's *.mkv names files too, and has to be media;
// ignore files do not apply to it.
package library
