package render_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"iter"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/face/render"
	"github.com/plan-engine/plan/internal/sanitize"
)

// nasty is a text that acts on a terminal, in each way that there is.
const nasty = "a\x1b]0;PWNED\x07b\x1b[2Jc\u200bd\u202ee\u2066f\U000e0041g\u0085h\x9bi\rj\ufeffk"

// plant sets every field of a value, the texts to nasty.
func plant(v reflect.Value, depth int) {
	if !v.CanSet() || depth > 12 {
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(nasty)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(2)
	case reflect.Float64:
		v.SetFloat(2)
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(time.Unix(1, 0)))
			return
		}
		for i := range v.NumField() {
			plant(v.Field(i), depth+1)
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		plant(v.Elem(), depth+1)
	case reflect.Slice:
		switch v.Type() {
		case reflect.TypeFor[json.RawMessage]():
			data, err := json.Marshal(map[string]string{"command": nasty, "path": nasty, nasty: nasty})
			if err != nil {
				panic(err)
			}
			v.SetBytes(data)
			return
		case reflect.TypeFor[[]byte]():
			v.SetBytes([]byte(nasty))
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		plant(v.Index(0), depth+1)
		plant(v.Index(1), depth+1)
	case reflect.Map:
		key, elem := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		plant(key, depth+1)
		plant(elem, depth+1)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, elem)
	case reflect.Interface:
		if v.Type() == reflect.TypeFor[error]() {
			v.Set(reflect.ValueOf(errors.New(nasty)))
		}
	case reflect.Func:
		v.Set(reflect.MakeFunc(v.Type(), func([]reflect.Value) []reflect.Value {
			out := make([]reflect.Value, v.Type().NumOut())
			for i := range out {
				out[i] = reflect.New(v.Type().Out(i)).Elem()
				plant(out[i], depth+1)
			}
			return out
		}))
	}
}

// nastyEvents are one of each kind, with nasty in each field.
func nastyEvents(t *testing.T) iter.Seq2[plan.Event, error] {
	t.Helper()
	var all []plan.Event
	for i, name := range plan.EventTypes() {
		body, err := plan.DecodeBody(name, "{}")
		if err != nil {
			t.Fatal(err)
		}
		filled := reflect.New(reflect.TypeOf(body)).Elem()
		plant(filled, 0)
		for _, phase := range []plan.Phase{"", plan.Implement, nasty} {
			all = append(all, plan.Event{
				Seq:     int64(i + 1),
				Time:    time.Unix(int64(i), 0),
				Run:     nasty,
				Job:     nasty,
				Phase:   phase,
				Attempt: 2,
				Conv:    nasty,
				Body:    filled.Interface().(plan.Body),
			})
		}
	}
	return func(yield func(plan.Event, error) bool) {
		for _, ev := range all {
			if !yield(ev, nil) {
				return
			}
		}
	}
}

// TestNothingShownActs: whatever stands in whichever field of what is shown, nothing
// of it acts on a terminal, and nothing is there that is not seen.
func TestNothingShownActs(t *testing.T) {
	t.Parallel()
	shown := map[string]any{
		"WriteCall":       render.WriteCall,
		"WaitingCalls":    render.WaitingCalls,
		"Facts":           render.Facts,
		"FoundFacts":      render.FoundFacts,
		"FactAdded":       render.FactAdded,
		"FactForgotten":   render.FactForgotten,
		"Fact":            render.Fact,
		"FactsImported":   render.FactsImported,
		"Style":           render.Style,
		"SkillStats":      render.SkillStats,
		"WriteTranscript": render.WriteTranscript,
		"WriteTimeline":   render.WriteTimeline,
		"Collected":       render.Collected,
		"Exported":        render.Exported,
		"Imported":        render.Imported,
		"BackedUp":        render.BackedUp,
		"TrustItems":      render.TrustItems,
		"TrustQuestion":   render.TrustQuestion,
		"Forked":          render.Forked,
		"Skills":          render.Skills,
		"Skill":           render.Skill,
		"DraftReview":     render.DraftReview,
		"SkillRolledBack": render.SkillRolledBack,
		"DraftDiff":       render.DraftDiff,
		"DraftDecided":    render.DraftDecided,
		"DraftWritten":    render.DraftWritten,
		"SkillMeasured":   render.SkillMeasured,
		"DraftsWaiting":   render.DraftsWaiting,
		"TrustRevoked":    render.TrustRevoked,
		"WorkTrees":       render.WorkTrees,
		"Models":          render.Models,
		"Providers":       render.Providers,
		"Batches":         render.Batches,
		"Batch":           render.Batch,
		"SameJobs":        render.SameJobs,
		"BatchOutcome":    render.BatchOutcome,
		"JobsExported":    render.JobsExported,
		"JobPublished":    render.JobPublished,
		"Settings":        render.Settings,
		"WriteCosts":      render.WriteCosts,
		"Findings":        render.Findings,
		"WriteProse":      render.WriteProse,
		"Runs":            render.Runs,
		"WriteMoved":      render.WriteMoved,
		"WritePlanDiff":   render.WritePlanDiff,
	}
	// These show events, or lines that were made so, and have tests of their own.
	elsewhere := []string{"NewJSON", "NewPlain", "NewScreen", "WriteSummary", "WriteLines"}
	for _, name := range writers(t) {
		if shown[name] == nil && !slices.Contains(elsewhere, name) {
			t.Errorf("%s is not tried", name)
		}
	}
	for name, show := range shown {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			f := reflect.ValueOf(show)
			in := make([]reflect.Value, f.Type().NumIn())
			for i := range in {
				in[i] = reflect.New(f.Type().In(i)).Elem()
				switch in[i].Type() {
				case reflect.TypeFor[io.Writer]():
					in[i].Set(reflect.ValueOf(&out))
				case reflect.TypeFor[render.Options]():
					in[i].Set(reflect.ValueOf(render.Options{}))
				case reflect.TypeFor[iter.Seq2[plan.Event, error]]():
					in[i].Set(reflect.ValueOf(nastyEvents(t)))
				default:
					plant(in[i], 0)
				}
			}
			f.Call(in)
			if text := out.String(); sanitize.Text(text) != text {
				t.Errorf("it shows what acts or is not seen: %q", text)
			}
		})
	}
}

// writers are the functions of the package that write to what they are given.
func writers(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Recv != nil || !f.Name.IsExported() || len(f.Type.Params.List) == 0 {
				continue
			}
			first, ok := f.Type.Params.List[0].Type.(*ast.SelectorExpr)
			if ok && first.Sel.Name == "Writer" {
				out = append(out, f.Name.Name)
			}
		}
	}
	return out
}
