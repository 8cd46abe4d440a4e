package lang

import "testing"

func TestParticlesFollowTheLastSound(t *testing.T) {
	Use(Korean)
	defer Use(English)
	for want, arg := range map[string]string{
		"나루토를 읽을 수 없습니다: x": "나루토", "봄을 읽을 수 없습니다: x": "봄", "S01E02를 읽을 수 없습니다: x": "S01E02",
		"a (2013)을 읽을 수 없습니다: x": "a (2013)", "film을 읽을 수 없습니다: x": "film",
		"a.mkv를 읽을 수 없습니다: x": "a.mkv", "294.9 kB를 읽을 수 없습니다: x": "294.9 kB",
		"server를 읽을 수 없습니다: x": "server", "너의 이름은.을 읽을 수 없습니다: x": "너의 이름은.",
		"봇치 더 록!을 읽을 수 없습니다: x": "봇치 더 록!", "frame을(를) 읽을 수 없습니다: x": "frame",
	} {
		if got := Sprintf("%s can't be read: %v", arg, "x"); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	for word, want := range map[string]string{
		"서울": "서울로", "부산": "부산으로", "제주": "제주로", "7": "7로", "3": "3으로", "ko-KR": "ko-KR로",
	} {
		own := map[string]string{"to %s": "%s(으)로"}
		if got := Textf("to %s", word).translate(own); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
