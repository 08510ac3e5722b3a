package record_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop"
	"github.com/plan-engine/plan/model/chat"
	"github.com/plan-engine/plan/model/record"
	"github.com/plan-engine/plan/model/scripted"
	"github.com/plan-engine/plan/model/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// generate is a model made of its one method.
type generate func(context.Context, loop.Call, func(loop.Delta)) (loop.Answer, error)

func (g generate) Generate(ctx context.Context, req loop.Call, live func(loop.Delta)) (loop.Answer, error) {
	return g(ctx, req, live)
}

// says is a model that answers every call with text, in pieces of a word.
func says(text string) loop.Model {
	return generate(func(_ context.Context, _ loop.Call, live func(loop.Delta)) (loop.Answer, error) {
		for word := range strings.SplitAfterSeq(text, " ") {
			live(loop.Delta{Kind: plan.BlockText, Text: word})
		}
		return loop.Answer{Message: assistant(plan.Block{Type: plan.BlockText, Text: text}), Stop: loop.StopEnd}, nil
	})
}

// fails is a model that answers no call.
func fails(err error) loop.Model {
	return generate(func(context.Context, loop.Call, func(loop.Delta)) (loop.Answer, error) { return loop.Answer{}, err })
}

func assistant(blocks ...plan.Block) plan.Message {
	return plan.Message{Role: plan.RoleAssistant, Blocks: blocks}
}

// server starts a scripted server and makes a client for it.
func server(t *testing.T, scenario string) *wire.Client {
	t.Helper()
	s, err := scripted.Parse([]byte(scenario))
	if err != nil {
		t.Fatal(err)
	}
	srv, err := scripted.Start(context.Background(), s, scripted.Config{})
	if err != nil {
		t.Fatal(err)
	}
	client, err := chat.New(chat.Config{Config: wire.Config{
		BaseURL: srv.URL(),
		Key:     func(context.Context) (string, error) { return srv.Key(), nil },
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		client.Close()
		if err := srv.Close(); err != nil {
			t.Error(err)
		}
	})
	return client
}

func recorder(t *testing.T, inner loop.Model, file string, redact func(string) string) *record.Recorder {
	t.Helper()
	r, err := record.New(inner, file, redact)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

func player(t *testing.T, file string, redact ...func(string) string) *record.Player {
	t.Helper()
	p, err := record.Open(file, redact...)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// recording records one call of a model for each of calls, and returns the
// file.
func recording(t *testing.T, inner loop.Model, calls ...loop.Call) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "run.jsonl")
	r := recorder(t, inner, file, nil)
	for _, c := range calls {
		_, _ = r.Generate(t.Context(), c, nil)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	return file
}

// call is the first call of a phase's conversation.
func call(phase, text string) loop.Call {
	return loop.Call{
		Model: "m", System: "Be brief.",
		Messages: []plan.Message{plan.UserText(text)},
		Headers:  map[string]string{"X-Plan-Run": "01RUN", "X-Plan-Phase": phase, "X-Plan-Attempt": "1"},
	}
}

// then is the call that goes on after an answer.
func then(c loop.Call, ans loop.Answer, text string) loop.Call {
	c.Messages = append(append([]plan.Message{}, c.Messages...), ans.Message, plan.UserText(text))
	return c
}

// outcome is all that a caller sees of a call.
type outcome struct {
	Answer loop.Answer
	Pieces []loop.Delta
	Error  *loop.ModelError
}

// ask makes a call; an error that is no model error ends the test.
func ask(t *testing.T, m loop.Model, c loop.Call) outcome {
	t.Helper()
	var out outcome
	ans, err := m.Generate(t.Context(), c, func(d loop.Delta) { out.Pieces = append(out.Pieces, d) })
	if err != nil && !errors.As(err, &out.Error) {
		t.Fatalf("Generate: %v", err)
	}
	if out.Error != nil {
		out.Error.Err = nil // not recorded
	}
	out.Answer = ans
	return out
}

func same(t *testing.T, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s differs (-want +got):\n%s", what, diff)
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func write(t *testing.T, data string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "run.jsonl")
	if err := os.WriteFile(file, []byte(data), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}
