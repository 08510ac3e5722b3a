package api

import (
	"encoding/json"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/plan-engine/plan/face/web/service"
)

// TestTheDescriptionIsTrue: it has the routes that there are, and of what is sent the
// fields that are read.
func TestTheDescriptionIsTrue(t *testing.T) {
	t.Parallel()
	var doc struct {
		Paths      map[string]map[string]any
		Components struct {
			Schemas map[string]struct {
				Properties map[string]any
			}
		}
	}
	text, err := described()
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`"\$ref": "([^"]*)"`).FindAllStringSubmatch(string(text), -1) {
		name, ok := strings.CutPrefix(m[1], "#/components/schemas/")
		if _, there := doc.Components.Schemas[name]; !ok || !there {
			t.Errorf("openapi.json refers to %s, which is not there", m[1])
		}
	}
	routes := (&API{}).routes()
	for pattern := range routes {
		method, path := cutMethod(pattern)
		if doc.Paths[path][strings.ToLower(method)] == nil {
			t.Errorf("openapi.json lacks %s", pattern)
		}
	}
	for path, methods := range doc.Paths {
		for method := range methods {
			if routes[strings.ToUpper(method)+" "+path] == nil {
				t.Errorf("openapi.json has %s %s, which is not there", method, path)
			}
		}
	}
	for name, of := range map[string]any{
		"Begin":      service.Begin{},
		"Letter":     service.Letter{},
		"Told":       service.Told{},
		"Resume":     service.Resume{},
		"Apply":      service.Apply{},
		"Restore":    service.Restore{},
		"NewBatch":   service.NewBatch{},
		"Again":      service.Again{},
		"Draft":      service.Draft{},
		"Waiting":    service.Waiting{},
		"Run":        service.Run{},
		"Begun":      begun{},
		"BatchBegun": batchBegun{},
		"Problem":    problem{},
	} {
		for field := range doc.Components.Schemas[name].Properties {
			if !slices.Contains(fieldsOf(of), field) {
				t.Errorf("openapi.json: %s has %s, which is not there", name, field)
			}
		}
		for _, field := range fieldsOf(of) {
			if doc.Components.Schemas[name].Properties[field] == nil {
				t.Errorf("openapi.json: %s lacks %s", name, field)
			}
		}
	}
}

// TestNamesOfAnswers: a schema has the name of its type, so no two types have the same.
func TestNamesOfAnswers(t *testing.T) {
	t.Parallel()
	named := map[string]reflect.Type{}
	for of := range structs(reflect.TypeFor[answers](), map[reflect.Type]bool{}) {
		if other := named[of.Name()]; other != nil {
			t.Errorf("%s and %s would have one schema", of, other)
		}
		named[of.Name()] = of
	}
}

// fieldsOf are the names that the fields of a struct have in JSON.
func fieldsOf(of any) []string {
	var out []string
	for _, f := range reflect.VisibleFields(reflect.TypeOf(of)) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" {
			out = append(out, name)
		}
	}
	return out
}
