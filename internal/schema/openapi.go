package schema

import (
	"net/http"
	"reflect"
	"regexp"
	"strings"
)

// Operation is a method and a path of an HTTP server.
type Operation struct {
	Method, Path, Summary string // Path has parameters in braces
	Public                bool   // it needs no token
	Answer                any    // a value of the type that a good answer has as JSON; nil: any JSON; "": text
	Body                  Schema // of the request; nil: it has none
	Query                 []string
}

var pathParameter = regexp.MustCompile(`\{(\w+)\}`)

// OpenAPI describes a server as OpenAPI 3.1. Failures have values of the type of failure. A client gives its token as a
// bearer token, or in the query under key unless that is empty.
func OpenAPI(title, version, key string, failure any, operations []Operation) Schema {
	schemes := Schema{"bearer": Schema{"type": "http", "scheme": "bearer"}}
	secured := []Schema{{"bearer": []string{}}}
	if key != "" {
		schemes[key] = Schema{"type": "apiKey", "in": "query", "name": key}
		secured = append(secured, Schema{key: []string{}})
	}
	paths := Schema{}
	for _, o := range operations {
		var parameters []Schema
		for _, name := range pathParameter.FindAllStringSubmatch(o.Path, -1) {
			parameters = append(parameters, Schema{
				"name": name[1], "in": "path", "required": true, "schema": Schema{"type": "string"},
			})
		}
		for _, name := range o.Query {
			parameters = append(parameters, Schema{"name": name, "in": "query", "schema": Schema{"type": "string"}})
		}
		operation := Schema{"summary": o.Summary, "parameters": parameters, "responses": Schema{
			"200":     Schema{"description": "OK", "content": contentOf(o.Answer)},
			"default": Schema{"description": "a failure", "content": contentOf(failure)},
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

// Get is an operation without a body.
func Get(path, summary string, answer any) Operation {
	return Operation{Method: http.MethodGet, Path: path, Summary: summary, Answer: answer}
}
