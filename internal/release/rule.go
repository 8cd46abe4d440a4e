package release

// rule is one row of an ordered table. The first row that applies decides.
type rule[In, Out any] struct {
	name    string
	example string // "name -> what is read of it"; without this row something else is read
	applies func(In) bool
	out     Out
}

// when makes a row that says out.
func when[In, Out any](name, example string, applies func(In) bool, out Out) rule[In, Out] {
	return rule[In, Out]{name, example, applies, out}
}

// decide returns what the first rule that applies says, the zero value where none does.
func decide[In, Out any](rules []rule[In, Out], in In) (out Out) {
	for i := range rules {
		if rules[i].applies(in) {
			return rules[i].out
		}
	}
	return out
}

// reason is a row of a table whose rows all lead to the same: one that applies is enough.
type reason[In any] struct {
	name    string
	example string // as in rule
	applies func(In) bool
}

// because makes a reason.
func because[In any](name, example string, applies func(In) bool) reason[In] {
	return reason[In]{name, example, applies}
}

// anyOf reports whether one of the reasons applies.
func anyOf[In any](reasons []reason[In], in In) bool {
	for i := range reasons {
		if reasons[i].applies(in) {
			return true
		}
	}
	return false
}

// form is a row of a table of forms, each a function that reads words from token i on: it marks them, and reports
// whether it did.
type form[P any] struct {
	name    string
	example string  // as in rule
	on      classes // the classes of token it can begin with
	try     func(p *P, i int) bool
}

// tryForms runs the forms on token i up to the first that reads it, unless the token is a tag already.
func tryForms[P any](forms []form[P], p *P, i int, t *token) {
	if t.tag != none && !t.weak {
		return
	}
	own := classes(1) << t.class
	for f := range forms {
		if forms[f].on&own != 0 && forms[f].try(p, i) {
			return
		}
	}
}

// classes is a set of token classes, each with the bit of its number.
type classes uint8

const (
	onAlpha classes = 1 << iota
	onNumber
	onMixed
)
