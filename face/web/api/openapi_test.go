package api

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/plan-engine/plan/face/web/desk"
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
				AllOf      []struct {
					Properties map[string]any
				}
			}
		}
	}
	if err := json.Unmarshal(description, &doc); err != nil {
		t.Fatal(err)
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
		"Begin":      desk.Begin{},
		"Letter":     desk.Letter{},
		"Told":       desk.Told{},
		"Resume":     desk.Resume{},
		"Apply":      desk.Apply{},
		"Restore":    desk.Restore{},
		"NewBatch":   desk.NewBatch{},
		"Again":      desk.Again{},
		"Draft":      desk.Draft{},
		"Waiting":    desk.Waiting{},
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
	for field := range doc.Components.Schemas["Run"].AllOf[1].Properties {
		if !slices.Contains(fieldsOf(desk.Run{}), field) {
			t.Errorf("openapi.json: Run has %s, which is not there", field)
		}
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
