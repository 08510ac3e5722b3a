package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"strings"

	"github.com/invopop/jsonschema"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/face/web/service"
	"github.com/plan-engine/plan/host"
	"github.com/plan-engine/plan/host/batches"
	"github.com/plan-engine/plan/host/costs"
	"github.com/plan-engine/plan/host/learning"
)

// answers are what is answered with. Their schemas are made of these types when they are
// asked for; openapi.json refers to them by the names of the types.
type answers struct {
	Run          service.Run
	Listed       host.ListedRun
	Plan         plan.PlanDoc
	PlanDiff     host.PlanDiff
	Change       Change
	Cost         costs.Document
	ApplyResult  host.ApplyResult
	Repositories Repositories
	Batch        batches.Batch
	Standing     batches.Standing
	Review       learning.Review
	Decided      Decided
}

// described is openapi.json with the schemas of the answers.
func described() ([]byte, error) {
	var doc map[string]any
	if err := json.Unmarshal(description, &doc); err != nil {
		return nil, fmt.Errorf("read openapi.json: %w", err)
	}
	reflector := jsonschema.Reflector{
		Anonymous:                 true,
		AllowAdditionalProperties: true,
	}
	defs := reflector.Reflect(answers{}).Definitions
	delete(defs, "answers")
	for t := range structs(reflect.TypeFor[answers](), map[reflect.Type]bool{}) {
		allowNull(t, defs[t.Name()])
	}
	text, err := json.Marshal(defs)
	if err != nil {
		return nil, fmt.Errorf("write the schemas of the answers: %w", err)
	}
	var schemas map[string]any
	text = bytes.ReplaceAll(text, []byte(`"#/$defs/`), []byte(`"#/components/schemas/`))
	if err := json.Unmarshal(text, &schemas); err != nil {
		return nil, fmt.Errorf("read the schemas of the answers: %w", err)
	}
	components, _ := doc["components"].(map[string]any)
	published, _ := components["schemas"].(map[string]any)
	maps.Copy(published, schemas)
	return json.MarshalIndent(doc, "", " ") //nolint:wrapcheck // a document of ours
}

// structs adds the struct types that a type is made of.
func structs(t reflect.Type, to map[reflect.Type]bool) map[reflect.Type]bool {
	switch t.Kind() { //nolint:exhaustive // the others are made of no other types
	case reflect.Pointer, reflect.Slice, reflect.Map, reflect.Array:
		return structs(t.Elem(), to)
	case reflect.Struct:
		if to[t] {
			break
		}
		to[t] = true
		for _, f := range reflect.VisibleFields(t) {
			structs(f.Type, to)
		}
	}
	return to
}

// allowNull has a schema say which fields may be null: those that are pointers, lists or
// maps, and are always there.
func allowNull(t reflect.Type, schema *jsonschema.Schema) {
	if schema == nil || schema.Properties == nil {
		return
	}
	for _, f := range reflect.VisibleFields(t) {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		of, ok := schema.Properties.Get(name)
		switch f.Type.Kind() { //nolint:exhaustive // the others are never null
		case reflect.Pointer, reflect.Slice, reflect.Map:
			if ok && !strings.Contains(options, "omit") {
				schema.Properties.Set(name, &jsonschema.Schema{
					AnyOf: []*jsonschema.Schema{of, {Type: "null"}},
				})
			}
		}
	}
}
