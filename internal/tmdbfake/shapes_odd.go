package tmdbfake

import "fmt"

func oddShapes() []Work {
	ws := []Work{kanaOnly(), noRomaji(), planned(), manySeasons(), twoGroups(), adultOnly(), renumbered()}
	return append(ws, films()...)
}

// kanaOnly is I: no English name, and romaji only among the alternative titles.
func kanaOnly() Work {
	w := invented(9_000_020, "", "もふもふてんきよほう", 5.2, date(2012, 7, 2))
	w.Alt = []AltTitle{romaji("Mofumofu Tenki Yohou")}
	w.Seasons = []Season{one(1, 12, date(2012, 7, 2))}
	w.Odd = []Oddity{
		{"alternative", "type", Absent, -1},
		{"details", "overview", Null, -1},
		{"row", "softcore", Absent, -1},
		{"row", "overview", Empty, -1},
	}
	return w
}

// noRomaji is J: no title in Latin letters, so that a romaji name must stay
// without a match.
func noRomaji() Work {
	w := invented(9_000_021, "", "霧笛の郵便局", 2.1, date(2010, 1, 9))
	w.Seasons = []Season{one(1, 11, date(2010, 1, 9))}
	w.Odd = []Oddity{
		{"row", "backdrop_path", Null, -1},
		{"row", "poster_path", Null, -1},
		{"row", "genre_ids", Empty, -1},
		{"row", "adult", Absent, -1},
		{"details", "genres", Empty, -1},
		{"details", "poster_path", Null, -1},
		{"details", "backdrop_path", Null, -1},
		{"details", "spoken_languages", Absent, -1},
		{"details", "tagline", Absent, -1},
	}
	return w
}

// planned is K: announced, with neither dates nor seasons.
func planned() Work {
	w := invented(9_000_022, "Cartographers of the Ninth Floor", "九階の地図職人", 9.9, NoDay)
	w.Alt = []AltTitle{romaji("Kyuukai no Chizu Shokunin")}
	w.Status, w.Country, w.Runtime = "Planned", "", 0
	w.Odd = []Oddity{{"details", "networks", Empty, -1}}
	return w
}

// manySeasons is L: more seasons than one request may append.
func manySeasons() Work {
	w := invented(9_000_023, "Uncle Ferry", "フェリーおじさん", 14.6, date(1996, 4, 7))
	w.Alt = []AltTitle{romaji("Ferry Ojisan")}
	w.Trans = []Translation{tr("ko", "KR", "페리 아저씨", "")}
	for n := 1; n <= 23; n++ {
		w.Seasons = append(w.Seasons, one(n, 10, date(1995+n, 4, 7)))
	}
	w.Odd = []Oddity{
		{"season", "vote_average", Absent, 1},
		{"season", "poster_path", Null, 2},
		{"season", "overview", Null, 3},
		{"row", "original_language", Null, -1},
	}
	return w
}

// twoGroups is M: two absolute orders, one of them out of date.
func twoGroups() Work {
	w := invented(9_000_024, "Iron Tide Chronicle", "鉄潮記", 37.3, date(2002, 10, 3))
	w.Alt = []AltTitle{romaji("Tetchouki")}
	w.Trans = []Translation{tr("zh", "TW", "鐵潮記", ""), tr("ko", "KR", "철조기", "")}
	w.Seasons = []Season{
		one(1, 52, date(2002, 10, 3)), one(2, 52, date(2003, 10, 2)), one(3, 54, date(2004, 10, 7)), one(4, 62, date(2005, 11, 3)),
	}
	stale := wholeGroup(&w, "9000000000000000000d0001", "Absolute (old)")
	stale.Parts[0].Episodes = stale.Parts[0].Episodes[:165]
	stale.Description = ""
	whole := wholeGroup(&w, "9000000000000000000d0002", "Absolute Order")
	whole.Network = true
	w.Groups = []Group{stale, whole}
	w.Odd = []Oddity{
		{"episode", "runtime", Null, 1},
		{"episode", "runtime", Absent, 2},
		{"episode", "still_path", Null, 3},
		{"episode", "production_code", Null, 4},
		{"episode", "episode_type", Absent, 5},
		{"episode", "show_id", Absent, 6},
		{"translation", "tagline", Absent, 1},
	}
	return w
}

// adultOnly is N: hidden without include_adult.
func adultOnly() Work {
	w := invented(9_000_025, "Velvet Undertow", "天鵞絨の引き潮", 6.6, date(2011, 2, 25))
	w.Alt = []AltTitle{romaji("Biroudo no Hikishio")}
	w.Adult, w.Type = true, "Video"
	w.Seasons = []Season{one(1, 2, date(2011, 2, 25))}
	return w
}

// renumbered is O: one season of 60 until the stand-in's renumbering, then
// seasons of 24 and 36.
func renumbered() Work {
	w := invented(9_000_026, "Hollow Bell Tower", "空鐘楼", 19.8, date(2014, 10, 4))
	w.Alt = []AltTitle{romaji("Karashourou")}
	w.Seasons = []Season{{Number: 1, Runs: []Run{run(1, 24, date(2014, 10, 4)), run(25, 60, date(2018, 4, 7))}}}
	w.later = []Season{one(1, 24, date(2014, 10, 4)), one(2, 36, date(2018, 4, 7))}
	w.Odd = []Oddity{{"row", "first_air_date", Null, -1}}
	return w
}

// films are P, an OVA of two episodes that TMDB holds as two films, and films
// without a date.
func films() []Work {
	var ws []Work
	for i := range 2 {
		w := film(9_000_102+i, fmt.Sprintf("Tin Garden %d", i+1), fmt.Sprintf("ブリキの庭 %s", []string{"上巻", "下巻"}[i]), 4.4, date(2003, 6+3*i, 25))
		w.Alt = []AltTitle{romaji(fmt.Sprintf("Buriki no Niwa %d", i+1)), alt("US", fmt.Sprintf("Tin Garden OVA %d", i+1))}
		w.Runtime = 42
		ws = append(ws, w)
	}
	announced := film(9_000_105, "Harbour of Second Suns", "二番目の太陽の港", 3.1, NoDay)
	announced.Alt = []AltTitle{romaji("Nibanme no Taiyou no Minato")}
	announced.Status = "Planned"
	announced.Odd = []Oddity{
		{"row", "backdrop_path", Null, -1}, {"row", "poster_path", Null, -1}, {"row", "softcore", Absent, -1},
	}
	undated := film(9_000_106, "Forty Summers Under Glass", "硝子の下の四十の夏", 2.7, NoDay)
	undated.Odd = []Oddity{{"row", "release_date", Absent, -1}}
	return append(ws, announced, undated)
}
