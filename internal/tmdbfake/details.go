package tmdbfake

// AsOf is today in the catalogue: later episodes of a running series have not
// aired. It is fixed, so that bodies do not depend on the clock.
var AsOf = MakeDay(2026, 9, 1)

func (w *Work) tvDetails(v view) object {
	ss := w.seasonMap(v.renumbered)
	rows := []object{}
	episodes, regular := 0, 0
	var last, next *Episode
	lastDate := NoDay
	for i := range ss {
		s := &ss[i]
		rows = append(rows, w.seasonRow(s, v))
		if s.Number == 0 {
			continue
		}
		regular++
		for _, e := range s.Episodes() {
			episodes++
			if e.Date == NoDay {
				continue
			}
			if w.Status == "Returning Series" && e.Date > AsOf {
				if next == nil || e.Date < next.Date {
					next = &e
				}
				continue
			}
			if last == nil || e.Date >= last.Date {
				last, lastDate = &e, e.Date
			}
		}
	}
	o := object{
		"adult": w.Adult, "softcore": false, "id": w.ID,
		"name": w.shownName(v.language, v.country), "original_name": w.Original, "original_language": w.Language,
		"overview": w.shownOverview(v.language, v.country), "tagline": "", "homepage": "",
		"backdrop_path": w.image("backdrop"), "poster_path": w.image("poster"),
		"created_by": []any{}, "episode_run_time": runTimes(w.Runtime), "genres": w.genreObjects(),
		"first_air_date": w.Date.String(), "last_air_date": nullable(lastDate.String()),
		"in_production": w.Status == "Returning Series", "languages": []string{w.Language},
		"last_episode_to_air": nil, "next_episode_to_air": nil,
		"networks": []object{network()}, "number_of_episodes": episodes, "number_of_seasons": regular,
		"origin_country": w.countries(), "popularity": w.Popularity,
		"production_companies": []any{}, "production_countries": w.productionCountries(),
		"seasons": rows, "spoken_languages": w.spoken(), "status": w.Status, "type": w.Type,
		"vote_average": w.vote(), "vote_count": w.Votes,
	}
	if last != nil {
		o["last_episode_to_air"] = w.episode(*last, v, false)
	}
	if next != nil {
		o["next_episode_to_air"] = w.episode(*next, v, false)
	}
	return w.odd(o, "details", 0)
}

func runTimes(minutes int) []int {
	if minutes == 0 {
		return []int{}
	}
	return []int{minutes}
}

func (w *Work) productionCountries() []object {
	if w.Country == "" {
		return []object{}
	}
	return []object{{"iso_3166_1": w.Country, "name": tables().Countries[w.Country]}}
}

func (w *Work) spoken() []object {
	if w.Language == "" {
		return []object{}
	}
	n := tables().Languages[w.Language]
	return []object{{"iso_639_1": w.Language, "name": n.Own, "english_name": n.English}}
}

// movieDetails returns the body of /3/movie/{id} without appended parts.
func (w *Work) movieDetails(v view) object {
	o := object{
		"adult": w.Adult, "softcore": false, "id": w.ID, "video": false,
		"title": w.shownName(v.language, v.country), "original_title": w.Original, "original_language": w.Language,
		"overview": w.shownOverview(v.language, v.country), "tagline": "", "homepage": "",
		"backdrop_path": w.image("backdrop"), "poster_path": w.image("poster"), "belongs_to_collection": nil,
		"budget": 0, "revenue": 0, "genres": w.genreObjects(), "imdb_id": nullable(w.External.IMDb),
		"origin_country": w.countries(), "popularity": w.Popularity, "production_companies": []any{},
		"production_countries": w.productionCountries(), "release_date": w.Date.String(), "runtime": w.Runtime,
		"spoken_languages": w.spoken(), "status": w.Status, "vote_average": w.vote(), "vote_count": w.Votes,
	}
	return w.odd(o, "details", 0)
}

// seasonDetails returns the body of /3/tv/{id}/season/{n}.
func (w *Work) seasonDetails(s *Season, v view) object {
	episodes := []object{}
	for _, e := range s.Episodes() {
		episodes = append(episodes, w.episode(e, v, true))
	}
	o := w.seasonRow(s, v)
	delete(o, "episode_count")
	o["_id"] = hexID(24, "season", w.ID, s.Number)
	o["episodes"] = episodes
	o["networks"] = []object{network()}
	return o
}

// alternativeTitles returns the body of …/alternative_titles; country "" is all.
func (w *Work) alternativeTitles(country string) object {
	list := []object{}
	for i, a := range w.Alt {
		if country != "" && a.Country != country {
			continue
		}
		list = append(list, w.odd(object{"iso_3166_1": a.Country, "title": a.Title, "type": a.Type}, "alternative", i))
	}
	if w.Kind == Movie {
		return object{"id": w.ID, "titles": list}
	}
	return object{"id": w.ID, "results": list}
}

func (w *Work) translations() object {
	list := []object{}
	add := func(i int, t Translation) {
		n := tables().Languages[t.Language]
		data := object{"name": t.Name, "overview": t.Overview, "homepage": "", "tagline": ""}
		if w.Kind == Movie {
			data = object{"title": t.Name, "overview": t.Overview, "homepage": "", "tagline": "", "runtime": w.Runtime}
		}
		list = append(list, object{
			"iso_3166_1": t.Country, "iso_639_1": t.Language, "name": n.Own, "english_name": n.English,
			"data": w.odd(data, "translation", i),
		})
	}
	if w.Name != "" && w.translation("en", "") == nil {
		name := w.Name
		if name == w.Original {
			name = ""
		}
		add(0, Translation{Language: "en", Country: "US", Name: name, Overview: w.Overview})
	}
	for i, t := range w.Trans {
		if t.Name == w.Original {
			t.Name = ""
		}
		add(i+1, t)
	}
	return object{"id": w.ID, "translations": list}
}

// externalIDs returns the body of …/external_ids.
func (w *Work) externalIDs() object {
	o := object{
		"id": w.ID, "imdb_id": nullable(w.External.IMDb), "wikidata_id": nullable(w.External.Wikidata),
		"facebook_id": nil, "instagram_id": nil, "twitter_id": nil,
	}
	if w.Kind == TV {
		o["tvdb_id"] = nullableInt(w.External.TVDB)
		o["tvrage_id"], o["freebase_id"], o["freebase_mid"] = nil, nil, nil
	}
	return w.odd(o, "external", 0)
}

func (w *Work) contentRatings() object {
	rating := "TV-14"
	if w.Adult {
		rating = "TV-MA"
	}
	return object{"id": w.ID, "results": []object{{"iso_3166_1": "US", "rating": rating, "descriptors": []any{}}}}
}

// releaseDates returns the body of /3/movie/{id}/release_dates, the one endpoint
// whose dates are full timestamps.
func (w *Work) releaseDates() object {
	list := []object{}
	if w.Date != NoDay {
		list = append(list, object{"iso_3166_1": w.Country, "release_dates": []object{{
			"certification": "", "descriptors": []any{}, "iso_639_1": "", "note": "",
			"release_date": w.Date.String() + "T00:00:00.000Z", "type": 3,
		}}})
	}
	return object{"id": w.ID, "results": list}
}

// groupRow returns an episode group as an element of the list.
func (w *Work) groupRow(i int) object {
	g := &w.Groups[i]
	n := 0
	for _, p := range g.Parts {
		for _, r := range p.Episodes {
			n += r.Last - r.First + 1
		}
	}
	var net any
	if g.Network {
		net = network()
	}
	return w.odd(object{
		"id": g.ID, "name": g.Name, "description": g.Description, "type": g.Type, "network": net,
		"episode_count": n, "group_count": len(g.Parts),
	}, "group", i)
}

func (w *Work) episodeGroups() object {
	list := []object{}
	for i := range w.Groups {
		list = append(list, w.groupRow(i))
	}
	return object{"id": w.ID, "results": list}
}

func (w *Work) groupDetails(id string, v view) object {
	for i := range w.Groups {
		g := &w.Groups[i]
		if g.ID != id {
			continue
		}
		o := w.groupRow(i)
		parts := []object{}
		for j, p := range g.Parts {
			episodes := []object{}
			for _, r := range p.Episodes {
				for n := r.First; n <= r.Last; n++ {
					e := w.episode(w.find(r.Season, n), v, false)
					e["order"] = len(episodes)
					episodes = append(episodes, e)
				}
			}
			parts = append(parts, object{
				"id": hexID(24, "part", g.ID, j), "name": p.Name, "order": p.Order, "locked": false, "episodes": episodes,
			})
		}
		o["groups"] = parts
		return o
	}
	return nil
}

// find returns an episode of a group. One that is no longer in the seasons has a
// number alone.
func (w *Work) find(inSeason, number int) Episode {
	e := Episode{Season: inSeason, Number: number, Date: NoDay, Kind: "standard"}
	if s := season(w.Seasons, inSeason); s != nil {
		for _, r := range s.Runs {
			if number >= r.First && number <= r.Last {
				e.Title, e.Date = s.Titles[number], r.Date(number)
				return e
			}
		}
	}
	return e
}
