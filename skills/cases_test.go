package skills_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/skills"
)

// rows reads a table of cases.
func rows[T any](t *testing.T, file string) []T {
	t.Helper()
	f, err := os.Open("testdata/" + file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out []T
	for in := bufio.NewScanner(f); in.Scan(); {
		var row T
		if err := json.Unmarshal(in.Bytes(), &row); err != nil {
			t.Fatalf("%s: %v", in.Bytes(), err)
		}
		out = append(out, row)
	}
	return out
}

func TestSignatureCases(t *testing.T) {
	t.Parallel()
	type row struct {
		Name     string
		Input    struct{ Text string }
		Expected struct{ Signature string }
	}
	all := rows[row](t, "wayland_signature.jsonl")
	if len(all) < 20 {
		t.Fatalf("%d rows", len(all))
	}
	for _, r := range all {
		if got := skills.Signature(r.Input.Text); got != r.Expected.Signature {
			t.Errorf("%s: Signature(%q) = %q, want %q", r.Name, r.Input.Text, got, r.Expected.Signature)
		}
		name := skills.FolderName(r.Expected.Signature)
		if name != "" && !skills.ValidName(name) {
			t.Errorf("%s: FolderName = %q, which is no valid name", r.Name, name)
		}
	}
}

func TestFolderNamesDiffer(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 300)
	seen := map[string]string{}
	for _, sig := range []string{"parser-tidy", "parser-tidy-火", "parser-tidy-水", "火", "水", long + "-b", long + "-c", "café", "caf"} {
		name := skills.FolderName(sig)
		if other, ok := seen[name]; ok {
			t.Errorf("%q and %q share the folder %q", sig, other, name)
		}
		seen[name] = sig
	}
	if got := skills.FolderName("parser-tidy"); got != "parser-tidy" {
		t.Errorf("a name that needs no change became %q", got)
	}
}

type tally struct{ Success, Failure float64 }

type routerRow struct {
	Name  string
	Input struct {
		Op         string
		Task       string
		Candidates []string
		Stats      map[string]tally
		Trials     int
		Score      *float64
		Pick       string
		Outcomes   []string
		Catalog    []struct {
			Name      string
			Invocable bool `json:"model_invocable"`
		}
	}
	Expected struct {
		Error     string
		Pick      string
		PickIn    []string `json:"pick_in"`
		Min, Max  map[string]int
		Successes json.RawMessage
		Hint      bool
		Contains  string
	}
}

// differ lists operations of the table that we do on purpose without.
var differ = map[string]string{
	"seed_from_rank": "the order of discovery says nothing about quality; only measured scores seed",
	"restore":        "records live in the database, so nothing is restored into memory",
	"outcome_of":     "the outcome comes from the review, not from how the model stopped",
	"snapshot":       "records live in the database",
	"seed":           "seeding is part of the prior, not a write",
}

func TestRouterCases(t *testing.T) {
	t.Parallel()
	for _, r := range rows[routerRow](t, "wayland_router.jsonl") {
		t.Run(r.Name, func(t *testing.T) {
			t.Parallel()
			src := rand.NewPCG(1, 2)
			switch r.Input.Op {
			case "choose":
				chooseRow(t, r, src)
			case "frequency":
				frequencyRow(t, r, src)
			case "seed_from_score":
				var want int
				if err := json.Unmarshal(r.Expected.Successes, &want); err != nil {
					t.Fatal(err)
				}
				if got := skills.SeedSuccesses(r.Input.Score); got != want {
					t.Errorf("got %d, want %d", got, want)
				}
			case "hint":
				hintRow(t, r)
			case "record":
				recordRow(t, r)
			default:
				if differ[r.Input.Op] == "" {
					t.Fatalf("operation %q is neither tested nor listed as one that we do without", r.Input.Op)
				}
			}
		})
	}
}

func arms(r routerRow) []skills.Arm {
	var out []skills.Arm
	for _, n := range r.Input.Candidates {
		s := r.Input.Stats[n]
		out = append(out, skills.Arm{Name: n, Posterior: skills.Posterior{Alpha: s.Success + 1, Beta: s.Failure + 1}})
	}
	return out
}

func chooseRow(t *testing.T, r routerRow, src rand.Source) {
	pick := skills.Override(r.Input.Task)
	if !slices.Contains(r.Input.Candidates, pick) {
		list := arms(r)
		i, _, err := skills.Sample(list, src)
		if r.Expected.Error != "" {
			if !errors.Is(err, skills.ErrNoCandidates) {
				t.Errorf("got %v", err)
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		pick = list[i].Name
	}
	if r.Expected.Pick != "" && pick != r.Expected.Pick || len(r.Expected.PickIn) > 0 && !slices.Contains(r.Expected.PickIn, pick) {
		t.Errorf("picked %q", pick)
	}
}

func frequencyRow(t *testing.T, r routerRow, src rand.Source) {
	list, count := arms(r), map[string]int{}
	for range r.Input.Trials {
		i, _, err := skills.Sample(list, src)
		if err != nil {
			t.Fatal(err)
		}
		count[list[i].Name]++
	}
	for name, least := range r.Expected.Min {
		if count[name] < least {
			t.Errorf("%s was picked %d times, want at least %d", name, count[name], least)
		}
	}
	for name, most := range r.Expected.Max {
		if count[name] > most {
			t.Errorf("%s was picked %d times, want at most %d", name, count[name], most)
		}
	}
}

func hintRow(t *testing.T, r routerRow) {
	c := &skills.Catalog{}
	for _, s := range r.Input.Catalog {
		c.Skills = append(c.Skills, skills.Skill{Name: s.Name, Description: "Does something", Hidden: !s.Invocable})
	}
	hint := skills.Hint(plan.SkillPick{Skill: r.Input.Pick, Why: plan.PickSampled}, c)
	if (hint != "") != r.Expected.Hint || !strings.Contains(hint, r.Expected.Contains) || strings.Contains(hint, "\n") {
		t.Errorf("hint %q", hint)
	}
}

func recordRow(t *testing.T, r routerRow) {
	for _, o := range r.Input.Outcomes {
		if o != "neutral" {
			continue
		}
		if _, neutral := skills.Reward(skills.Result{Outcome: plan.Cancelled}); !neutral {
			t.Error("a cancelled run is not neutral")
		}
	}
}
