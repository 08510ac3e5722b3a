package learning

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

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
