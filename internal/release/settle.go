package release

import "slices"

// settle makes the fields of r agree with each other once name and folders are read.
func settle(r *Release) {
	slices.Sort(r.Seasons)
	r.Seasons = slices.Compact(r.Seasons)
	slices.Sort(r.Episodes)
	r.Episodes = slices.Compact(r.Episodes)
	if r.Extra {
		r.Kind = Extra
	}
	if s, one := r.Season(); one && s >= firstYear && r.Year == 0 {
		r.Year = s // a season that is named by its year
	}
	if s, one := r.Season(); one && s == 0 && r.Kind == Episode {
		r.Kind = Special
	}
	if r.Kind == Unknown {
		switch {
		case len(r.Episodes) > 0:
			r.Kind = Episode
		case r.Year > 0 && len(r.Seasons) == 0:
			r.Kind = Movie
		}
	}
}
