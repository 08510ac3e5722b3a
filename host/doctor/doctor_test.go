package doctor_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plan-engine/plan/host"
	"github.com/plan-engine/plan/host/doctor"
	"github.com/plan-engine/plan/sandbox"
)

func TestMain(m *testing.M) {
	sandbox.Enter()
	os.Exit(m.Run())
}

func find(t *testing.T, found []doctor.Finding, name string) doctor.Finding {
	t.Helper()
	for _, f := range found {
		if f.Name == name {
			return f
		}
	}
	t.Fatalf("nothing is said of %s: %+v", name, found)
	return doctor.Finding{}
}

func TestAuditOfADatabase(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	doc := doctor.New(t.Context(), host.New(host.Config{Environ: []string{"PLAN_HOME=" + home}}), t.TempDir())
	found := doc.AuditDB(t.Context(), func(int, int) {})
	whole := find(t, found, "database")
	if !doctor.Healthy(found) || !strings.HasSuffix(whole.Detail, "plan.db: 0 runs, 0 events and 0 blobs are whole") {
		t.Errorf("a new database: %+v", whole)
	}

	junk := strings.Repeat("This is not a database. ", 20)
	if err := os.WriteFile(filepath.Join(home, "plan.db"), []byte(junk), 0o600); err != nil {
		t.Fatal(err)
	}
	found = doc.AuditDB(t.Context(), func(int, int) {})
	broken := find(t, found, "database")
	says := strings.Contains(broken.Detail, "not an SQLite database")
	if doctor.Healthy(found) || broken.OK || !broken.Needed || !says {
		t.Errorf("a file that is no database: %+v", broken)
	}
}

// TestModelsThatCannotBeAsked: why, and that plan cannot run without them.
func TestModelsThatCannotBeAsked(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		environ []string
		probe   doctor.Probe
		want    string
	}{
		"settings that are wrong": {[]string{"PLAN_MODEL=@x"}, doctor.Probe{}, "config"},
		"no key":                  {[]string{"PLAN_MODEL=anthropic/m"}, doctor.Probe{}, "model"},
		"no such provider":        {nil, doctor.Probe{Provider: "nowhere", Model: "m"}, "model"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			environ := append([]string{"PLAN_HOME=" + t.TempDir()}, tt.environ...)
			doc := doctor.New(t.Context(), host.New(host.Config{Environ: environ}), t.TempDir())
			f := find(t, doc.Models(t.Context(), tt.probe), tt.want)
			if f.OK || !f.Needed || f.Detail == "" {
				t.Errorf("%+v", f)
			}
		})
	}
}

func TestANoteIsHealthy(t *testing.T) {
	t.Parallel()
	note := doctor.Finding{Name: "walls"}
	if !doctor.Healthy([]doctor.Finding{note}) {
		t.Error("what is not needed counts")
	}
	note.Needed = true
	if doctor.Healthy([]doctor.Finding{note}) {
		t.Error("what is needed does not count")
	}
}
