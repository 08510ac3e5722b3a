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
		Key        string
		Outcomes   []string
		Existing   map[string]json.RawMessage
		Pairs      [][2]json.RawMessage
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

		Success, Failure float64
		Alpha, Beta      float64
		Stats            map[string]float64
		Seeded           json.RawMessage // a number for restore, true or false for a score
	}
}

// differ lists operations of the table that we do on purpose without.
var differ = map[string]string{
	"seed_from_rank": "the order of discovery says nothing about quality; only measured scores seed",
	"outcome_of":     "the outcome comes from the review, not from how the model stopped",
	"snapshot":       "records live in the database",
	"seed":           "seeding is part of the prior, not a write; rows of restore and seed_from_score drive it",
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
			case "restore":
				restoreRow(t, r)
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
	var known []skills.Skill
	for _, n := range r.Input.Candidates {
		known = append(known, skills.Skill{Name: n, Description: "Does something"})
	}
	router, _, _ := newRouter(1)
	choice := router.Choose(t.Context(), skills.NewIndex(known), plan.Implement, r.Input.Task)
	pick := choice.Skill
	if choice.Why != plan.PickOverride {
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
	slices.SortFunc(c.Skills, func(a, b skills.Skill) int { return strings.Compare(a.Name, b.Name) })
	hint := skills.Hint(plan.SkillPick{Skill: r.Input.Pick, Why: plan.PickSampled}, c)
	if (hint != "") != r.Expected.Hint || !strings.Contains(hint, r.Expected.Contains) || strings.Contains(hint, "\n") {
		t.Errorf("hint %q", hint)
	}
}

// recordRow lets runs end as the row says, one after the other at one time.
func recordRow(t *testing.T, r routerRow) {
	router, shelf, now := newRouter(1)
	had, skill := r.Input.Stats[r.Input.Key], skills.Skill{Name: r.Input.Key, Digest: "d"}
	key := string(plan.Implement) + "/" + r.Input.Key
	if had != (tally{}) {
		shelf.records[key] = plan.SkillRecord{Skill: skill.Name, Version: "d", Alpha: 1 + had.Success, Beta: 1 + had.Failure, Prior: 1, Updated: *now}
	}
	ends := map[string]skills.Result{
		"success": {Outcome: plan.Approved, Reviews: 1}, "failure": {Outcome: plan.Exhausted}, "neutral": {Outcome: plan.Cancelled},
	}
	for i, o := range r.Input.Outcomes {
		end, ok := ends[o]
		if !ok {
			t.Fatalf("what is the outcome %q?", o)
		}
		out, err := router.Credit(t.Context(), plan.RunID(rune('a'+i)), plan.Implement, skill, true, end)
		if err != nil || out.Neutral != (o == "neutral") {
			t.Fatalf("%s: %+v, %v", o, out, err)
		}
	}
	got := skills.PosteriorOf(shelf.records[key], skill, *now)
	want := r.Expected
	if want.Alpha == 0 {
		want.Alpha, want.Beta = 1+want.Success, 1+want.Failure
	}
	if got.Alpha != want.Alpha || got.Beta != want.Beta || want.Alpha != 1+want.Success || want.Beta != 1+want.Failure {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// restoreRow: what a measured score is worth is part of a skill's prior while
// there is no record of it, so nothing has to be written back at a start.
func restoreRow(t *testing.T, r routerRow) {
	seeded := 0
	for _, p := range r.Input.Pairs {
		var name string
		var successes float64
		if json.Unmarshal(p[0], &name) != nil || json.Unmarshal(p[1], &successes) != nil {
			t.Fatalf("cannot read the pair %s", p)
		}
		if _, ok := r.Input.Existing[name]; ok {
			continue // theirs leaves an arm that is there as it is; ours has no arms in memory
		}
		score := successes / 5
		got := skills.PosteriorOf(plan.SkillRecord{}, skills.Skill{Name: name, Score: &score}, start)
		if got.Beta != 1 || got.Alpha != 1+r.Expected.Stats[name] {
			t.Errorf("%s: %+v, want %v successes", name, got, r.Expected.Stats[name])
		}
		if got.Alpha > 1 {
			seeded++
		}
	}
	var want struct{ Seeded int }
	if r.Expected.Seeded != nil {
		if err := json.Unmarshal([]byte(`{"Seeded":`+string(r.Expected.Seeded)+`}`), &want); err != nil || seeded != want.Seeded && len(r.Input.Existing) == 0 {
			t.Errorf("%d are seeded, want %s", seeded, r.Expected.Seeded)
		}
	}
}
