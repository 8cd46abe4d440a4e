package release

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/text/unicode/norm"
)

// summary writes what a test row states: title, season, episode, year, kind and the rest only where the name has it.
func summary(r Release) string {
	var b strings.Builder
	b.WriteString(r.Title)
	if len(r.Seasons) > 0 {
		fmt.Fprintf(&b, " s%s", spanText(toFloats(r.Seasons)))
	}
	if len(r.Episodes) > 0 {
		fmt.Fprintf(&b, " e%s", spanText(r.Episodes))
	}
	if r.Year > 0 {
		fmt.Fprintf(&b, " y%d", r.Year)
	}
	if r.Version > 0 {
		fmt.Fprintf(&b, " v%d", r.Version)
	}
	if r.Part > 0 {
		fmt.Fprintf(&b, " part%d", r.Part)
	}
	if r.Special != "" {
		fmt.Fprintf(&b, " %s", r.Special)
	}
	if r.Kind != Unknown {
		fmt.Fprintf(&b, " %s", r.Kind)
	}
	return strings.TrimSpace(b.String())
}

func toFloats(in []int) []float64 {
	out := make([]float64, len(in))
	for i, v := range in {
		out[i] = float64(v)
	}
	return out
}

// spanText writes 1,2,3 as 1-3.
func spanText(v []float64) string {
	var parts []string
	for i := 0; i < len(v); {
		j := i
		for j+1 < len(v) && v[j+1] == v[j]+1 {
			j++
		}
		s := strconv.FormatFloat(v[i], 'f', -1, 64)
		if j > i {
			s += "-" + strconv.FormatFloat(v[j], 'f', -1, 64)
		}
		parts = append(parts, s)
		i = j + 1
	}
	return strings.Join(parts, ",")
}

type row struct{ name, want string }

func check(t *testing.T, rows []row) {
	t.Helper()
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			if diff := cmp.Diff(r.want, summary(Parse(r.name))); diff != "" {
				t.Errorf("%s (-want +got):\n%s", r.name, diff)
			}
		})
	}
}

func TestFansubNames(t *testing.T) {
	check(t, []row{
		{"[Quiet] Silver Rail - 07 [1080p][ABCD1234].mkv", "Silver Rail e7 episode"},
		{"[Quiet] Silver Rail - 07v2 [1080p][ABCD1234].mkv", "Silver Rail e7 v2 episode"},
		{"[Quiet] Hybrid Rail - 07 [1080p][ABCD1234].mkv", "Hybrid Rail e7 episode"},
		{"Hybrid Rail - 07.mkv", "Hybrid Rail e7 episode"},
		{"[Quiet]_Silver_Rail_-_07_[BD_1080p_x264_FLAC][ABCD1234].mkv", "Silver Rail e7 episode"},
		{"[Quiet] Silver Rail S2 - 03 (1080p) [89ABCDEF].mkv", "Silver Rail s2 e3 episode"},
		{"[Quiet] Silver Rail 2nd Season - 03 [720p].mkv", "Silver Rail s2 e3 episode"},
		{"[Quiet] Silver Rail Second Season - 03 [720p].mkv", "Silver Rail s2 e3 episode"},
		{"[Quiet] Silver Rail Season 2 Episode 3 [720p].mkv", "Silver Rail s2 e3 episode"},
		{"[Quiet] Silver Rail (2011) - 12 [720p].mkv", "Silver Rail e12 y2011 episode"},
		{"[Quiet][Silver Rail][05][1080p].mkv", "Silver Rail e5 episode"},
		{"[Quiet] Silver Rail - 12.5 [1080p].mkv", "Silver Rail e12.5 episode"},
		{"[Quiet] Silver Rail - 00 [1080p].mkv", "Silver Rail e0 episode"},
		{"[Quiet] Silver Rail - 1043 [1080p].mkv", "Silver Rail e1043 episode"},
		{"[Quiet] Silver Rail 05 [1080p].mkv", "Silver Rail e5 episode"},
		{"Silver Rail 15 [BD 1080p HEVC FLAC][ABCD1234].mkv", "Silver Rail e15 episode"},
		{"Silver Rail - 05 - The Long Night [1080p].mkv", "Silver Rail e5 episode"},
		{"[Quiet] Silver Rail #05 [1080p].mkv", "Silver Rail e5 episode"},
		{"[Quiet] Silver Rail - 05 END [1080p].mkv", "Silver Rail e5 episode"},
		{"Silver_Rail_[05_of_12]_[HDTV].avi", "Silver Rail e5 episode"},
		{"[Quiet] Silver Rail Part 2 - 04 [1080p].mkv", "Silver Rail Part 2 e4 part2 episode"},
		{"[Quiet] Silver Rail - Blue Hour - 04 [1080p].mkv", "Silver Rail - Blue Hour e4 episode"},
		{"[Quiet] Silver Rail (Gin no Michi) - 04 [1080p].mkv", "Silver Rail (Gin no Michi) e4 episode"},
		{"[0x11a] Silver Rail - 04 [1080p].mkv", "Silver Rail e4 episode"},
		{"Silver Rail - 04 - The Long Night [0x118](1080p).mkv", "Silver Rail e4 episode"},
		{"Silver.Rail.2019.1080p.BluRay.x264-0x118.mkv", "Silver Rail y2019 movie"},
		{"[Quiet] 【Silver Rail】(Season 2) - 05 [1080p].mkv", "Silver Rail s2 e5 episode"},
		{"[Quiet] Silver Rail 3rd Season 2nd Part - 03 [480p].mkv", "Silver Rail s3 e3 part2 episode"},
		{"[Quiet] Silver Rail (2021 Dai 2 Bu) - 11 [1080p].mkv", "Silver Rail e11 y2021 part2 episode"},
		{"[Quiet] Silver Rail Ver1.1a Season 2 - 04 [1080p].mkv", "Silver Rail Ver1.1a s2 e4 episode"},
		{"[Quiet] Silver Rail 2nd Season - Blue Hour - 05 [1080p].mkv", "Silver Rail s2 e5 episode"},
		{"[Quiet] Silver Rail Collection - 05 [1080p].mkv", "Silver Rail Collection e5 episode"},
		{"[Quiet] Silver Rail no Special Menu (2013) [1080p].mkv", "Silver Rail no Special Menu y2013 movie"},
		{"RailBot.[Quiet]_Silver_Rail_-_05v2_[720p].mkv", "Silver Rail e5 v2 episode"},
	})
}

func TestTitlesThatHoldNumbers(t *testing.T) {
	check(t, []row{
		{"[Quiet] 86 - 07 [1080p].mkv", "86 e7 episode"},
		{"[Quiet] 11eyes - 03 [720p].mkv", "11eyes e3 episode"},
		{"[Quiet] Mob Psycho 100 II - 03 [1080p].mkv", "Mob Psycho 100 II e3 episode"},
		{"[Quiet] Mob Psycho 100 S2 - 03 [1080p].mkv", "Mob Psycho 100 s2 e3 episode"},
		{"[Quiet] Unnamed Memory Act.2 - 06 [1080p].mkv", "Unnamed Memory Act.2 e6 episode"},
		{"[Quiet] 2.5 Jigen no Ririsa - 06 [1080p].mkv", "2.5 Jigen no Ririsa e6 episode"},
		{"[Quiet] 3-gatsu no Lion - 06 [1080p].mkv", "3-gatsu no Lion e6 episode"},
		{"[Quiet] Space Ferry 2199 - 06 [1080p].mkv", "Space Ferry 2199 e6 episode"},
		{"3x3 Eyes - S02E03 - Home.mkv", "3x3 Eyes s2 e3 episode"},
		{"22.Jump.Street.2014.1080p.BluRay.x264-QUIET.mkv", "22 Jump Street y2014 movie"},
		{"2001.A.Space.Odyssey.1968.2160p.UHD.BluRay.x265-QUIET.mkv", "2001 A Space Odyssey y1968 movie"},
		{"1917.2019.1080p.BluRay.x264-QUIET.mkv", "1917 y2019 movie"},
		{"2012 (2009) 1080p BluRay.mkv", "2012 y2009 movie"},
		{"Blade Runner 2049 (2017).mkv", "Blade Runner 2049 y2017 movie"},
		{"[Quiet] Ranma 1/2 - 03 [1080p]", "Ranma 1/2 e3 episode"},
		{"24.S05E07.720p.HDTV.x264-QUIET.mkv", "24 s5 e7 episode"},
		{"Warehouse.13.S01E01.mkv", "Warehouse 13 s1 e1 episode"},
		{"[Quiet] Time Flock 24 (01-24) [1080p] [Batch]", "Time Flock 24 e1-24 batch"},
	})
}

func TestSceneNames(t *testing.T) {
	check(t, []row{
		{"Silver.Rail.S02E05.1080p.WEB.H264-QUIET.mkv", "Silver Rail s2 e5 episode"},
		{"Hybrid.Rail.S02E05.1080p.WEB.H264-QUIET.mkv", "Hybrid Rail s2 e5 episode"},
		{"Silver.Rail.2019.Hybrid.1080p.BluRay.x264-QUIET.mkv", "Silver Rail y2019 movie"},
		{"Silver.Rail.2019.S02E05E06.1080p.WEB.H264-QUIET.mkv", "Silver Rail s2 e5-6 y2019 episode"},
		{"Silver.Rail.S02E05-E07.720p.HDTV.x264-QUIET", "Silver Rail s2 e5-7 episode"},
		{"Silver.Rail.S02E05-07.720p.HDTV.x264-QUIET", "Silver Rail s2 e5-7 episode"},
		{"Silver.Rail.S02.E05.720p.HDTV.x264-QUIET", "Silver Rail s2 e5 episode"},
		{"Silver.Rail.2x05.720p.HDTV.x264-QUIET", "Silver Rail s2 e5 episode"},
		{"Silver.Rail.S02.1080p.BluRay.x265-QUIET", "Silver Rail s2 batch"},
		{"Silver.Rail.S01-S03.COMPLETE.1080p.BluRay.x265-QUIET", "Silver Rail s1-3 batch"},
		{"Silver.Rail.S00E03.1080p.BluRay.x265-QUIET", "Silver Rail s0 e3 special"},
		{"Silver.Rail.2016.EXTENDED.1080p.BluRay.DD5.1.x264-QUIET.mkv", "Silver Rail y2016 movie"},
		{"Silver.Rail.EXTENDED.2016.1080p.BluRay.DTS-HD.MA.7.1.x264-QUIET.mkv", "Silver Rail y2016 movie"},
		{"Silver.Rail.German.DL.1080p.BluRay.x264-QUIET", "Silver Rail"},
		{"The.Good.German.2006.720p.BluRay.x264-QUIET", "The Good German y2006 movie"},
		{"Silver.Rail.2019.12.24.720p.HDTV.x264-QUIET", "Silver Rail episode"},
		{"Silver.Rail.S02E05.2022.1080p.WEB-DL.AAC2.0.H.264-QUIET", "Silver Rail s2 e5 y2022 episode"},
		{"Silver Rail S02E05 720p HDTV x264-QUIET [eztv].mkv", "Silver Rail s2 e5 episode"},
		{"www.example.com - Silver.Rail.S02E05.720p.HDTV.x264-QUIET.mkv", "Silver Rail s2 e5 episode"},
		{"Marvels.Agents.of.S.H.I.E.L.D.S02E05.HDTV.x264-QUIET", "Marvels Agents of S.H.I.E.L.D. s2 e5 episode"},
		{"silver.rail.s2e5-768660.srt", "silver rail s2 e5 episode"},
		{"Silver.Rail.S2019E05.1080p.WEB.h264-QUIET", "Silver Rail s2019 e5 y2019 episode"},
		{"Silver.Rail.Part.2.720p.HDTV.x264-QUIET", "Silver Rail e2 part2 episode"},
	})
}

func TestChineseJapaneseKoreanNames(t *testing.T) {
	check(t, []row{
		{"【静字幕组】【银色铁道】【07】【1080P】【简体】.mp4", "银色铁道 e7 episode"},
		{"[静字幕组] 银色铁道 / Silver Rail - 07 [WebRip 1080p HEVC-10bit AAC][简繁内封字幕].mkv", "Silver Rail e7 episode"},
		{"[静字幕组] 银色铁道 第二季 / Silver Rail S2 - 07 [WebRip 1080p].mkv", "Silver Rail s2 e7 episode"},
		{"【静字幕组】★10月新番★[银色铁道/Silver Rail][07][1080p][简体].mp4", "Silver Rail e7 episode"},
		{"[静字幕组][银色铁道][第07话][720P].mp4", "银色铁道 e7 episode"},
		{"[静字幕组][银色铁道 第三季][Silver Rail][2022][05][GB][4K]", "Silver Rail s3 e5 y2022 episode"},
		{"[静字幕组][银色铁道][01-24完][720P]", "银色铁道 e1-24 batch"},
		{"银色铁道 第2季 第05集.mkv", "银色铁道 s2 e5 episode"},
		{"[Group] 银色铁道 全24话 [1080p]", "银色铁道 e1-24 batch"},
		{"銀色鉄道 第２期 第０７話.mp4", "銀色鉄道 s2 e7 episode"},
		{"[Raws] 銀色鉄道 #07 (MX 1440x1080 H264 AAC).mp4", "銀色鉄道 e7 episode"},
		{"은빛 철도 7화.mp4", "은빛 철도 e7 episode"},
		{"은빛 철도 7화 우리말더빙.mp4", "은빛 철도 e7 episode"},
		{"은빛 철도.국어더빙.mkv", "은빛 철도"},
		{"은빛 철도의 4기사 07화 1080p.mkv", "은빛 철도의 4기사 e7 episode"},
		{"【静字幕组】★5周年★[银色铁道/Silver Rail][01-13+Drama][BDRip][720p]", "Silver Rail e1-13 batch"},
		{"[静字幕组][剧场版][Silver Rail/映画 銀色の鉄道][BDRip]", "Silver Rail movie"},
		{"[静字幕组] 银色铁道 / Silver Rail [TV01-11 Fin][BDRip][720p]", "Silver Rail e1-11 batch"},
		{"은빛 철도 2기 07화 1080p.mkv", "은빛 철도 s2 e7 episode"},
		{"은빛.철도.E07.241020.1080p-NEXT.mp4", "은빛 철도 e7 episode"},
		{"은빛 철도 시즌 2/07화.mkv", "은빛 철도 s2 e7 episode"},
		{"[静字幕组][银色铁道][TV 01-12+OVA][1080p]", "银色铁道 e1-12 batch"},
		{"銀色鉄道 第2クール 第15話.mp4", "銀色鉄道 e15 part2 episode"},
		{"[安静][銀色鉄道 第2クール][15].mp4", "銀色鉄道 e15 part2 episode"},
		{"[安静] 银色铁道 第三季 第二部分 - 02 [1080p].mkv", "银色铁道 s3 e2 part2 episode"},
		{"[安静][银色铁道 第2部分][16集][720P].mp4", "银色铁道 e16 part2 episode"},
		{"[安静] 银色铁道 第二季度 - 02.mkv", "银色铁道 e2 part2 episode"},
		{"[ANi] Silver Rail -  銀色鐵道 - 07 [1080P][Baha][WEB-DL][AAC AVC][CHT][MP4].mp4", "Silver Rail e7 episode"},
	})
}

func TestOtherLanguagesSeasonWords(t *testing.T) {
	check(t, []row{
		{
			"Серебряный путь / Silver Rail / Сезон: 2 / Серии: 1-5 из 12 [2019, WEB-DL 1080p]",
			"Silver Rail s2 e1-5 y2019 episode",
		},
		{"Серебряный путь 2 сезон 24 серия.avi", "Серебряный путь s2 e24 episode"},
		{"Silver Rail - Temporada 2 [HDTV][Cap.205][Castellano].avi", "Silver Rail s2 e5 episode"},
		{"Silver Rail Saison 3 Episode 04.avi", "Silver Rail s3 e4 episode"},
		{"Silver Rail - Saison VII FRENCH.avi", "Silver Rail s7 batch"},
		{"Silver.Rail.2.Sezon.7.Bölüm.1080p.mkv", "Silver Rail s2 e7 episode"},
		{"Путь / Silver Rail [06х01-08] (2017) HDTVRip", "Silver Rail s6 e1-8 y2017 batch"},
		{"Путь / Silver Rail (4 сезон: 1-22 серии из 22) (2017)", "Silver Rail s4 e1-22 y2017 batch"},
		{"Путь. Сезон №9. Серия №180.avi", "Путь s9 e180 episode"},
		{"Silver Rail Temporada 1, 2, 3 e 4.avi", "Silver Rail s1-4 batch"},
		{"Silver Rail Staffel 2 Folge 5.avi", "Silver Rail s2 e5 episode"},
		{"Silver Rail 10º Temporada - 215 ao 220.avi", "Silver Rail s10 e215-220 batch"},
	})
}

func TestRangesAndLists(t *testing.T) {
	check(t, []row{
		{"[Quiet] Silver Rail - 01-02 [1080p].mkv", "Silver Rail e1-2 episode"},
		{"[Quiet] Silver Rail - 01 ~ 12 [1080p]", "Silver Rail e1-12 batch"},
		{"[Quiet] Silver Rail [01-12] [BDRip 1080p]", "Silver Rail e1-12 batch"},
		{"[Quiet] Silver Rail - 18 & 19 [1080p].mkv", "Silver Rail e18-19 episode"},
		{"[Quiet] Silver Rail - 04+06 [1080p].mkv", "Silver Rail e4,6 episode"},
		{"[Quiet] Silver Rail - 01 - 12 [1080p]", "Silver Rail e1-12 batch"},
		{"[Quiet] Silver Rail - (01-04) [1080p]", "Silver Rail e1-4 episode"},
		{"Silver Rail - 1x02x03x04 - Name.avi", "Silver Rail s1 e2-4 episode"},
		{"Silver Rail - S01E02 - S01E03 - Name.avi", "Silver Rail s1 e2-3 episode"},
		{"Silver Rail - Seasons 1-4.mkv", "Silver Rail s1-4 batch"},
		{"Silver Rail Season 1 2 3 4.mkv", "Silver Rail s1-4 batch"},
	})
}

func TestExtrasAndSpecials(t *testing.T) {
	check(t, []row{
		{"[Quiet] Silver Rail NCOP1 [1080p].mkv", "Silver Rail e1 NCOP extra"},
		{"[Quiet] Silver Rail - NCED2v2 [1080p].mkv", "Silver Rail e2 NCED extra"},
		{"[Quiet] Silver Rail - Trailer [1080p].mkv", "Silver Rail TRAILER extra"},
		{"[Quiet] Silver Rail PV2 [1080p].mkv", "Silver Rail e2 PV extra"},
		{"[Quiet] Silver Rail CM1 [1080p].mkv", "Silver Rail e1 CM extra"},
		{"[Quiet] Silver Rail - Clean Opening [1080p].mkv", "Silver Rail NCOP extra"},
		{"[Quiet] Silver Rail ONA - 02 [1080p].mkv", "Silver Rail e2 episode"},
		{"Silver.Rail.2012.DVDRip.XviD.AC3-CM8.mp4", "Silver Rail y2012 movie"},
		{"Free.Sample.2012.1080p.BluRay.x264-QUIET.mkv", "Free Sample y2012 movie"},
		{"Trailer.Park.2012.1080p.BluRay.x264-QUIET.mkv", "Trailer Park y2012 movie"},
		{"silver.rail.s01e02.720p.bluray.x264-quiet.sample.mkv", "silver rail s1 e2 SAMPLE extra"},
		{"Silver Rail (2012)-trailer.mkv", "Silver Rail y2012 TRAILER extra"},
		{"Silver.Rail.2012.COMPLETE.BLURAY-QUIET", "Silver Rail y2012 movie"},
		{"[Quiet] Silver Rail - S01SP02 [1080p].mkv", "Silver Rail e2 SP special"},
		{"[Quiet] Silver Rail Menu [1080p].mkv", "Silver Rail MENU extra"},
		{"Silver Rail/Extras/NCED [720p].mkv", "Silver Rail NCED extra"},
		{"[Quiet] Silver Rail - SP 02 [1080p].mkv", "Silver Rail e2 SP special"},
		{"[Quiet] Silver Rail OVA [1080p].mkv", "Silver Rail OVA special"},
		{"[Quiet] Silver Rail - OAD1 [1080p].mkv", "Silver Rail e1 OAD special"},
		{"[Quiet] Silver Rail - Special [1080p].mkv", "Silver Rail SPECIAL special"},
		{"[Quiet] Silver Rail - BD Special 02 [1080p].mkv", "Silver Rail e2 SPECIAL special"},
		{"[Quiet] Silver Rail - DVD Special 02.mkv", "Silver Rail e2 SPECIAL special"},
		{"[Quiet] Silver Rail - BD Specials - 02.mkv", "Silver Rail e2 SPECIALS extra"},
		{"[Quiet] Silver Rail - Blu-ray Special 02 - Night Train.mkv", "Silver Rail e2 SPECIAL special"},
		{"[Quiet] Silver Rail - [BD] Special 02.mkv", "Silver Rail e2 SPECIAL special"},
		{"[Quiet] Silver Rail - BDRip Special 02v2.mkv", "Silver Rail e2 v2 SPECIAL special"},
		{"[Quiet] Silver Rail - 1080p Special 02.mkv", "Silver Rail e2 SPECIAL special"},
		{"[Quiet] Silver Rail - HEVC Special 02.mkv", "Silver Rail e2 SPECIAL special"},
		{"[Quiet] Silver Rail - BD Special [02].mkv", "Silver Rail e2 SPECIAL special"},
		{"[Quiet]_Silver_Rail_DVD_Special_02.mkv", "Silver Rail e2 SPECIAL special"},
		{"[Quiet] Silver Rail [BD Special] - 02.mkv", "Silver Rail e2 SPECIAL special"},
		{"Silver Rail BD Special 02.mkv", "Silver Rail e2 SPECIAL special"},
		{"[Quiet] Silver Rail - BD Extra 02.mkv", "Silver Rail e2 EXTRA extra"},
		{"[Quiet] Silver Rail - DVD Bonus Episode 02.mkv", "Silver Rail e2 BONUS extra"},
		{"[Quiet] Silver Rail - DVD Omake 02.mkv", "Silver Rail e2 OMAKE special"},
		{"[Quiet] Silver Rail - BD Gaiden 02.mkv", "Silver Rail e2 GAIDEN special"},
		{"[Quiet] Silver Rail - BD Commentary 02.mkv", "Silver Rail e2 COMMENTARY special"},
		{"[Quiet] Silver Rail - S2 - Special 02.mkv", "Silver Rail s2 e2 SPECIAL special"},
		{"Silver Rail BD Special Edition 02.mkv", "Silver Rail e2 episode"},
		{"Silver Rail DVD Special S01E02.mkv", "Silver Rail s1 e2 episode"},
		{"[Quiet] Silver Rail [BD] - 02 Special.mkv", "Silver Rail e2 episode"},
		{"Silver Rail/Specials/03 - Night Train.mkv", "Silver Rail s0 e3 special"},
		{"Silver Rail/BD Specials/Silver Rail - 03.mkv", "Silver Rail s0 e3 special"},
		{"Silver Rail/DVD Special/03.mkv", "Silver Rail s0 e3 special"},
		{"Silver Rail/BD SP/[Quiet] Silver Rail - 03.mkv", "Silver Rail s0 e3 special"},
		{"Silver Rail/DVD-Extras/Silver Rail - 03.mkv", "Silver Rail e3 extra"},
		{"Silver Rail/Blu-ray Bonus/03.mkv", "Silver Rail e3 extra"},
		{"Silver Rail/Specials/Silver Rail - 03.mkv", "Silver Rail s0 e3 special"},
		{"Silver Rail/SP/Silver Rail 03.mkv", "Silver Rail s0 e3 special"},
		{"은빛 철도/스페셜/은빛 철도 03화.mkv", "은빛 철도 s0 e3 special"},
		{"은빛 철도/번외편/은빛 철도 03화.mkv", "은빛 철도 s0 e3 special"},
		{"Silver Rail/Extras/Silver Rail 03.mkv", "Silver Rail e3 extra"},
		{"[Quiet] Silver Rail - 06.5 (S00E01) [1080p].mkv", "Silver Rail s0 e1 special"},
	})
}

func TestFolders(t *testing.T) {
	check(t, []row{
		{"Silver Rail/Season 2/05.mkv", "Silver Rail s2 e5 episode"},
		{"Silver Rail OVA/01.mkv", "Silver Rail e1 OVA special"},
		{"Silver Rail/Silver Rail (OVA) [BD]/[Kumo] Silver Rail - 01.mkv", "Silver Rail e1 OVA special"},
		{"Silver Rail/OVA (2012)/01 - Night Train.mkv", "Silver Rail e1 OVA special"},
		{"Silver Rail SP/Silver Rail - 01.mkv", "Silver Rail e1 SP special"},
		{"Silver Rail + OVA/Silver Rail - 01.mkv", "Silver Rail e1 episode"},
		{"Silver Rail & OVA/Silver Rail - 01.mkv", "Silver Rail e1 episode"},
		{"Silver Rail OVA/Silver Rail S01E01.mkv", "Silver Rail s1 e1 episode"},
		{"Silver Rail OVA/Season 1/01.mkv", "Silver Rail s1 e1 episode"},
		{"Silver Rail (12 of 12)/01.mkv", "Silver Rail e1 episode"},
		{"Silver Rail [TV] [12 of 12] [BDRip 1080p]/01. Night Train.mkv", "Silver Rail e1 episode"},
		{"Silver Rail [05 of 12]/03.mkv", "Silver Rail e3 episode"},
		{"Silver Rail [BD 1080p]/Night Ferry - 05.mkv", "Night Ferry e5 episode"},
		{"Silver Rail [BD 1080p]/SR - 05.mkv", "Silver Rail e5 episode"},
		{"Silver Rail (2011) [BD]/Night Ferry - 05.mkv", "Silver Rail e5 y2011 episode"},
		{"Silver Rail - Specials/01.mkv", "Silver Rail e1 SPECIALS special"},
		{"Silver Rail/NCOP+NCED/01.mkv", "Silver Rail e1 extra"},
		{"Silver Rail/OP & ED/Silver Rail - 01.mkv", "Silver Rail e1 extra"},
		{"Silver Rail/OVAs, Specials/01.mkv", "Silver Rail s0 e1 special"},
		{"Silver Rail/Creditless OP-ED/[Kumo] Silver Rail - 01 [BD].mkv", "Silver Rail e1 extra"},
		{"Silver Rail/Silver Rail - Audio Commentary/01.mkv", "Silver Rail e1 extra"},
		{"Silver Rail (Picture Drama)/01.mkv", "Silver Rail e1 extra"},
		{"Silver Rail (2011) (Creditless)/01.mkv", "Silver Rail e1 y2011 extra"},
		{"Silver Rail/Season 1 Extras/01.mkv", "Silver Rail s1 e1 extra"},
		{"Silver Rail/Season 1 & Extras/01.mkv", "Silver Rail s1 e1 episode"},
		{"[Kumo] Silver Rail [BD][NCOP][NCED]/01.mkv", "Silver Rail e1 episode"},
		{"Silver Rail (Complete, NCOP, NCED)/01.mkv", "Silver Rail e1 episode"},
		{"Silver Rail + NCOP + NCED/01.mkv", "Silver Rail e1 episode"},
		{"Silver Rail Picture Drama/Silver Rail S01E01.mkv", "Silver Rail s1 e1 episode"},
		{"Silver Rail (Live Action)/01.mkv", "Silver Rail (Live Action) e1 episode"},
		{"Silver Rail (Live Action)/Silver Rail - 01.mkv", "Silver Rail e1 episode"},
		{"Silver Rail (Completed)/01.mkv", "Silver Rail e1 episode"},
		{"Silver Rail (SubsPlease)/01.mkv", "Silver Rail e1 episode"},
		{`D:\Anime\Silver Rail\Season 2\05.mkv`, "Silver Rail s2 e5 episode"},
		{"/media/anime/Silver Rail (2011)/Season 01/Silver Rail - S01E04 - Rain.mkv", "Silver Rail s1 e4 y2011 episode"},
		{"~/Anime/Silver Rail (2011)/S02/E04.mkv", "Silver Rail s2 e4 y2011 episode"},
		{"/tv/Silver Rail/S02E06 - Night Train.mp4", "Silver Rail s2 e6 episode"},
		{"Silver Rail/Season 2/16 Night Train.avi", "Silver Rail s2 e16 episode"},
		{"Silver Rail/02 - Night Train.avi", "Silver Rail e2 episode"},
		{"Silver Rail 24/S01/E09.avi", "Silver Rail 24 s1 e9 episode"},
		{"Silver.Rail.S01E14.1080p.WEB-DL.H.264-QUIET/mxNMuJWeO7PUWCMEwq42SsS6D8.mkv", "Silver Rail s1 e14 episode"},
		{"Movies/Silver Rail (2009)/Silver Rail.mkv", "Silver Rail y2009 movie"},
		{"Movies/Silver Rail (2009)/movie.mkv", "Silver Rail y2009 movie"},
		{"Movies/Silver Rail (2009)/BDMV/STREAM/00001.m2ts", "Silver Rail y2009 movie"},
		{"Movies/2009/Silver Rail.mkv", "Silver Rail movie"},
		{"Movies/2009/Silver Rail (2009)/movie.mkv", "Silver Rail y2009 movie"},
		{"은빛 철도/극장판/은빛 철도 밤의 기차.mkv", "은빛 철도 밤의 기차 movie"},
		{"Silver Rail/劇場版/Silver Rail.mkv", "Silver Rail movie"},
		{"Silver Rail/Movies/Night Train.mkv", "Night Train movie"},
		{"Silver Rail/Movies/Silver Rail S01E02.mkv", "Silver Rail s1 e2 episode"},
		{"극장판/은빛 철도/은빛 철도.mkv", "은빛 철도 movie"},
		{"Silver Rail/02. Películas/Silver Rail Night Train.mkv", "Silver Rail Night Train movie"},
		{"[劇場版]/Silver Rail.mkv", "Silver Rail movie"},
		{"Movies/Silver Rail/Season 2/Night Train.mkv", "Night Train s2"},
		{"Movies/Silver Rail/OVA/Night Train.mkv", "Night Train s0"},
		{"2009/video.mp4", ""},
		{"1983/S01E02.mkv", "1983 s1 e2 episode"},
		{"1983/Season 1/02.mkv", "1983 s1 e2 episode"},
		{"Silver Rail/movie (1).mkv", "Silver Rail"},
		{"Silver Rail/Silver Rail (1).mkv", "Silver Rail e1 episode"},
		{"Silver Rail 2nd Season/Silver Rail - 05.mkv", "Silver Rail s2 e5 episode"},
		{"[Quiet] Silver Rail S2 - 01-12 [BD 1080p]/03.mkv", "Silver Rail s2 e3 episode"},
		{"Movies/300 (2006)/300 (2006).mkv", "300 y2006 movie"},
		{"Silver Rail/[Quiet] Silver Rail - 03 [720p].mkv", "Silver Rail e3 episode"},
		{"Movies/Silver Rail (2009)/VIDEO_TS/VTS_01_1.VOB", "Silver Rail y2009 movie"},
		{"Movies/Silver Rail (2009)/Subs/2_English.srt", "Silver Rail y2009 movie"},
		{"Silver Rail/Complete Season 2/E14 - Night Train.mkv", "Silver Rail s2 e14 episode"},
		{"Silver Rail + Silver Rail S2 [BD]/Season 1/05.mkv", "Silver Rail s1 e5 episode"},
		{"Silver Rail + Silver Rail S2 [BD]/Silver Rail - 05.mkv", "Silver Rail s1 e5 episode"},
		{"Silver Rail + Silver Rail S2 [BD]/Silver Rail S2 - 05.mkv", "Silver Rail s2 e5 episode"},
		{"[Quiet] Silver Rail & Silver Rail 2nd Season [1080p]/01/05.mkv", "Silver Rail s1 e5 episode"},
		{"Silver Rail (TV) + S2/S2/05.mkv", "Silver Rail s2 e5 episode"},
		{"Silver Rail, Silver Rail Season 2/S1/05.mkv", "Silver Rail s1 e5 episode"},
		{"Silver Rail, Season 2/Silver Rail - 05.mkv", "Silver Rail s2 e5 episode"},
		{"Silver & Rail S2/05.mkv", "Silver & Rail s2 e5 episode"},
		{"Silver Rail - The Complete Series/Season 2/E14 - Night Train.mkv", "Silver Rail s2 e14 episode"},
		{"Silver Rail The Complete Animated Series/S02E14.mkv", "Silver Rail s2 e14 episode"},
		{"Silver Rail Complete Box Set/S02E14.mkv", "Silver Rail s2 e14 episode"},
		{"Silver Rail (TV Series)/S02E14.mkv", "Silver Rail s2 e14 episode"},
		{"Silver Rail TV Show/S02E14.mkv", "Silver Rail s2 e14 episode"},
		{"Silver Rail Miniseries/E14.mkv", "Silver Rail e14 episode"},
		{"Silver Rail/Part 2/01.mkv", "Silver Rail e1 part2 episode"},
		{"Silver Rail/Episodes/01.mkv", "Silver Rail e1 episode"},
		{"Silver Rail/2014/2014-09-22 - Guest.mkv", "Silver Rail episode"},
		{"86/Season 1/86 - 05.mkv", "86 s1 e5 episode"},
		{"Silver Rail/S01/[01] Night Train.mkv", "Silver Rail s1 e1 episode"},
		{"Trains/2. Silver Rail (2009).mkv", "Silver Rail y2009 movie"},
		{"Silver Rail (2011)/S01E03/video.mkv", "Silver Rail s1 e3 y2011 episode"},
		{"Silver Rail (2011)/Season 1/1x03 - Night/Silver Rail.mkv", "Silver Rail s1 e3 y2011 episode"},
		{"Silver Rail (2011)/S01E03/Silver Rail - 02.mkv", "Silver Rail s1 e2 y2011 episode"},
		{"Silver Rail (2011)/S01E01-E12/Silver Rail.mkv", "Silver Rail s1 y2011"},
		{"Silver Rail (2011)/Season 2/Silver Rail - 05/Silver Rail - 05.mkv", "Silver Rail s2 e5 y2011 episode"},
		{"Silver Rail/S2/[Quiet] Silver Rail - 05 [720p]/[Quiet] Silver Rail - 05 [720p].mkv", "Silver Rail s2 e5 episode"},
		{"Silver Rail/2기/Silver Rail 5화/video.mp4", "Silver Rail s2 e5 episode"},
		{"Silver Rail Season 2/Silver Rail E05/Silver Rail E05.mkv", "Silver Rail s2 e5 episode"},
		{"Silver Rail/Season 2/Silver Rail - 04/Silver Rail - 05.mkv", "Silver Rail e5 episode"},
		{"Silver Rail/Season 2/Silver Rail S01E05/Silver Rail S01E05.mkv", "Silver Rail s1 e5 episode"},
		{"Night/Silver Rail - 05/Silver Rail - 05.mkv", "Silver Rail e5 episode"},
	})
}

// A disc, volume or box is no season, but a folder of a season may say what the season was sold on.
func TestFoldersOfDiscs(t *testing.T) {
	for _, disc := range []string{
		"DVD1", "DVD 1", "DVD 2", "DVD 06", "dvd_2", "DVD.2", "DVD-2", "DVD #2", "DVD Vol. 1", "DVD Volume 2", "DVD Box 2",
		"DVD-BOX 2", "DVD 1-2", "DVD 2 (05-08)", "BD2", "BD 1", "BD-1", "BD Vol.1", "BD-Vol.2", "BD Box 1", "BD-BOX 1",
		"BDBOX 2", "BD Disc 2", "Blu-ray 1", "Blu-ray2", "BluRay 2", "Blu-ray Vol.1", "Blu-ray Disc Vol.2", "Blu-ray BOX 2",
		"Box Set 2", "VHS 2", "LaserDisc 2", "Disc 1", "Disk 2", "CD 2", "Vol.1", "Vol. 2", "Volume 2", "Box 2", "Batch 2",
	} {
		for _, name := range []string{
			"Silver Rail - 05.mkv", "[Quiet] Silver Rail - 05 [BD].mkv", "05.mkv", "05 - Night.mkv",
		} {
			check(t, []row{
				{"Silver Rail/" + disc + "/" + name, "Silver Rail e5 episode"},
				{"Silver Rail S2/" + disc + "/" + name, "Silver Rail s2 e5 episode"},
				{"Silver Rail/Season 2/" + disc + "/" + name, "Silver Rail s2 e5 episode"},
			})
		}
	}
	for _, season := range []string{
		"Season 2 BD", "S2 BD", "S2 DVD", "2nd Season DVD", "BD Season 2", "DVD S2", "BD 2nd Season", "Season 2 Vol.3",
		"S2 DVD 3", "S02D03", "2", "2 BD", "[BD] 2", "2nd", "II",
	} {
		check(t, []row{{"Silver Rail/" + season + "/Silver Rail - 05.mkv", "Silver Rail s2 e5 episode"}})
	}
	check(t, []row{{"Silver Rail/Silver Rail 2 BD/05.mkv", "Silver Rail 2 e5 episode"}})
}

func TestMoviesAndPlainNames(t *testing.T) {
	check(t, []row{
		{"Silver Rail (2009).mkv", "Silver Rail y2009 movie"},
		{"(2009) Silver Rail.mkv", "Silver Rail y2009 movie"},
		{"Silver Rail 2 (2009).mkv", "Silver Rail 2 y2009 movie"},
		{"Silver Rail.mkv", "Silver Rail"},
		{"01 - Night Train.mkv", "Night Train e1 episode"},
		{"003. Silver Rail - Night Train.avi", "Silver Rail e3 episode"},
		{"e096aeb3c2c0483a96f5b32fc6d10ff5.mkv", ""},
		{"", ""},
		{"[1080p][HEVC].mkv", ""},
	})
}

func TestEveryTitleIsKept(t *testing.T) {
	for _, r := range []struct{ name, want string }{
		{"[组] 银色铁道 / Silver Rail - 07 [1080p].mkv", "Silver Rail (latin) | 银色铁道 (zh)"},
		{"[组] 银色铁道 第二季 / 銀色の鉄道 / Silver Rail S2 [07].mkv", "Silver Rail (latin) | 银色铁道 (zh) | 銀色の鉄道 (ja)"},
		{
			"[Quiet] Silver Rail 2nd Season - Blue Hour - 05.mkv",
			"Silver Rail (latin) | Silver Rail 2nd Season - Blue Hour (latin)",
		},
		{"【组】★10月新番★[银色铁道 2020/Silver Rail 2020][07][1080p]", "Silver Rail (latin) | 银色铁道 (zh)"},
		{"[Quiet][Silver Rail (Remake)][01].mkv", "Silver Rail (latin) | Silver Rail (Remake) (latin)"},
		{"[组] 银色铁道 Silver Rail - 07 [1080p].mkv", "银色铁道 Silver Rail (zh) | Silver Rail (latin) | 银色铁道 (zh)"},
		{"은빛 철도 (Silver Rail) - 07.mkv", "은빛 철도 (ko) | Silver Rail (latin)"},
		{"[Quiet] Silver Rail + - 07 [1080p].mkv", "Silver Rail + (latin)"},
		{"[Quiet] Silver Rail + SP - 07 [1080p].mkv", "Silver Rail (latin)"},
		{"Silver Rail (Gin no Michi) S01E07.mkv", "Silver Rail (latin) | Gin no Michi (latin)"},
		{
			"Silver.Rail.AKA.Gin.no.Michi.2009.1080p.BluRay.x264-QUIET",
			"Silver Rail (latin) | Gin no Michi (latin) | Silver Rail AKA Gin no Michi 2009 (latin)",
		},
		{"Silver.Rail.2020.S01E07.1080p.WEB.H264-QUIET", "Silver Rail (latin) | Silver Rail 2020 (latin)"},
		{"[ANi] Silver Rail -  銀色鐵道 - 07 [1080P].mp4", "Silver Rail (latin) | 銀色鐵道 (zh)"},
		{"은빛 철도 극장판 24기 밤의 기차 (2021).mkv", "은빛 철도 극장판 24기 밤의 기차 (ko) | 은빛 철도 밤의 기차 (ko)"},
		{"극장판 은빛 철도 24기 밤의 기차.mkv", "극장판 은빛 철도 24기 밤의 기차 (ko) | 은빛 철도 밤의 기차 (ko)"},
		{"은빛 철도 24기 극장판.mkv", "은빛 철도 24기 극장판 (ko)"},
		{"Silver Rail/Season 2/Gin no Michi - 03.mkv", "Gin no Michi (latin) | Silver Rail (latin, parent)"},
	} {
		t.Run(r.name, func(t *testing.T) {
			var got []string
			for _, c := range Parse(r.name).Titles {
				s := c.Text + " (" + c.Lang
				if c.From != FromName {
					s += ", " + c.From.String()
				}
				got = append(got, s+")")
			}
			if diff := cmp.Diff(r.want, strings.Join(got, " | ")); diff != "" {
				t.Errorf("%s (-want +got):\n%s", r.name, diff)
			}
		})
	}
}

func TestNumbersInTheWholeShowsCount(t *testing.T) {
	for name, want := range map[string]string{
		"Silver Rail - 38 (S02E14) [1080p].mkv":         "Silver Rail s2 e14 episode [38]",
		"Silver Rail 201-203 s09e04-06.mkv":             "Silver Rail s9 e4-6 episode [201 202 203]",
		"Silver Rail No. 6 - 012-013 - s02e03e04.mkv":   "Silver Rail No. 6 s2 e3-4 episode [12 13]",
		"165.Silver Rail.s08e014.mkv":                   "Silver Rail s8 e14 episode [165]",
		"165-166.07-Rail.s08e014-015.mkv":               "07-Rail s8 e14-15 episode [165 166]",
		"Silver Rail S03E02 (28) [1080p].mkv":           "Silver Rail s3 e2 episode [28]",
		"Silver Rail S04E31 - Ep.96.mkv":                "Silver Rail s4 e31 episode [96]",
		"Silver Rail - 06.5 (S00E01) [1080p].mkv":       "Silver Rail s0 e1 special [6.5]",
		"The 100 S02E03.mkv":                            "The 100 s2 e3 episode []",
		"911.Silver.Rail.S03E05.720p.HDTV.x264-QUIET":   "911 Silver Rail s3 e5 episode []",
		"Silver Rail S02E05 (1998) [1080p].mkv":         "Silver Rail s2 e5 y1998 episode []",
		"Silver Rail 100 S02E14 - 24 Hours [1080p].mkv": "Silver Rail 100 s2 e14 episode []",
		"24.S05E07.720p.HDTV.x264-QUIET.mkv":            "24 s5 e7 episode []",
	} {
		t.Run(name, func(t *testing.T) {
			r := Parse(name)
			if diff := cmp.Diff(want, summary(r)+" "+fmt.Sprint(r.Overall)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestTheRestOfAName(t *testing.T) {
	r := Parse("[Quiet] Silver Rail - 07 - Night Train [BD 1080p x265 FLAC][abcd1234].mkv")
	want := Release{
		Path: r.Path, Name: r.Path, Title: "Silver Rail", Titles: []Title{{Text: "Silver Rail", Lang: "latin"}},
		Episodes: []float64{7}, Absolute: true, Group: "Quiet", Resolution: "1080p", Source: "BluRay", Video: "H.265",
		Audio: "FLAC", Checksum: "ABCD1234", Extension: "mkv", Kind: Episode, EpisodeTitle: "Night Train",
	}
	if diff := cmp.Diff(want, r); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for name, want := range map[string]string{
		"Silver.Rail.S02E05.1080p.AMZN.WEB-DL.DDP5.1.H.264-QUIET.mkv":   "QUIET 1080p WEB-DL H.264 Dolby Digital",
		"Silver.Rail.2016.2160p.UHD.BluRay.REMUX.HEVC.TrueHD.7.1-QUIET": "QUIET 2160p BluRay H.265 TrueHD",
		"Silver Rail S02E05 720p HDTV x264-QUIET[eztv].mkv":             "QUIET 720p HDTV H.264 ",
		"[Quiet] Silver Rail - 07 (1920x1080 AV1 Opus).mkv":             "Quiet 1080p  AV1 Opus",
		"[Quiet] Silver Rail - 07 [BD-Rip 1080p VC-1 DTS-HD].mkv":       "Quiet 1080p BluRay VC-1 DTS",
		"Silver.Rail.1998.1080i.HDTV.MPEG-2.DD5.1-QUIET.mkv":            "QUIET 1080i HDTV MPEG-2 Dolby Digital",
		"Silver.Rail.S02E05.1080p.WEB.H264-QUIET-Obfuscated":            "QUIET 1080p WEB H.264 ",
	} {
		t.Run(name, func(t *testing.T) {
			r := Parse(name)
			if got := strings.Join([]string{r.Group, r.Resolution, r.Source, r.Video, r.Audio}, " "); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		})
	}
}

func TestEditions(t *testing.T) {
	for name, want := range map[string]string{
		"Silver Rail (1998) Director's Cut [1080p].mkv":                   "Director's Cut",
		"Silver.Rail.1998.DC.REMASTERED.1080p.BluRay.x264-QUIET.mkv":      "Director's Cut Remastered",
		"Silver.Rail.1998.Extended.Cut.1080p.mkv":                         "Extended",
		"Silver Rail (1998) {tmdb-12} {edition-Director's Cut}.mkv":       "Director's Cut",
		"Silver Rail (1998) {tmdb-12} {edition-Final Cut Remastered}.mkv": "Final Cut Remastered",
		"Silver Rail (1998) [Uncensored]/Silver Rail.mkv":                 "Uncensored",
		"[Quiet] Silver Rail - 07 [Uncensored][1080p].mkv":                "Uncensored",
		"Silver Rail S01E02 - The Extended Family [1080p].mkv":            "",
		"Uncut Gems 2019 1080p.mkv":                                       "",
		"Silver Rail 3D (1998).mkv":                                       "",
		"Silver Rail (1998).mkv":                                          "",
		"Silver Rail - Special.mkv":                                       "",
		"Silver Rail The Final Cut 1998.mkv":                              "Final Cut",
		"Silver Rail (1998) - [Director's Cut].mkv":                       "Director's Cut",
		"Silver Rail (1998) [tmdbid-12] - [Extended].mkv":                 "Extended",
	} {
		t.Run(name, func(t *testing.T) {
			if r := Parse(name); r.Edition != want {
				t.Errorf("got %q, want %q", r.Edition, want)
			} else if !strings.HasPrefix(name, "Uncut") && r.Title != "Silver Rail" && r.Title != "Silver Rail 3D" &&
				r.Title != "Silver Rail The" {
				t.Errorf("the title became %q", r.Title)
			}
		})
	}
}

// A film that lies in a folder of its own name, as media servers want it, may have any number in its title.
func TestFilmsInFoldersOfTheirOwnName(t *testing.T) {
	for _, row := range []row{
		{
			"Silver Rail the Movie - 365 Days (2016) [tmdbid-12]/Silver Rail the Movie - 365 Days (2016) [tmdbid-12].mkv",
			"Silver Rail the Movie - 365 Days 2016 movie [] 0",
		},
		{"Silver Rail - 07 (2016)/Silver Rail - 07 (2016).mkv", "Silver Rail - 07 2016 movie [] 0"},
		{"Silver Rail 12 {tmdb-12}/Silver Rail 12 {tmdb-12} - [1080p].mkv", "Silver Rail 12 0 movie [] 0"},
		{"Silver Rail 12 (2016)/Silver Rail 12 (2016) - part2.mkv", "Silver Rail 12 2016 movie [] 2"},
		{"Silver Rail - 07 (2016) {tmdb-12}/Silver Rail - 07 (2016).mkv", "Silver Rail - 07 2016 movie [] 0"},
		{"Silver Rail 12 (2016) [tmdbid-12]/Silver Rail 12 (2016) Bluray-1080p.mkv", "Silver Rail 12 2016 movie [] 0"},
		{"Silver Rail (2016) {tmdb-12}/Silver Rail (2016) - 07.mkv", "Silver Rail 2016 episode [7] 0"},
		{"Silver Rail (2016)/Silver Rail (2016) 07.mkv", "Silver Rail 2016 episode [7] 0"},
		{"Silver Rail (2016)/Silver Rail (2016) - 07.mkv", "Silver Rail 2016 episode [7] 0"},
		{"Silver Rail (2016) [tmdbid-12]/Silver Rail (2016) [tmdbid-12] - S01E07.mkv", "Silver Rail 2016 episode [7] 0"},
		{"[Quiet] Silver Rail - 07 (2016)/[Quiet] Silver Rail - 07 (2016).mkv", "Silver Rail 2016 episode [7] 0"},
		{"Silver Rail - 07/Silver Rail - 07.mkv", "Silver Rail 0 episode [7] 0"},
	} {
		t.Run(row.name, func(t *testing.T) {
			r := Parse(row.name)
			if got := fmt.Sprint(r.Title, " ", r.Year, " ", r.Kind, " ", r.Episodes, " ", r.Part); got != row.want {
				t.Errorf("got %s, want %s", got, row.want)
			}
		})
	}
}

func TestIDsInThePath(t *testing.T) {
	for name, want := range map[string]string{
		"Silver Rail [tmdbid-26209]/Season 1/Silver Rail - S01E02.mkv": "[{tmdb  26209}]",
		"Silver Rail (2016) {tmdb-12}/Silver Rail (2016) [720p].mkv":   "[{tmdb  12}]",
		"Silver Rail (2009) {tmdb-26209}.mkv":                          "[{tmdb  26209}]",
		"Silver Rail (tmdbid=26209).mkv":                               "[{tmdb  26209}]",
		"Silver Rail {imdb-tt0000001}.mkv":                             "[{imdb  tt0000001}]",
		"Silver Rail [tt0000001].mkv":                                  "[{imdb  tt0000001}]",
		"Silver Rail {tvdb-77} [anidb-5].mkv":                          "[{tvdb  77} {anidb  5}]",
		"Silver Rail [tmdb-tv-12].mkv":                                 "[{tmdb tv 12}]",
		"Silver Rail - 12.mkv":                                         "[]",
	} {
		t.Run(name, func(t *testing.T) {
			r := Parse(name)
			if got := fmt.Sprint(r.IDs); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
			if r.Title != "Silver Rail" {
				t.Errorf("title %q", r.Title)
			}
		})
	}
}

func TestEnumsPrintThemselves(t *testing.T) {
	var kinds []string
	for k := Unknown; k <= Batch+1; k++ {
		kinds = append(kinds, k.String())
	}
	if diff := cmp.Diff([]string{"", "episode", "movie", "special", "extra", "batch", ""}, kinds); diff != "" {
		t.Errorf("kinds (-want +got):\n%s", diff)
	}
	if got := fmt.Sprint(FromName, FromFolder, FromParent, From(99)); got != "name folder parent name" {
		t.Errorf("places print as %q", got)
	}
}

// A folder's name may end, and a file's begin, with a space; a bracket in one element may close in another. The
// elements of a file that is there are known.
func TestThePartsOfAFilesPathAreNeverOneName(t *testing.T) {
	for path, want := range map[string]string{
		"lib/d01/[Abc] Silver Rail 銀路 / Silver Rail - 05 [1080p].mkv":  "Silver Rail 5",
		"[静字幕组] 银色铁道 / Silver Rail - 07 [1080p].mkv":                   "Silver Rail 7",
		"/lib/Silver Rail / Season 2 / 05 .mkv":                        "Silver Rail 5",
		"Silver Rail [2009/Silver Rail - 03 [1080p].mkv":               "Silver Rail 3",
		"[Abc] Silver Rail/Silver Rail - 04].mkv":                      "Silver Rail 4",
		"lib/[Abc] Silver Rail/[Abc] Silver Rail - 06 [1080p][AB].mkv": "Silver Rail 6",
	} {
		t.Run(path, func(t *testing.T) {
			r := ParseFile(path)
			got := r.Title
			for _, e := range r.Episodes {
				got += fmt.Sprint(" ", e)
			}
			if got != want || strings.Contains(r.Name, "/") {
				t.Errorf("%q of the name %q, want %q", got, r.Name, want)
			}
		})
	}
	if r := Parse("[静字幕组] 银色铁道 / Silver Rail - 07 [1080p].mkv"); !strings.Contains(r.Name, "/") {
		t.Errorf("a name with two titles was cut: %q", r.Name)
	}
}

// A part after season and episode is one of the episode's; before them, or as a cour, it is one of the season's.
func TestPartsOfEpisodesAndOfSeasons(t *testing.T) {
	for name, ofEpisode := range map[string]bool{
		"Silver.Rail.S02E08.part2.1080p.mkv":       true,
		"Silver Rail S02E08 - part2.mkv":           true,
		"Silver Rail S02E08 The Quay (Part 2).mkv": true,
		"Silver Rail 2x08 Part 2.mkv":              true,
		"Silver Rail Season 2 Part 2 - 08.mkv":     false,
		"Silver Rail Part 2 S02E08.mkv":            false,
		"Silver Rail S02 Part 2 E08.mkv":           false,
		"Silver Rail S02E08 Cour 2.mkv":            false,
		"Silver Rail - 08 Part 2.mkv":              false,
		"Silver Rail Part 2 - 08.mkv":              false,
	} {
		r := Parse(name)
		want := 2
		if ofEpisode {
			want = 0
		}
		if r.Part != 2 || r.PartOfEpisode != ofEpisode || r.SeasonPart() != want {
			t.Errorf("%s: part %d, of the episode: %v", name, r.Part, r.PartOfEpisode)
		}
	}
}

func TestComposedLettersNeedNoNormalizing(t *testing.T) {
	for r := range rune(0x10000) {
		if !isStableUnderNFC(r) {
			continue
		}
		s := string(r)
		if !norm.NFC.IsNormalString(s) || !norm.NFC.PropertiesString(s).BoundaryBefore() || normalizeRune(r) != r ||
			isCross(r) ||
			isHalfwidthKana(r) {
			t.Fatalf("%q (%U) is not what composed says", r, r)
		}
	}
	for _, s := range []string{"か\u3099", "각", "\u1100\u1161", "가\u11A8", "e\u0301"} {
		if got := normalizeWidth(s); got != norm.NFC.String(s) {
			t.Errorf("narrow(%+q) = %+q, want %+q", s, got, norm.NFC.String(s))
		}
	}
}

// A list of works has their places before the titles. TMDB knows them by the title alone.
func TestAPlaceInAListIsNoPartOfTheOnlyTitle(t *testing.T) {
	for path, want := range map[string][]string{
		"Best of 2011/01. Silver Rail/01.mkv": {"01. Silver Rail", "Silver Rail"},
		"Trains/2 - Silver Rail/01.mkv":       {"2 - Silver Rail", "Silver Rail"},
		"Trains/86 Silver Rail/01.mkv":        {"86 Silver Rail"},
	} {
		var got []string
		for _, title := range Parse(path).Titles {
			got = append(got, title.Text)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", path, diff)
		}
	}
}
