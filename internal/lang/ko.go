package lang

import "slices"

// The Korean catalogue. It speaks in 합니다체 and asks in 하세요; evidence and labels are noun phrases. Particles stand in both
// forms, 은(는), where the word before them is not known. Words of the machine (state names, codes, flags, variables) stay.
//
//	entry        항목          match        매칭           confidence  신뢰도
//	season       시즌          episode      화             special     특별편
//	extra        부가 영상     ambiguous    불확실         unmatched   못 찾음
//	pending      대기          skipped      제외           no episode  화 미상
//	candidate    후보          reason       이유           hint        힌트
//	request      요청          answer       답             cache       캐시
//	limiter      리미터        rate         속도           probe       시험 요청
//	permission   전송 허가     slot         슬롯           budget      한도
//	pin          고정          title index  제목 색인      offset      오프셋
//	stand-in     모의 서버     setting      설정           flag        옵션
//	absolute     통산 화수     cour         쿨             run         방영분
func ko() []entry {
	return slices.Concat(koMatch, koReport, koCommands, koSettings, koOrganize, koServe, koApply, koPlan)
}
