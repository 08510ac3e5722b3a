package render_test

import (
	"bytes"
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
	"github.com/plan-engine/plan/host"
	"github.com/plan-engine/plan/internal/planted"
	"github.com/plan-engine/plan/internal/sanitize"
)

// nasty is a text that acts on a terminal, in each way that there is.
const nasty = "a\x1b]0;PWNED\x07b\x1b[2Jc\u200bd\u202ee\u2066f\U000e0041g\u0085h\x9bi\rj\ufeffk"

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
		planted.Fill(filled, nasty)
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
		"QueueCollected":  render.QueueCollected,
		"Exported":        render.Exported,
		"Imported":        render.Imported,
		"BackedUp":        render.BackedUp,
		"TrustItems":      render.TrustItems,
		"Tools":           render.Tools,
		"TriedTool":       render.TriedTool,
		"ToolStats":       render.ToolStats,
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
		"Choices":         render.Choices,
		"WaitingJobs":     render.WaitingJobs,
		"WriteThread":     render.WriteThread,
		"WriteUnread":     render.WriteUnread,
		"Estimate":        render.Estimate,
		"WriteMoved":      render.WriteMoved,
		"WritePlanDiff":   render.WritePlanDiff,
		"WriteDiff":       render.WriteDiff,
		"Review": func(w io.Writer, version string, r host.Reviewed) error {
			var errs []error
			for _, format := range []string{render.FormatMarkdown, render.FormatJSON, render.FormatSARIF} {
				errs = append(errs, render.Review(w, format, version, r))
			}
			return errors.Join(errs...)
		},
	}
	// These show events, or lines that were made so, and have tests of their own.
	elsewhere := []string{"NewJSON", "NewPlain", "NewScreen", "NewEventLines", "WriteSummary", "WriteLines"}
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
					planted.Fill(in[i], nasty)
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
