package lang

// koOrganize is what organize says and its help.
var koOrganize = []entry{
	{
		"%s of files that take each other's names: one of each waits as %s meanwhile\n",
		"서로의 이름을 갖게 되는 파일의 고리 %s. 그동안 고리마다 파일 하나가 %s(으)로 기다립니다\n",
	},
	{"read back what was planned: %w", "계획을 다시 읽기: %w"},
	{
		"Make a plan that puts a library in order, and change nothing",
		"라이브러리를 정리하는 계획을 만듭니다(아무것도 바꾸지 않음)",
	},
	{
		"Match what is below PATH, as anivault match does, and make a plan: which file gets which name in the library --to,\nas Jellyfin, Plex, Kodi or Emby want them. Nothing is changed. The plan is a text: --plan saves it, an editor changes\nit.\n\nOnly what is certain is planned: records with a confidence of at least --min-confidence, or by a pin. All else is left\nwhere it is and listed with its reason. Subtitles and whatever else belongs to a video follow it. Nothing is ever put\nover something that is there.",
		"PATH 아래를 anivault match처럼 매칭하고, 어떤 파일이 라이브러리 --to에서 어떤 이름을 얻는지 Jellyfin, Plex, Kodi,\nEmby가 원하는 대로 계획합니다. 아무것도 바꾸지 않습니다. 계획은 텍스트입니다. --plan으로 저장하고 편집기로\n고칩니다.\n\n확실한 것만 계획합니다. 신뢰도가 --min-confidence 이상이거나 고정한 것입니다. 나머지는 있던 자리에 두고 이유와\n함께 보여 줍니다. 자막을 비롯해 영상에 속한 것은 영상을 따라갑니다. 이미 있는 것 위에는 아무것도 놓지\n않습니다.",
	},
	{
		"`FOLDER` in which the library is put in order; it must exist",
		"라이브러리를 정리해 둘 `FOLDER`. 이미 있어야 합니다",
	},
	{"`FOLDER` for series, in place of --to", "--to 대신 시리즈를 둘 `FOLDER`"},
	{"`FOLDER` for films, in place of --to", "--to 대신 영화를 둘 `FOLDER`"},
	{
		"`HOW` files get there: hardlink, move, symlink, copy or reflink",
		"파일을 옮기는 방법 `HOW`: hardlink, move, symlink, copy, reflink",
	},
	{
		"`WHAT` is done where the mode can't cross file systems: off leaves the file, copy copies it",
		"방법이 파일 시스템을 넘지 못할 때 할 일 `WHAT`: off는 그대로 두고, copy는 복사합니다",
	},
	{
		"`SERVER` whose names they get: jellyfin, plex, kodi, emby, or custom (organize.template.*)",
		"이름을 맞출 `SERVER`: jellyfin, plex, kodi, emby, 또는 custom(organize.template.*)",
	},
	{
		"below this `NUMBER` from 0 to 1 a file is left",
		"신뢰도가 이 `NUMBER`(0에서 1)보다 낮은 파일은 그대로 둡니다",
	},
	{
		"`WHAT` becomes of files that would get one name: report leaves them, version gives them labels",
		"이름이 같아질 파일을 어떻게 할지 `WHAT`: report는 그대로 두고, version은 꼬리표를 붙입니다",
	},
	{
		"`WHAT` becomes of trailers, creditless openings and other extras: leave leaves them, follow puts them beside their series or film",
		"예고편이나 크레딧 없는 오프닝 같은 부가 영상을 어떻게 할지 `WHAT`: leave는 그대로 두고, follow는 그 작품 곁에 둡니다",
	},
	{
		"What becomes of extras, such as trailers and creditless openings; samples stay.",
		"예고편이나 크레딧 없는 오프닝 같은 부가 영상을 어떻게 할지. 샘플은 그대로 둡니다.",
	},
	{
		"allow --to to hold PATH, or PATH to hold --to: files are moved",
		"--to가 PATH를, 또는 PATH가 --to를 품어도 됩니다. 파일은 이동합니다",
	},
	{"write the plan's text to `FILE` (- for stdout)", "계획의 텍스트를 `FILE`에 씁니다(-는 표준 출력)"},
	{"exit with 3 if a file is left or in conflict", "남거나 충돌하는 파일이 있으면 3으로 끝납니다"},
	{
		"for example: find . -print0 | anivault organize --files-from - -0 --to ~/Library",
		"예: find . -print0 | anivault organize --files-from - -0 --to ~/Library",
	},
	{
		"for example: anivault organize ~/Downloads --to /srv/library",
		"예: anivault organize ~/Downloads --to /srv/library",
	},
	{"add --mode move, or leave --mode out", "--mode move를 더하거나 --mode를 빼세요"},
	{
		"--in-place moves files; --mode %s can't",
		"--in-place는 파일을 이동합니다. --mode %s로는 할 수 없습니다",
	},
	{"%s, at character %d", "%[2]d번째 글자: %[1]s"},
	{"; did you mean {", "; 혹시 이것인가요? {"},
	{"write the plan: %w", "계획 쓰기: %w"},
	{
		"plan: %s to %s, %d in place, %d left, %d in conflict; nothing was changed\n",
		"계획: %s을(를) %s(으)로, 제자리 %d개, 그대로 둠 %d개, 충돌 %d개. 아무것도 바꾸지 않았습니다\n",
	},
	{"in no unit, and staying where they are: %s\n", "어느 영상에도 속하지 않아 그대로 있는 것: %s\n"},
	{
		"next: the same command with --plan library.plan saves the plan, to be read and edited\n",
		"다음: 같은 명령에 --plan library.plan을 더하면 계획을 저장합니다. 읽고 고칠 수 있습니다\n",
	},
	{"saved: %s\n", "저장: %s\n"},
	{"in conflict", "충돌"},
	{"left", "그대로 둠"},
	{
		"for example: --to /srv/library; organize.to in the config file sets it for good",
		"예: --to /srv/library. 설정 파일의 organize.to에 적으면 계속 쓰입니다",
	},
	{"no --to given: where should the library be?", "--to가 없습니다. 라이브러리를 어디에 둘까요?"},
	{
		"make the folder first, or check the spelling: a disk may not be mounted",
		"폴더를 먼저 만들거나 철자를 확인하세요. 디스크가 마운트되지 않았을 수도 있습니다",
	},
	{
		"--in-place puts a library in order where it is, by moving files; else name another --to",
		"--in-place는 파일을 이동해 라이브러리를 제자리에서 정리합니다. 아니면 다른 --to를 적으세요",
	},
	{"%s and --to %s lie one in the other", "%s와(과) --to %s 가운데 하나가 다른 하나 안에 있습니다"},
	{"--from %s: line %d is no record: %v", "--from %s: %d번째 줄은 레코드가 아닙니다: %v"},
	{
		"--from %s: line %d is no record of match: its type is %s",
		"--from %s: %d번째 줄은 match의 레코드가 아닙니다. type이 %s입니다",
	},
	{"--from %s: line %d: %s is no status", "--from %s: %d번째 줄: %s은(는) status가 아닙니다"},
	{
		"Names of the layouts of organize, and the fields of templates",
		"organize가 쓰는 이름의 형식과 템플릿의 필드",
	},
	{
		"A template is the form of a name: {title} is a field, {season:2} a number of at least two digits, {{ and }} are\nbraces. What stands in < > goes when a field in it is empty. A / makes folders. The extension is added. With --layout\ncustom, organize.template.show, .season, .episode and .movie set the four forms; the name of an episode needs {season}\nand {episode}, or {name}.",
		"템플릿은 이름의 형식입니다. {title}은 필드, {season:2}는 두 자리 이상의 수, {{와 }}는 중괄호입니다. < > 안은 그 안의\n필드가 비면 통째로 빠집니다. /는 폴더를 만듭니다. 확장자는 저절로 붙습니다. --layout custom이면\norganize.template.show, .season, .episode, .movie가 네 형식을 정합니다. 에피소드의 이름에는 {season}과 {episode},\n또는 {name}이 있어야 합니다.",
	},
	{
		"\nWhy a file is left (\"error\":{\"code\":...})\n\n",
		"\n파일을 그대로 두는 이유 (\"error\":{\"code\":...})\n\n",
	},
	{"Where organize puts files.", "organize가 파일을 두는 곳."},
	{"Where it puts series, in place of organize.to.", "organize.to 대신 시리즈를 두는 곳."},
	{"Where it puts films, in place of organize.to.", "organize.to 대신 영화를 두는 곳."},
	{"How files get to their new names.", "파일이 새 이름을 얻는 방법."},
	{
		"What is done where the mode can't cross file systems: off leaves the file.",
		"방법이 파일 시스템을 넘지 못할 때 할 일. off는 파일을 그대로 둡니다.",
	},
	{"Whose names files get.", "어느 서버의 이름을 쓸지."},
	{"Below it a file is left where it is.", "신뢰도가 이보다 낮은 파일은 그대로 둡니다."},
	{
		"What becomes of files that would get one name: report leaves all of them, version gives them labels.",
		"이름이 같아질 파일을 어떻게 할지. report는 모두 그대로 두고, version은 꼬리표를 붙입니다.",
	},
	{"pairs such as :=꞉, several with commas", ":=꞉ 같은 짝, 여럿이면 쉼표로"},
	{"What is replaced in titles before they become names.", "제목이 이름이 되기 전에 바꿀 글자."},
	{"a template; see: anivault help templates", "템플릿. 참고: anivault help templates"},
	{"The form of names in the layout custom: %s.", "custom에서 이름의 형식: %s."},
	{"must be pairs such as :=꞉, several with commas", ":=꞉ 같은 짝이어야 합니다. 여럿이면 쉼표로"},
	{"not sure enough", "확실하지 않음"},
	{"TMDB could not be asked", "TMDB에 물을 수 없었음"},
	{"not known which episode it is", "몇 화인지 모름"},
	{"an extra, a trailer or a sample", "부가 영상, 예고편 또는 샘플"},
	{"its episodes don't follow each other", "화수가 이어지지 않음"},
	{"two files would get one name", "두 파일의 이름이 같아짐"},
	{"another name of a file that is planned", "계획에 있는 파일의 다른 이름"},
	{"two works would get one folder", "두 작품의 폴더가 같아짐"},
	{"two folders are there for it", "이미 폴더가 둘 있음"},
	{"not known which video it belongs to", "어느 영상에 속하는지 모름"},
	{"it is not below PATH", "PATH 아래에 있지 않음"},
	{"something else is there", "그 자리에 다른 것이 있음"},
	{"nothing is left of its name", "쓸 수 있는 글자가 이름에 없음"},
	{"its name is too long", "이름이 너무 김"},
	{"its target is on another file system", "대상이 다른 파일 시스템에 있음"},
	{"it can't be read", "읽을 수 없음"},
}
