package config

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/anivault/anivault/internal/lang"
)

// reader reads the lists of a file that are more than settings, and collects what can't be used.
type reader struct {
	in  source
	bad *faults
}

func (r reader) refuse(n *yaml.Node, key, value string, reason lang.Text) {
	r.bad.refuse(r.place(n)+": "+key, value, reason)
}

// place is the file and line of a node.
func (r reader) place(n *yaml.Node) string { return fmt.Sprintf("%s:%d", r.in.path, n.Line) }

// record is how one kind of record in a list is read.
type record[T any] struct {
	list    string    // the key of the list
	form    lang.Text // what each item must be
	unknown string    // what is said of a key that is none of fields, a format for their names
	prefix  string    // of keys in errors
	fields  []recordField[T]
	begin   func(place string) T
	check   func(reader, *yaml.Node, *T) // of all fields together
}

// recordField is a key of a record. It holds a single value, or else what read reads.
type recordField[T any] struct {
	key     string
	allowed lang.Text
	take    func(*T, string) bool // reports whether it may be that value
	read    func(reader, *T, *yaml.Node)
	secret  bool // no error shows what people put there
}

func (rec record[T]) keys() string {
	var keys []string
	for _, f := range rec.fields {
		keys = append(keys, f.key)
	}
	return strings.Join(keys, ", ")
}

// readAll reads the items of a list.
func (rec record[T]) readAll(r reader, list *yaml.Node) (out []T) {
	for _, item := range list.Content {
		if item.Kind != yaml.MappingNode {
			r.refuse(item, rec.list, "", rec.form)
			continue
		}
		one := rec.begin(r.place(item))
		for i := 0; i+1 < len(item.Content); i += 2 {
			rec.readField(r, &one, item.Content[i], item.Content[i+1])
		}
		rec.check(r, item, &one)
		out = append(out, one)
	}
	return out
}

func (rec record[T]) readField(r reader, to *T, key, v *yaml.Node) {
	i := slices.IndexFunc(rec.fields, func(f recordField[T]) bool { return f.key == key.Value })
	if i < 0 {
		r.refuse(key, key.Value, "", lang.Textf(rec.unknown, rec.keys()))
		return
	}
	switch f := rec.fields[i]; {
	case f.read != nil:
		f.read(r, to, v)
	case v.Kind != yaml.ScalarNode || !f.take(to, v.Value):
		shown := v.Value
		if f.secret {
			shown = ""
		}
		r.refuse(v, rec.prefix+f.key, shown, lang.Textf("must be %s", f.allowed))
	}
}
