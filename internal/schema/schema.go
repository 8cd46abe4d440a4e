// Package schema describes JSON output as JSON Schema (draft 2020-12). It reads the struct tags that the reference is
// generated from; package report lists them.
package schema

import (
	"maps"
	"net/http"
	"reflect"
	"regexp"
	"strings"
	"time"

	"github.com/anivault/anivault/internal/slicesx"
)

// Schema is a JSON Schema, or a part of one.
type Schema map[string]any

// Document returns the schema of an output. Its objects are values of the types. If key is set, the output may also be
// a single document, with a list of the first type's values under that key and a value of the second type as its
// summary. The first object of an output names the schema by its id, such as match/1.
func Document(id, key string, types ...reflect.Type) Schema {
	forms := slicesx.Map(types, of)
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
	for f := range t.Fields() {
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

// Operation is a method and a path of an HTTP server.
type Operation struct {
	Method, Path, Summary string // Path has parameters in braces
	Public                bool   // it needs no token
	Answer                any    // a value of the type that a good answer has as JSON; nil: any JSON; "": text
	Body                  Schema // of the request; nil: it has none
	Query                 []string
}

var pathParameter = regexp.MustCompile(`\{(\w+)\}`)

// OpenAPI describes a server as OpenAPI 3.1. Error answers have the type of errorBody. A client gives its token as a
// bearer token, or in the query under key unless that is empty.
func OpenAPI(title, version, key string, errorBody any, operations []Operation) Schema {
	schemes := Schema{"bearer": Schema{"type": "http", "scheme": "bearer"}}
	secured := []Schema{{"bearer": []string{}}}
	if key != "" {
		schemes[key] = Schema{"type": "apiKey", "in": "query", "name": key}
		secured = append(secured, Schema{key: []string{}})
	}
	paths := Schema{}
	for _, o := range operations {
		parameters := slicesx.Map(pathParameter.FindAllStringSubmatch(o.Path, -1), func(name []string) Schema {
			return Schema{"name": name[1], "in": "path", "required": true, "schema": Schema{"type": "string"}}
		})
		for _, name := range o.Query {
			parameters = append(parameters, Schema{"name": name, "in": "query", "schema": Schema{"type": "string"}})
		}
		operation := Schema{"summary": o.Summary, "parameters": parameters, "responses": Schema{
			"200":     Schema{"description": "OK", "content": contentOf(o.Answer)},
			"default": Schema{"description": "an error", "content": contentOf(errorBody)},
		}}
		if parameters == nil {
			delete(operation, "parameters")
		}
		if o.Body != nil {
			operation["requestBody"] = Schema{"content": Schema{"application/json": Schema{"schema": o.Body}}}
		}
		if !o.Public {
			operation["security"] = secured
		}
		if paths[o.Path] == nil {
			paths[o.Path] = Schema{}
		}
		paths[o.Path].(Schema)[strings.ToLower(o.Method)] = operation
	}
	return Schema{
		"openapi": "3.1.0", "info": Schema{"title": title, "version": version}, "paths": paths,
		"components": Schema{"securitySchemes": schemes},
	}
}

func contentOf(answer any) Schema {
	switch answer {
	case nil:
		return Schema{"application/json": Schema{"schema": Schema{}}}
	case "":
		return Schema{"text/plain": Schema{"schema": Schema{"type": "string"}}}
	}
	return Schema{"application/json": Schema{"schema": of(reflect.TypeOf(answer))}}
}

// Get is an operation without a body, with the names of the parameters that its query can have.
func Get(path, summary string, answer any, query ...string) Operation {
	return Operation{Method: http.MethodGet, Path: path, Summary: summary, Answer: answer, Query: query}
}
