package batches_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/batch"
	"github.com/plan-engine/plan/host"
	"github.com/plan-engine/plan/host/batches"
	"github.com/plan-engine/plan/memory"
)

// What is damaged of one job is shown as that job's alone, with the command that helps.
func TestADamagedJobIsShown(t *testing.T) {
	t.Parallel()
	h := host.New(host.Config{Environ: []string{"PLAN_HOME=" + t.TempDir()}})
	t.Cleanup(func() { _ = h.Close() })
	b := batches.New(h)
	spec := json.RawMessage(`{"repo":"/r","request":"x"}`)
	db, err := h.DB(t.Context())
	if err == nil {
		err = db.AddBatch(t.Context(), memory.Batch{ID: "01AB", Digest: "d", Settings: json.RawMessage("{}")}, []memory.Job{
			{ID: "good", Spec: spec},
			{ID: "hurt", Spec: spec, Place: 1},
			{ID: "torn", Spec: json.RawMessage(`{"repo":`), Place: 2},
		})
	}
	if err != nil {
		t.Fatal(err)
	}
	for id, result := range map[string]string{"good": `{"why":"fine"}`, "hurt": `{"why":"fine","outcome":{`} {
		if _, ok, err := db.ClaimJob(t.Context(), "01AB", plan.RunID("R"+id), id); err != nil || !ok {
			t.Fatal(ok, err)
		}
		if err := db.RecordJobResult(t.Context(), "01AB", id, memory.JobFailed, json.RawMessage(result)); err != nil {
			t.Fatal(err)
		}
	}
	s, err := b.Show(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	r, err := b.Report(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	for n, want := range []string{"fine", "damaged; `plan show Rhurt`", "damaged; a backup"} {
		if got := s.Jobs[n].Why; !strings.Contains(got, want) {
			t.Errorf("shown: %q", got)
		}
		if got := r.Jobs[n].Why; !strings.Contains(got, want) {
			t.Errorf("reported: %q", got)
		}
	}
	if s.Counts[batch.JobFailed] != 2 || s.Jobs[1].Repo != "/r" {
		t.Errorf("got %+v", s)
	}
}

// A byte of what is stored of a job is another, and still it can be read: it is not shown.
func TestAFlippedByteOfAJobIsNotShown(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	open := func() *host.Host { return host.New(host.Config{Environ: []string{"PLAN_HOME=" + home}}) }
	h := open()
	db, err := h.DB(t.Context())
	if err == nil {
		err = db.AddBatch(t.Context(), memory.Batch{ID: "01AB", Digest: "d", Settings: json.RawMessage("{}")}, []memory.Job{
			{ID: "good", Spec: json.RawMessage(`{"repo":"/r","request":"as it was"}`)},
			{ID: "hurt", Spec: json.RawMessage(`{"repo":"/r","request":"keep the logs"}`), Place: 1},
		})
	}
	file := filepath.Join(home, "plan.db")
	var data []byte
	if err = errors.Join(err, h.Close()); err == nil {
		data, err = os.ReadFile(file)
	}
	if err == nil {
		err = os.WriteFile(file, bytes.Replace(data, []byte("keep the logs"), []byte("drop the logs"), 1), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	h = open()
	t.Cleanup(func() { _ = h.Close() })
	s, err := batches.New(h).Show(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	good, hurt := s.Jobs[0], s.Jobs[1]
	if good.Request != "as it was" || hurt.Request != "" || !strings.Contains(hurt.Why, "is not what was written") {
		t.Errorf("got %+v and %+v", good, hurt)
	}
}
