package learning

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/config/trust"
	"github.com/plan-engine/plan/memory"
)

func TestWhatLearningNeeds(t *testing.T) {
	t.Parallel()
	for want, cfg := range map[string]Config{
		"a database": {Home: "/home"},
		"a home":     {DB: new(memory.DB)},
		"trusted":    {DB: new(memory.DB), Home: "/home", Repository: "/repo"},
	} {
		if _, err := New(cfg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want one about %s", cfg, err, want)
		}
	}
}

// TestASkillOfARepositoryNeedsTrust: it is withheld until a person has allowed
// it as it is, and again once it changes.
func TestASkillOfARepositoryNeedsTrust(t *testing.T) {
	t.Parallel()
	db, err := memory.Open(t.Context(), memory.Config{Path: filepath.Join(t.TempDir(), "plan.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	repo := t.TempDir()
	file := filepath.Join(repo, ".plan", "skills", "ship-it", "SKILL.md")
	write := func(body string) {
		t.Helper()
		text := "---\nname: ship-it\ndescription: How things are shipped here\n---\n" + body
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	store := trust.Open(filepath.Join(t.TempDir(), "trust.json"), time.Now)
	show := func() (SkillText, error) {
		t.Helper()
		l, err := New(Config{DB: db, Home: t.TempDir(), Repository: repo, Trust: store})
		if err != nil {
			t.Fatal(err)
		}
		return l.Show(t.Context(), "ship-it", 0)
	}
	write("Slowly.\n")
	if s, err := show(); err == nil {
		t.Errorf("it is used without trust: %+v", s)
	}
	items, err := trust.Skills(repo)
	if err != nil || len(items) != 1 {
		t.Fatalf("%+v, %v", items, err)
	}
	if err := store.Trust(t.Context(), repo, items...); err != nil {
		t.Fatal(err)
	}
	s, err := show()
	if err != nil || s.Status != StatusUsable || s.Source != ".plan/skills" || !strings.Contains(s.Body, "Slowly.") {
		t.Errorf("%+v, %v", s, err)
	}
	write("At once.\n")
	if s, err := show(); err == nil {
		t.Errorf("it is used although it has changed: %+v", s)
	}
}

// TestSkillsAreOfferedInTheirPhases: a phase in which none can be of use has no tool for
// them, unless the request names one.
func TestSkillsAreOfferedInTheirPhases(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	for name, in := range map[string]string{"ship-it": "implement", "find-it": "explore plan"} {
		file := filepath.Join(home, "skills", name, "SKILL.md")
		text := "---\nname: " + name + "\ndescription: How it is done\nmetadata:\n  phases: " + in + "\n---\nSlowly.\n"
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	db, err := memory.Open(t.Context(), memory.Config{Path: filepath.Join(t.TempDir(), "plan.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	store := trust.Open(filepath.Join(t.TempDir(), "trust.json"), time.Now)
	l, err := New(Config{DB: db, Home: home, Repository: t.TempDir(), Trust: store})
	if err != nil {
		t.Fatal(err)
	}
	for request, want := range map[string][]plan.Phase{
		"Ship it":                 {plan.Implement},
		"Find it, then ship it":   {plan.Explore, plan.Plan, plan.Implement},
		"Count the lines":         {},
		"@@skill=ship-it Count":   plan.Phases(),
		"@@skill=nothing Ship it": {plan.Implement},
	} {
		if got := l.OffersSkills(t.Context(), request); !slices.Equal(got, want) {
			t.Errorf("%q: %v, want %v", request, got, want)
		}
	}
}
