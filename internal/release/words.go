package release

import (
	"strings"
	"unicode/utf8"
)

// tag says what a token was recognised as.
type tag uint8

const (
	none tag = iota
	tagResolution
	tagSource
	tagVideo
	tagAudio
	tagTech     // bit depth, frame rate, HDR, size, channels
	tagService  // the streaming service or station
	tagLanguage // languages of sound or text
	tagSubtitle // subtitled, dubbed
	tagEdition  // extended, uncut, remastered
	tagOther    // proper, internal, sample
	tagContainer
	tagYear
	tagDate
	tagSeason
	tagEpisode
	tagOverall // the episode again, in the count of the whole show
	tagVersion
	tagExtra
	tagSpecial
	tagPart
	tagVolume
	tagEnd // the last episode
	tagBatch
	tagMovie
	tagChecksum
	tagID
	tagSite
	tagPromo // "10月新番", "国漫": what a bracket says that is neither group nor title
	tagCountry
)

// kw is what a word means: its tag, and for some a part in a marker.
type kw struct {
	tag    tag
	value  string // canonical form
	weak   bool   // may be part of a title: a tag only beside tags
	common bool   // titles have it too: a tag only in capitals, or beside another of its kind
	role   role
}

// role is the part a word has in a marker that takes more than one token.
type role uint8

const (
	noRole role = iota
	seasonWord
	seasonsWord // plural: what follows is a list
	seriesWord  // the British season, and a word of titles
	episodeWord
	unitWord // counts the episodes of some works: behind a dash
	partWord
	volumeWord
	ofWord
	toWord // to: the numbers beside it are a range
	andWord
	monthWord
	akaWord
)

// words maps a word in small letters to what it says about a file besides its title. A new word is one entry here; a
// tag of two words is a pair in compounds.
var words = build([]entry{
	// Sources.
	{`bluray blurayrip bdrip bd brrip bdremux bdmux brmux bdripmux brripmux blurayremux blueray bdr bd25 bd50
		bluraymux uhdbluray uhdremux uhdbd bdrips brremux bdscr`, kw{tag: tagSource, value: "BluRay"}},
	{"remux hybrid", kw{tag: tagSource, value: "BluRay"}},
	{`webdl webdlrip webhd webuhd webcap webcaprip amazonhd netflixhd netflixuhd itunes ituneshd netflixuhdrip
		itunesuhd`, kw{tag: tagSource, value: "WEB-DL"}},
	{"webrip webriP webmux", kw{tag: tagSource, value: "WEBRip"}},
	{"web", kw{tag: tagSource, value: "WEB", weak: true}},
	{`hdtv hdtvrip pdtv ahdtv uhdtv dsr dsrip hdtvmux dthrip satrip dvbrip tvrip sdtv uhdtvrip htdv dvb hdtvs hdrip-tv
		stv`, kw{tag: tagSource, value: "HDTV"}},
	{`dvd dvdrip dvdr dvd5 dvd9 dvdscr dvdmux dvdivx xvidvd ntscdvd dvdremux dvd1 dvd2
		dvd7 dvdisc`, kw{tag: tagSource, value: "DVD"}},
	{"hdrip hddvd hdlight hddvdrip mhd vodrip vod ppv ppvrip webhdrip uhdrip hdclub", kw{tag: tagSource, value: "HDRip"}},
	{"vhs vhsrip", kw{tag: tagSource, value: "VHS"}},
	{`hdts hdcam camrip telesync telecine hdtc tsrip hqcam predvd predvdrip workprint dvdscreener screener tc1080p
		hdts1`, kw{tag: tagSource, value: "CAM"}},
	{"cam ts tc scr r5 r6 wp", kw{tag: tagSource, value: "CAM", weak: true}},
	{"laserdisc ldrip", kw{tag: tagSource, value: "LaserDisc"}},
	{"tv tvs", kw{tag: tagSource, value: "TV", weak: true}},
	// Video.
	{"x264 h264 avc avchd h264hi10p x264m hi10p hi10 hi422p hi444pp ma10p", kw{tag: tagVideo, value: "H.264"}},
	{"x265 h265 hevc x265m hevc10 ma444 h265hevc", kw{tag: tagVideo, value: "H.265"}},
	{"av1", kw{tag: tagVideo, value: "AV1"}},
	{"vp9 vp8", kw{tag: tagVideo, value: "VP9"}},
	{"xvid xvidhd divx divx5 divx6 divx3", kw{tag: tagVideo, value: "XviD"}},
	{"mpeg2 mpeg4 mpeg mpg2 vc1 vc x642 nvenc", kw{tag: tagVideo, value: "MPEG"}},
	// Audio.
	{"aac heaac qaac", kw{tag: tagAudio, value: "AAC"}},
	{"flac", kw{tag: tagAudio, value: "FLAC"}},
	{"ac3 eac3 ddp ddpa ac3d ddplus dolbyd dolbydigital", kw{tag: tagAudio, value: "Dolby Digital"}},
	{"dd eac", kw{tag: tagAudio, value: "Dolby Digital", weak: true}},
	{"truehd atmos dolby", kw{tag: tagAudio, value: "TrueHD"}},
	{"dts dtshd dtses dtsx dtsma dtshdma dtsexp dtsex dtshdhra", kw{tag: tagAudio, value: "DTS"}},
	{"mp3", kw{tag: tagAudio, value: "MP3"}},
	{"opus ogg", kw{tag: tagAudio, value: "Opus", weak: true}},
	{"vorbis", kw{tag: tagAudio, value: "Vorbis"}},
	{"pcm lpcm alac mp2 mpa2", kw{tag: tagAudio, value: "PCM"}},
	// Techniques.
	{`10bit 8bit 12bit 10bits 8bits 24bit hdr hdr10 hdr10plus hdr10p sdr dovi dv hlg vfr cfr 60fps 24fps 30fps 25fps
		16x9 yuv420p10le yuv444p10le yuv420p10 yuv444p10 vr180 bt2020 bt709`, kw{tag: tagTech}},
	{"bit bits fps ch kbps mbps mb gb", kw{tag: tagTech, weak: true}},
	{"uhd 4k 8k uhd4k hd4k bd4k ultrahd", kw{tag: tagResolution, value: "2160p"}},
	{"fhd fullhd", kw{tag: tagResolution, value: "1080p"}},
	{"hd sd hq lq hdready 6k hbr", kw{tag: tagTech, weak: true}},
	{"ntsc", kw{tag: tagTech}},
	{"pal", kw{tag: tagTech, weak: true}},
	{"imax", kw{tag: tagEdition, value: "IMAX", weak: true}},
	{"3d 2d sbs hsbs hou htab om conv", kw{tag: tagEdition, weak: true}},
	{"sub", kw{tag: tagSubtitle, weak: true}},
	{`subs subbed subtitle subtitles softsub softsubs hardsub hardsubs esub esubs msubs multisub multisubs vost vostfr
		vosta vostf fansub engsub engsubs subesp softsubbed swesub nlsubs nlsub hebsubs dksubs swesubs subforced vosubfr
		legenda legendado legendas subtitulado subita
		vietsub altyazılı altyazili dublaj napisy titulky dabing felirat sinkron titlovano ซับไทย พากย์ไทย مترجم مترجمة مدبلج
		مدبلجة زیرنویس دوبله озвучка субтитры дубляж`, kw{tag: tagSubtitle}},
	{"dub dubbed dublado audio dual multi dualaudio multiaudio doublage dubs", kw{tag: tagSubtitle, weak: true}},
	{`vff vf vfq vf2 vfi truefrench subfrench multi5 pldub plsub pldubbed lektor mvo dvo avo castellano latino
		lostfilm eng2 chs cht gb big5 jpsc jptc bilingual`, kw{tag: tagLanguage}},
	// Languages: hardly ever tags by themselves, always among them.
	{`english french german italian spanish russian korean japanese chinese hindi tamil telugu malayalam kannada
		bengali polish dutch swedish norwegian danish finnish portuguese turkish greek hebrew arabic thai vietnamese
		hungarian czech flemish nordic ukrainian catalan romanian`, kw{tag: tagLanguage, weak: true}},
	{`eng ger ita esp spa rus jpn jap kor chi fre fra pol por swe nor dan tur ukr vie
		tha ita hin tam tel mal kan pt br pt-br es fr de en ru jp cn dl md ld ro pl
		ukrainian telugu nl dubbed vo fastsub`, kw{tag: tagLanguage, weak: true}},
	// Services.
	{`amzn hulu dsnp hmax baha pcok atvp bilibili hidive funi funimation crunchyroll netflix amazon abema iqiyi
		nhk mbs bs11 tvn viutv dmm bilibilihd wetv bili iplayer atv`, kw{tag: tagService, weak: true}},
	{`nf cr ip max stan dm iview itv bglobal pmtp kktv ctv adn unext dcu dsn hbo abc
		free bet mx tx ytv`, kw{tag: tagService, weak: true}},
	// Containers.
	{"mkv mp4 avi wmv webm ogm rmvb m2ts", kw{tag: tagContainer}},
	{"ass ssa", kw{tag: tagSubtitle, weak: true}},
	{"srt srtx2 srtx4 assx2 assx3 assx4 pgs vobsub", kw{tag: tagSubtitle}},
	// Editions and the like.
	{"extended", kw{tag: tagEdition, value: "Extended", weak: true}},
	{"unrated", kw{tag: tagEdition, value: "Unrated", weak: true}},
	{"uncut", kw{tag: tagEdition, value: "Uncut", weak: true}},
	{"uncensored", kw{tag: tagEdition, value: "Uncensored", weak: true}},
	{"remastered remaster", kw{tag: tagEdition, value: "Remastered", weak: true}},
	{"restored restoration", kw{tag: tagEdition, value: "Restored", weak: true}},
	{"theatrical", kw{tag: tagEdition, value: "Theatrical", weak: true}},
	{"criterion", kw{tag: tagEdition, value: "Criterion", weak: true}},
	{"anniversary", kw{tag: tagEdition, value: "Anniversary", weak: true}},
	{"bootleg", kw{tag: tagEdition, value: "Bootleg", weak: true}},
	{"recut", kw{tag: tagEdition, value: "Recut", weak: true}},
	{"fanedit fan-edit", kw{tag: tagEdition, value: "Fan Edit", weak: true}},
	{"dircut", kw{tag: tagEdition, value: "Director's Cut", weak: true}},
	{"director directors director's 2in1 upscale upscaled rerip regraded", kw{tag: tagEdition, weak: true}},
	{
		`final special alternative open matte ultimate ws fs cut edition version`,
		kw{tag: tagEdition, weak: true, common: true},
	},
	{"dc", kw{tag: tagEdition, value: "Director's Cut", weak: true, common: true}},
	{`proper repack rerip dirfix nfofix readnfo prooffix samplefix preair pre-air retail obfuscated xpost hc stv docu doku
		dubfix enhanced`, kw{tag: tagOther, weak: true}},
	{"real internal limited proof custom line ai", kw{tag: tagOther, weak: true, common: true}},
	{"read nfo", kw{tag: tagOther, weak: true, common: true}},
	{"xxx", kw{tag: tagOther}},
	{"sample", kw{tag: tagExtra, value: "SAMPLE", weak: true}},
	// Extras.
	{"ncop nced", kw{tag: tagExtra, value: "NC"}},
	{"creditless", kw{tag: tagExtra, value: "NC", weak: true}},
	{`pv cm trailer trailers teaser preview menu menus opening ending op ed bonus extras extra featurette deleted
		interview specials`, kw{tag: tagExtra, weak: true}},
	{"特典 映像特典 予告 花絮 预告", kw{tag: tagExtra, value: "EXTRA"}},
	{"трейлер трейлеры тизер tráiler", kw{tag: tagExtra, value: "PV", weak: true}},
	// Specials.
	{"ona onas", kw{tag: tagEdition, weak: true}},
	{"ova oad ovas oads oav", kw{tag: tagSpecial}},
	{"спецвыпуск спэшл спешл", kw{tag: tagSpecial, value: "SP"}},
	{"sp sps", kw{tag: tagSpecial, weak: true}},
	// Films.
	{"movie film gekijouban gekijoban eiga movies", kw{tag: tagMovie, weak: true}},
	{"剧场版 劇場版 극장판 电影版 電影版 剧场", kw{tag: tagMovie}},
	// Batches.
	{"batch 本篇 本編", kw{tag: tagBatch}},
	{`complete collection full integrale intégrale integral completa complet complète compleet boxset pack completas`, kw{tag: tagBatch, weak: true}},
	{"合集 全集 总集篇 總集篇 完结 完結 全话 全話", kw{tag: tagBatch}},
	{"end fin finale", kw{tag: tagEnd, weak: true}},
	{"完 终 완 완결 最终话 最終話 最终回 最終回 最终集 最終集 大结局 大結局 최종화 최종회 마지막화 마지막회", kw{tag: tagEnd}},
	// Countries.
	{"us uk au nz", kw{tag: tagCountry, weak: true}},
	// Markers' words, by the languages of CLDR.
	{`season saison temporada staffel stagione seizoen sezon sezona sezonas sezóna sezonul säsong sæson saeson sesong
		sesongen kausi tuotantokausi évad evad řada série tempada hooaeg denboraldia musim mùa phần сезон сезона сезону
		σεζόν κύκλος الموسم موسم עונה فصل ซีซั่น ซีซัน ภาค ปี temp tem sez सीज़न सीजन тв 시즌 シーズン livre`, kw{role: seasonWord}},
	{"se", kw{tag: tagEdition, weak: true, role: seasonWord}},
	{"series", kw{role: seriesWord}},
	{"seasons saisons temporadas staffeln stagioni seizoenen sezony сезоны σεζόν", kw{role: seasonsWord}},
	{`episode ep eps epi episodes episodio episódio épisode épisodes episodios episódios episodi episod episodul epizod
		epizoda epizóda epizód epizode folge folgen capitulo capítulo capitulos capítulos capitol capítol cap caps caap puntata afl
		aflevering afleveringen avsnitt afsnit jakso odcinek odcinki odc díl diel rész resz bölüm bolum blm tập ser serija serii seria
		serya sērija серия серии серий сер серія серії эпизод эпизоды епізод епизод выпуск επεισόδιο الحلقة حلقة الحلقات حلقات פרק
		قسمت ตอนที่ ตอน एपिसोड`, kw{role: episodeWord}},
	{`lesson session layer phase tap stage mission chapter act file case turn round scene track quest log page match night
		kapitel глава`, kw{role: unitWord}},
	{"part pt partie teil parte cour часть", kw{role: partWord}},
	{"vol volume vols", kw{role: volumeWord}},
	{"of iz из von", kw{role: ofWord}},
	{"to al bis ao à a do до по", kw{role: toWord}},
	{"and en e y et und и", kw{role: andWord}},
	{`jan january feb february mar march apr april may jun june jul july aug august sep sept september oct october nov
		november dec december`, kw{role: monthWord}},
	{"aka", kw{role: akaWord}},
	// What brackets of Chinese groups say.
	{"国漫 国语 国配 中字 简体 繁体 繁體 简中 繁中 双语 字幕 简繁 招募 检索 檢索 内嵌 內嵌 内封 外挂 外掛 生肉 新番 修正 国创 더빙 자막 한글자막 자막판 더빙판 무자막 우리말 무삭제 무삭제판", kw{tag: tagPromo}},
})

type entry struct {
	words string
	kw    kw
}

// maxKeyword is the length in bytes of the longest word looked up.
const maxKeyword = 24

func build(rows []entry) map[string]kw {
	m := make(map[string]kw, 1024)
	for _, r := range rows {
		for _, w := range strings.Fields(r.words) {
			if _, known := m[w]; !known { // the first row that names a word has it
				m[w] = r.kw
			}
		}
	}
	return m
}

// among reports whether w is one of the words, in any case.
func among(w string, words ...string) bool {
	for _, v := range words {
		if len(v) == len(w) && strings.EqualFold(v, w) {
			return true
		}
	}
	return false
}

// lookup returns the meaning of a word in any case, the zero value for a word without one.
func lookup(w string) (kw, bool) {
	if len(w) > maxKeyword {
		return kw{}, false
	}
	var buf [maxKeyword]byte
	for i := 0; i < len(w); i++ {
		c := w[i]
		if c >= utf8.RuneSelf {
			k, ok := words[strings.ToLower(w)]
			return k, ok
		}
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		buf[i] = c
	}
	if wordLengths[buf[0]]&(1<<len(w)) == 0 {
		return kw{}, false
	}
	k, ok := words[string(buf[:len(w)])]
	return k, ok
}

// wordLengths holds, by first byte, a bit for each length that a word of the table has: most words of titles need no look into it.
var wordLengths = func() (by [256]uint32) {
	for w := range words {
		if len(w) <= maxKeyword {
			by[w[0]] |= 1 << len(w)
		}
	}
	return by
}()

// lower returns w in small letters.
func lower(w string) string {
	for i := 0; i < len(w); i++ {
		if w[i] >= 'A' && w[i] <= 'Z' || w[i] >= utf8.RuneSelf {
			return strings.ToLower(w)
		}
	}
	return w
}
