package tmdbfake

import "time"

// Authored returns the catalogue that is written in code: the shapes that anime
// takes on TMDB, with invented works of ids from 9,000,000, and a few dozen
// works that everybody knows, with their real ids.
func Authored() (*Catalogue, error) { return NewCatalogue(append(shapes(), known()...)) }

// on is a day, written shortly.
func on(year, month, day int) Day { return MakeDay(year, time.Month(month), day) }
