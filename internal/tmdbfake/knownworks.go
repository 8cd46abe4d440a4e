package tmdbfake

// fact is what everybody knows of a work: ids, titles, first dates and numbers of
// episodes are facts. There are no overviews and no episode titles.
type fact struct {
	id             int
	name, original string
	romaji, korean string
	first          Day
	popularity     float64
	seasons        []int // episodes of season 1, 2 ...; none for a film
	starts         []Day // of season 2, 3 ...; those that are left out begin a week after the last one
}

var knownSeries = []fact{
	{30991, "Cowboy Bebop", "カウボーイビバップ", "", "카우보이 비밥", date(1998, 4, 3), 61, []int{26}, nil},
	{
		1429, "Attack on Titan", "進撃の巨人", "Shingeki no Kyojin", "진격의 거인", date(2013, 4, 7), 118,
		[]int{25, 12, 22, 28},
		[]Day{date(2017, 4, 1), date(2018, 7, 23), date(2020, 12, 7)},
	},
	{
		31911, "Fullmetal Alchemist: Brotherhood", "鋼の錬金術師 FULLMETAL ALCHEMIST", "Hagane no Renkinjutsushi (2009)",
		"강철의 연금술사: 브라더후드", date(2009, 4, 5), 84,
		[]int{64},
		nil,
	},
	{13916, "Death Note", "DEATH NOTE", "", "데스노트", date(2006, 10, 4), 92, []int{37}, nil},
	{
		63926, "One-Punch Man", "ワンパンマン", "One Punch Man", "원펀맨", date(2015, 10, 5), 77,
		[]int{12, 12},
		[]Day{date(2019, 4, 10)},
	},
	{209867, "Frieren: Beyond Journey's End", "葬送のフリーレン", "Sousou no Frieren", "장송의 프리렌", date(2023, 9, 29), 103, []int{28}, nil},
	{
		85937, "Demon Slayer: Kimetsu no Yaiba", "鬼滅の刃", "Kimetsu no Yaiba", "귀멸의 칼날", date(2019, 4, 6), 131,
		[]int{26, 7, 11, 11, 8},
		[]Day{date(2021, 10, 10), date(2021, 12, 5), date(2023, 4, 9), date(2024, 5, 12)},
	},
	{95479, "Jujutsu Kaisen", "呪術廻戦", "Sorcery Fight", "주술회전", date(2020, 10, 3), 109, []int{47}, nil},
	{
		65930, "My Hero Academia", "僕のヒーローアカデミア", "Boku no Hero Academia", "나의 히어로 아카데미아", date(2016, 4, 3), 87,
		[]int{13, 25, 25, 25, 25, 25, 21},
		[]Day{date(2017, 4, 1), date(2018, 4, 7), date(2019, 10, 12), date(2021, 3, 27), date(2022, 10, 1), date(2024, 5, 4)},
	},
	{42509, "Steins;Gate", "シュタインズ・ゲート", "", "슈타인즈 게이트", date(2011, 4, 6), 39, []int{24}, nil},
	{
		67075, "Mob Psycho 100", "モブサイコ100", "", "모브사이코 100", date(2016, 7, 12), 44,
		[]int{12, 13, 12},
		[]Day{date(2019, 1, 7), date(2022, 10, 6)},
	},
	{
		46260, "Naruto", "ナルト", "NARUTO", "나루토", date(2002, 10, 3), 125,
		[]int{52, 52, 54, 62},
		[]Day{date(2003, 10, 8), date(2004, 10, 20), date(2005, 11, 2)},
	},
	{30984, "Bleach", "BLEACH", "", "블리치", date(2004, 10, 5), 98, []int{366, 40}, []Day{date(2022, 10, 11)}},
	{
		46298, "Hunter x Hunter", "HUNTER×HUNTER", "Hunter x Hunter (2011)", "헌터×헌터", date(2011, 10, 2), 89,
		[]int{62, 74, 12},
		[]Day{date(2013, 1, 6), date(2014, 6, 25)},
	},
	{
		31910, "Naruto Shippūden", "ナルト 疾風伝", "Naruto: Shippuuden", "나루토 질풍전", date(2007, 2, 15), 112,
		[]int{32, 21, 18, 17, 24, 31, 8, 24, 21, 25, 21, 33, 20, 25, 28, 13, 11, 21, 20, 87},
		nil,
	},
	{12609, "Dragon Ball", "ドラゴンボール", "", "드래곤볼", date(1986, 2, 26), 74, []int{153}, nil},
	{
		31724, "Code Geass: Lelouch of the Rebellion", "コードギアス 反逆のルルーシュ", "Code Geass: Hangyaku no Lelouch",
		"코드 기어스 반역의 를르슈", date(2006, 10, 6), 47,
		[]int{25, 25},
		[]Day{date(2008, 4, 6)},
	},
	{
		65942, "Re:ZERO -Starting Life in Another World-", "Re:ゼロから始める異世界生活", "Re:Zero kara Hajimeru Isekai Seikatsu",
		"Re: 제로부터 시작하는 이세계 생활", date(2016, 4, 4), 66,
		[]int{66},
		nil,
	},
	{
		65844, "KonoSuba: God's Blessing on This Wonderful World!", "この素晴らしい世界に祝福を！",
		"Kono Subarashii Sekai ni Shukufuku o!", "이 멋진 세계에 축복을!", date(2016, 1, 14), 52,
		[]int{10, 10, 11},
		[]Day{date(2017, 1, 12), date(2024, 4, 10)},
	},
	{
		60863, "Haikyu!!", "ハイキュー!!", "Haikyuu!!", "하이큐!!", date(2014, 4, 6), 71,
		[]int{25, 25, 10, 25},
		[]Day{date(2015, 10, 4), date(2016, 10, 8), date(2020, 1, 11)},
	},
	{120089, "SPY x FAMILY", "SPY×FAMILY", "Spy Family", "스파이 패밀리", date(2022, 4, 9), 81, []int{25, 12}, []Day{date(2023, 10, 7)}},
	{114410, "Chainsaw Man", "チェンソーマン", "", "체인소 맨", date(2022, 10, 12), 79, []int{12}, nil},
	{88803, "Vinland Saga", "ヴィンランド・サガ", "", "빈란드 사가", date(2019, 7, 8), 43, []int{24, 24}, []Day{date(2023, 1, 10)}},
	{72636, "Made in Abyss", "メイドインアビス", "", "메이드 인 어비스", date(2017, 7, 7), 38, []int{13, 12}, []Day{date(2022, 7, 6)}},
	{42916, "Toradora!", "とらドラ！", "Tora Dora", "토라도라!", date(2008, 10, 2), 28, []int{25}, nil},
	{24835, "Clannad", "CLANNAD -クラナド-", "", "클라나드", date(2007, 10, 5), 31, []int{23, 24}, []Day{date(2008, 10, 3)}},
	{21729, "Gurren Lagann", "天元突破グレンラガン", "Tengen Toppa Gurren Lagann", "천원돌파 그렌라간", date(2007, 4, 1), 30, []int{27}, nil},
	{26453, "Trigun", "トライガン", "", "트라이건", date(1998, 4, 1), 27, []int{26}, nil},
	{26867, "Mushi-Shi", "蟲師", "Mushishi", "충사", date(2005, 10, 23), 22, []int{26, 20}, []Day{date(2014, 4, 5)}},
	{44684, "Nichijou - My Ordinary Life", "日常", "Nichijou", "일상", date(2011, 4, 3), 24, []int{26}, nil},
	{119100, "BOCCHI THE ROCK!", "ぼっち・ざ・ろっく！", "Bocchi the Rock", "봇치 더 록!", date(2022, 10, 9), 35, []int{12}, nil},
	{207784, "Delicious in Dungeon", "ダンジョン飯", "Dungeon Meshi", "던전밥", date(2024, 1, 4), 48, []int{24}, nil},
	{61663, "Your Lie in April", "四月は君の嘘", "Shigatsu wa Kimi no Uso", "4월은 너의 거짓말", date(2014, 10, 10), 41, []int{22}, nil},
	{116727, "Odd Taxi", "オッドタクシー", "", "오드 택시", date(2021, 4, 6), 12, []int{13}, nil},
}

var knownFilms = []fact{
	{129, "Spirited Away", "千と千尋の神隠し", "Sen to Chihiro no Kamikakushi", "센과 치히로의 행방불명", date(2001, 7, 20), 97, nil, nil},
	{372058, "Your Name.", "君の名は。", "Kimi no Na wa.", "너의 이름은.", date(2016, 8, 26), 88, nil, nil},
	{149, "Akira", "アキラ", "AKIRA", "아키라", date(1988, 7, 16), 46, nil, nil},
	{128, "Princess Mononoke", "もののけ姫", "Mononoke Hime", "모노노케 히메", date(1997, 7, 12), 72, nil, nil},
	{8392, "My Neighbor Totoro", "となりのトトロ", "Tonari no Totoro", "이웃집 토토로", date(1988, 4, 16), 69, nil, nil},
	{4935, "Howl's Moving Castle", "ハウルの動く城", "Howl no Ugoku Shiro", "하울의 움직이는 성", date(2004, 9, 9), 83, nil, nil},
	{9323, "Ghost in the Shell", "GHOST IN THE SHELL", "Koukaku Kidoutai", "공각기동대", date(1995, 11, 18), 40, nil, nil},
	{378064, "A Silent Voice", "聲の形", "Koe no Katachi", "목소리의 형태", date(2016, 9, 17), 58, nil, nil},
	{10494, "Perfect Blue", "PERFECT BLUE", "", "퍼펙트 블루", date(1998, 2, 28), 33, nil, nil},
	{4977, "Paprika", "パプリカ", "", "파프리카", date(2006, 10, 1), 29, nil, nil},
	{81, "Nausicaä of the Valley of the Wind", "風の谷のナウシカ", "Kaze no Tani no Nausicaa", "바람계곡의 나우시카", date(1984, 3, 11), 37, nil, nil},
	{12477, "Grave of the Fireflies", "火垂るの墓", "Hotaru no Haka", "반딧불이의 묘", date(1988, 4, 16), 51, nil, nil},
}

// known returns the well-known works.
func known() []Work {
	var ws []Work
	for _, f := range knownSeries {
		w := f.series()
		if f.id == 95479 { // one season on TMDB, broadcast in two parts
			w.Seasons[0].Runs = []Run{run(1, 24, f.first), run(25, 47, date(2023, 7, 6))}
		}
		ws = append(ws, w)
	}
	for _, f := range knownFilms {
		w := film(f.id, f.name, f.original, f.popularity, f.first)
		f.titles(&w)
		ws = append(ws, w)
	}
	breaking := invented(1396, "Breaking Bad", "Breaking Bad", 210, date(2008, 1, 20))
	breaking.Language, breaking.Country, breaking.Genres, breaking.Runtime = "en", "US", []int{18, 80}, 47
	breaking.Seasons = []Season{
		one(1, 7, date(2008, 1, 20)), one(2, 13, date(2009, 3, 8)), one(3, 13, date(2010, 3, 21)),
		one(4, 13, date(2011, 7, 17)), one(5, 16, date(2012, 7, 15)),
	}
	breaking.External = External{IMDb: "tt0903747", TVDB: 81189}
	matrix := film(603, "The Matrix", "The Matrix", 95, date(1999, 3, 30))
	matrix.Language, matrix.Country, matrix.Genres, matrix.Runtime = "en", "US", []int{28, 878}, 136
	matrix.External = External{IMDb: "tt0133093"}
	reloaded := film(604, "The Matrix Reloaded", "The Matrix Reloaded", 54, date(2003, 5, 15))
	reloaded.Language, reloaded.Country, reloaded.Genres, reloaded.Runtime = "en", "US", []int{28, 878}, 138
	return append(ws, breaking, matrix, reloaded)
}

func (f fact) series() Work {
	w := invented(f.id, f.name, f.original, f.popularity, f.first)
	w.Genres = []int{16, 10759}
	w.Votes = int(f.popularity * 31)
	start := f.first
	for i, n := range f.seasons {
		if i > 0 {
			start += Day(7 * f.seasons[i-1])
			if i <= len(f.starts) {
				start = f.starts[i-1]
			}
		}
		w.Seasons = append(w.Seasons, one(i+1, n, start))
	}
	f.titles(&w)
	return w
}

func (f fact) titles(w *Work) {
	if f.romaji != "" {
		w.Alt = append(w.Alt, romaji(f.romaji))
	}
	w.Trans = append(w.Trans, tr("ko", "KR", f.korean, ""))
}
