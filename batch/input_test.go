package batch_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/batch"
	"github.com/plan-engine/plan/config"
)

func TestReadTakesDefaultsVarsAndOverrides(t *testing.T) {
	t.Parallel()
	list, err := batch.Read(strings.NewReader(`
defaults:
  repo: ../shared
  request: "Move {{ name }} to {{version}}, not {{{x}} or {{"
  vars: {version: 1}
  checks: go test ./...
  model: a
  limits: {max_turns: 5, timeout: 10m}
jobs:
  - id: one
    vars: {name: "{{version}}", x: y}
  - id: two
    repo: https://example.com/x.git
    vars: {name: two, version: 2, x: ""}
    model: b
    phases: {review: c, plan: {model: d, effort: high}}
    priority: 3
`), batch.Source{Name: "jobs.yaml", Dir: "/home/me/lists"})
	if err != nil {
		t.Fatal(err)
	}
	jobs := list.Merge(config.Config{Model: "flag", MaxTokens: 9})
	one, two := jobs[0], jobs[1]
	if one.Request != "Move {{version}} to 1, not {{{x}} or {{" && one.Request != "Move {{version}} to 1, not {y or {{" {
		t.Errorf("request %q: a value must not be looked at again", one.Request)
	}
	if one.Repo != "/home/me/shared" || two.Repo != "https://example.com/x.git" || two.Priority != 3 {
		t.Errorf("repos %q and %q, priority %d", one.Repo, two.Repo, two.Priority)
	}
	if one.Settings.Model != "flag" || two.Settings.Model != "b" || one.Settings.MaxTurns != 5 || one.Settings.MaxTokens != 9 {
		t.Errorf("settings %+v and %+v: the job counts more than the flag, the flag more than the defaults", one.Settings, two.Settings)
	}
	if one.Settings.Timeout.Duration != 10*time.Minute || !slices.Equal(one.Settings.Checks.Required, []string{"go test ./..."}) {
		t.Errorf("settings %+v", one.Settings)
	}
	if two.Settings.Phase[plan.Review].Model != "c" || two.Settings.Phase[plan.Plan].Effort != "high" {
		t.Errorf("phases %+v", two.Settings.Phase)
	}
}

func TestReadTellsEverythingThatIsWrong(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, list string
		want       []string
	}{
		{"nothing", "", []string{"line 1: there is no job"}},
		{"no list", "jobs: 3", []string{"line 1: jobs is a list"}},
		{"syntax", "jobs:\n  - id: [", []string{"line"}},
		{"twice", "jobs:\n- id: a\n  id: b", []string{`line 3: a job: "id" stands there twice, first on line 2`}},
		{"bare job", "jobs:\n- id: a", []string{"line 2: the job has no request", "line 2: the job has no repo"}},
		{"bad ids", "jobs:\n- {id: a..b, repo: r, request: x}\n- {id: -a, repo: r, request: x}\n- {id: a.lock, repo: r, request: x}\n- {repo: r, request: x}", []string{
			`line 2: id "a..b"`, `line 3: id "-a"`, `line 4: id "a.lock"`, "line 5: the job has no id",
		}},
		{"dashes", "jobs:\n- {id: a, repo: --upload-pack=x, request: x, ref: --help}", []string{"line 2: repo", "line 2: ref"}},
		{"password", "jobs:\n- {id: a, repo: 'https://me:pw@example.com/x', request: x}", []string{"line 2: repo: the URL holds a password"}},
		{"needs", "jobs:\n- {id: a, repo: r, request: x, needs: [open ai]}", []string{
			`line 2: needs: "open ai" is not the name of a provider`,
		}},
		{"types", "jobs:\n- {id: a, repo: r, request: x, priority: high, limits: {max_turns: -1, max_cots: 2}}", []string{
			"line 2: priority: cannot unmarshal", `line 2: limits has no key "max_cots"; did you mean "max_cost"?`, "line 2: limits: a limit cannot be negative",
		}},
		{"phases", "jobs:\n- {id: a, repo: r, request: x, phases: {reveiw: m}}", []string{`line 2: phases has no key "reveiw"; did you mean "review"?`}},
		{"lines", "{\"id\":\"a\",\"repo\":\"r\",\"request\":\"x\"}\n\n{\"id\":1,\"reqest\":\"x\"}\nnonsense\n", []string{
			`line 3: a job has no key "reqest"; did you mean "request"?`, "line 4: it is not a JSON object",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := batch.Read(strings.NewReader(c.list), batch.Source{Name: "jobs", Dir: "/d"})
			var invalid *batch.InvalidError
			if !errors.As(err, &invalid) {
				t.Fatalf("error %v", err)
			}
			for _, want := range c.want {
				if !slices.ContainsFunc(invalid.Problems, func(got string) bool { return strings.HasPrefix(got, want) }) {
					t.Errorf("%q is not among\n  %s", want, strings.Join(invalid.Problems, "\n  "))
				}
			}
		})
	}
}

func TestForReposNamesJobsByTheirRepositories(t *testing.T) {
	t.Parallel()
	list, err := batch.ForRepos(strings.NewReader("# mine\n../auth\n\n/x/auth/\ngit@example.com:team/bill ing.git\n"), batch.Source{Name: "f", Dir: "/w"}, "Fix {{repo}}")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, j := range list.Jobs {
		got = append(got, j.ID+" "+j.Repo+" "+j.Request)
	}
	want := []string{
		"auth /auth Fix ../auth", "auth-2 /x/auth Fix /x/auth/",
		"bill-ing git@example.com:team/bill ing.git Fix git@example.com:team/bill ing.git",
	}
	if !slices.Equal(got, want) {
		t.Errorf("jobs %q, want %q", got, want)
	}
}

func TestDigestIsAboutWhatIsToBeDone(t *testing.T) {
	t.Parallel()
	digest := func(text string) string {
		list, err := batch.Read(strings.NewReader(text), batch.Source{Name: "f", Dir: "/w"})
		if err != nil {
			t.Fatal(err)
		}
		d, err := batch.Digest(list.Merge(config.Config{}))
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	a := digest("jobs:\n- {id: a, repo: r, request: x}")
	if b := digest("defaults: {repo: r}\njobs:\n\n- request: x\n  id: a"); a != b {
		t.Error("the same job, written otherwise, has another digest")
	}
	if b := digest("jobs:\n- {id: a, repo: r, request: y}"); a == b {
		t.Error("another request has the same digest")
	}
}
