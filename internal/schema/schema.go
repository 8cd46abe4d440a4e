// Package schema describes JSON output as JSON Schema (draft 2020-12). It reads the struct tags that the reference is
// generated from; package report lists them.
package schema

import (
	"maps"
	"reflect"
	"strings"
	"time"
)

// Schema is a JSON Schema, or a part of one.
type Schema map[string]any

// Document returns the schema of an output. Its objects are values of the types. Where key is set, it may also be one
// document that has the first type's values in a list under that key, and the second's as its summary. The first object
// of an output names the schema by its id, such as match/1.
func Document(id, key string, types ...reflect.Type) Schema {
	var forms []Schema
	for _, t := range types {
		forms = append(forms, of(t))
	}
	if key != "" {
		properties := Schema{key: Schema{"type": "array", "items": of(types[0])}}
		required := []string{key}
		if len(types) > 1 {
			properties["summary"], required = of(types[1]), append(required, "summary")
		}
		forms = append(forms, Schema{"type": "object", "properties": properties, "required": required})
	}
	for _, form := range forms {
		form["properties"].(Schema)["schema"] = Schema{"const": id, "description": "in the first object: its schema"}
	}
	out := Schema{"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": id, "anyOf": forms}
	if len(forms) == 1 {
		delete(out, "anyOf")
		maps.Copy(out, forms[0])
	}
	return out
}

// of returns the schema of a type's values. A field is required unless its tag says omitempty.
func of(t reflect.Type) Schema {
	switch t.Kind() {
	case reflect.Pointer:
		return of(t.Elem())
	case reflect.Slice:
		return Schema{"type": "array", "items": of(t.Elem())}
	case reflect.Map:
		return Schema{"type": "object", "additionalProperties": of(t.Elem())}
	case reflect.String:
		return Schema{"type": "string"}
	case reflect.Bool:
		return Schema{"type": "boolean"}
	case reflect.Float64:
		return Schema{"type": "number"}
	case reflect.Struct:
		if t == reflect.TypeFor[time.Time]() {
			return Schema{"type": "string", "format": "date-time"}
		}
		o := object{properties: Schema{}, required: []string{}}
		o.addFields(t)
		return Schema{"type": "object", "properties": o.properties, "required": o.required}
	case reflect.Interface:
		return Schema{}
	default:
		return Schema{"type": "integer"}
	}
}

type object struct {
	properties Schema
	required   []string
	last       Schema // the property whose description the next field's tag may continue
}

func (o *object) addFields(t reflect.Type) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		constant, isConstant := f.Tag.Lookup("constant")
		switch {
		case f.Anonymous:
			o.addFields(f.Type)
		case isConstant:
			key, value, _ := strings.Cut(constant, "=")
			o.add(key, Schema{"const": value}, f, true)
		case f.Name == "_":
			o.last["description"] = o.last["description"].(string) + " " + f.Tag.Get("doc")
		case name != "" && name != "-":
			if inBase64 := f.Tag.Get("bytes"); inBase64 != "" {
				o.properties[inBase64] = Schema{"type": "string", "contentEncoding": "base64"}
			}
			o.add(name, of(f.Type), f, options == "")
		}
	}
}

func (o *object) add(name string, s Schema, f reflect.StructField, required bool) {
	if doc := f.Tag.Get("doc"); doc != "" {
		s["description"] = doc
	}
	o.properties[name], o.last = s, s
	if required {
		o.required = append(o.required, name)
	}
}
