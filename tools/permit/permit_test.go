package permit_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/tools/permit"
)

// at is a place with a tree of its own.
func at(t testing.TB) permit.Place {
	t.Helper()
	root := filepath.Join(t.TempDir(), "tree")
	if err := os.MkdirAll(filepath.Join(root, "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	return permit.Place{Root: root, Home: "/home/somebody", Temp: os.TempDir()}
}

func policy(t testing.TB, place permit.Place, layers ...permit.Layer) *permit.Policy {
	t.Helper()
	p, err := permit.New(place, layers...)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func bash(line string) permit.Call { return permit.Call{Tool: "bash", Command: line} }

func TestDefaults(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/commands.txt")
	if err != nil {
		t.Fatal(err)
	}
	p, n := policy(t, at(t)), 0
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(line, "#") {
			continue
		}
		want, command, ok := strings.Cut(line, "\t")
		if !ok {
			t.Fatalf("no tab in %q", line)
		}
		n++
		command = strings.ReplaceAll(command, `\n`, "\n")
		if got := p.Judge(bash(command)); string(got.Action) != want {
			t.Errorf("%s: %s (%s), want %s", command, got.Action, got.Reason, want)
		}
	}
	if n < 60 {
		t.Errorf("only %d commands", n)
	}
}

func TestLayers(t *testing.T) {
	t.Parallel()
	place := at(t)
	if err := os.Symlink("secrets", filepath.Join(place.Root, "innocent")); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(place.Root, "secrets"), 0o700); err != nil {
		t.Fatal(err)
	}
	user := func(rules ...permit.Rule) permit.Layer { return permit.Layer{Name: "config.toml", Rules: rules} }
	repo := func(rules ...permit.Rule) permit.Layer {
		return permit.Layer{Name: ".plan/config.toml", Rules: rules, Tightens: true}
	}
	command := func(a permit.Action, pattern string) permit.Rule {
		return permit.Rule{Tool: "bash", Command: pattern, Action: a}
	}
	path := func(a permit.Action, pattern string) permit.Rule { return permit.Rule{Path: pattern, Action: a} }
	file := func(tool string, paths ...string) permit.Call { return permit.Call{Tool: tool, Paths: paths} }
	for _, c := range []struct {
		name   string
		layers []permit.Layer
		call   permit.Call
		want   permit.Action
	}{
		{"a user lifts a default", []permit.Layer{user(command(permit.Allow, "git push *"))}, bash("git push origin"), permit.Allow},
		{"without words after it, too", []permit.Layer{user(command(permit.Allow, "git push *"))}, bash("git push"), permit.Allow},
		{"the last that fits counts", []permit.Layer{user(command(permit.Deny, "git push"), command(permit.Allow, "git push origin *"))}, bash("git push origin x"), permit.Allow},
		{"and the other way round", []permit.Layer{user(command(permit.Allow, "git push *"), command(permit.Deny, "git push"))}, bash("git push origin x"), permit.Deny},
		{"an allow fits the whole", []permit.Layer{user(command(permit.Allow, "git push"))}, bash("git push --force"), permit.Ask},
		{"a deny fits the beginning", []permit.Layer{user(command(permit.Deny, "go test"))}, bash("go test ./..."), permit.Deny},
		{"of a word not", []permit.Layer{user(command(permit.Deny, "go test"))}, bash("go tests"), permit.Allow},
		{"a deny by the bare name", []permit.Layer{user(command(permit.Deny, "curl"))}, bash("/usr/bin/curl x"), permit.Deny},
		{"an allow not by the bare name", []permit.Layer{user(command(permit.Deny, "*"), command(permit.Allow, "go *"))}, bash("./go test"), permit.Deny},
		{"git's own options hide nothing", []permit.Layer{user(command(permit.Deny, "git commit"))}, bash("git -C sub --no-pager commit -m x"), permit.Deny},
		{"one denied command of several", []permit.Layer{user(command(permit.Deny, "curl"))}, bash("make && (cd sub; curl x | jq .)"), permit.Deny},
		{"an allowed command allows no other", []permit.Layer{user(command(permit.Allow, "git push *"))}, bash("git push && rm -rf x"), permit.Ask},
		{"nor one inside it", []permit.Layer{user(command(permit.Allow, "git push *"))}, bash("git push $(rm -rf x)"), permit.Ask},
		{"nor where it writes", []permit.Layer{user(command(permit.Allow, "git push *"))}, bash("git push > /etc/x"), permit.Ask},
		{"nor behind sudo", []permit.Layer{user(command(permit.Allow, "git push *"))}, bash("sudo git push"), permit.Ask},
		{"everything may be allowed", []permit.Layer{user(permit.Rule{Tool: "bash", Action: permit.Allow})}, bash("eval $X; rm -rf / > /etc/x"), permit.Allow},
		{"or denied", []permit.Layer{user(permit.Rule{Tool: "*", Action: permit.Deny})}, file("read", "a"), permit.Deny},
		{"a repository tightens", []permit.Layer{user(), repo(command(permit.Deny, "make"))}, bash("make x"), permit.Deny},
		{"a repository does not loosen", []permit.Layer{user(), repo(command(permit.Allow, "*"))}, bash("git push"), permit.Ask},
		{"its exceptions hold inside it", []permit.Layer{user(), repo(command(permit.Deny, "make"), command(permit.Allow, "make test *"))}, bash("make test"), permit.Allow},
		{"a user does not lift a repository's deny", []permit.Layer{user(command(permit.Allow, "make *")), repo(command(permit.Deny, "make"))}, bash("make x"), permit.Deny},
		{"a later layer over an earlier one", []permit.Layer{{Name: "trusted", Rules: []permit.Rule{command(permit.Allow, "git push *")}}, user(command(permit.Ask, "git push"))}, bash("git push"), permit.Ask},
		{"a path", []permit.Layer{user(path(permit.Deny, "secrets/**"))}, file("read", "secrets/a"), permit.Deny},
		{"a path with dots", []permit.Layer{user(path(permit.Deny, "secrets/**"))}, file("read", "sub/../secrets/a"), permit.Deny},
		{"an absolute path into the tree", []permit.Layer{user(path(permit.Deny, "secrets/**"))}, file("write", filepath.Join(place.Root, "secrets/a")), permit.Deny},
		{"a path through a link", []permit.Layer{user(path(permit.Deny, "secrets/**"))}, file("read", "innocent/a"), permit.Deny},
		{"a name in any folder", []permit.Layer{user(path(permit.Ask, "*.sql"))}, file("write", "a/b/c.sql"), permit.Ask},
		{"one of several paths", []permit.Layer{user(path(permit.Deny, "*.sql"))}, file("apply_patch", "a.go", "b.sql"), permit.Deny},
		{"an allow of one path of several", []permit.Layer{user(permit.Rule{Tool: "apply_patch", Action: permit.Ask}, path(permit.Allow, "*.go"))}, file("apply_patch", "a.go", "b.sql"), permit.Ask},
		{"a path that a command names", []permit.Layer{user(path(permit.Deny, "secrets/**"))}, bash("cat ./secrets/a"), permit.Deny},
		{"from another folder", []permit.Layer{user(path(permit.Deny, "secrets/**"))}, bash("cd secrets && head a"), permit.Deny},
		{"a path that output goes to", []permit.Layer{user(path(permit.Deny, "secrets/**"))}, bash("ls >secrets/a"), permit.Deny},
		{"an allowed path outside", []permit.Layer{user(path(permit.Allow, "/var/log/**"))}, bash("ls > /var/log/x"), permit.Allow},
		{"an allowed path allows no command", []permit.Layer{user(path(permit.Allow, "/var/log/**"))}, bash("git push /var/log/x"), permit.Ask},
		{"home", []permit.Layer{user(path(permit.Deny, "~/.ssh/**"))}, bash("cat ~/.ssh/id"), permit.Deny},
		{"a rule for another tool", []permit.Layer{user(permit.Rule{Tool: "write", Path: "**", Action: permit.Deny})}, file("read", "a"), permit.Allow},
		{"tool and command together", []permit.Layer{user(permit.Rule{Tool: "other", Command: "*", Action: permit.Deny})}, bash("ls"), permit.Allow},
		{"the copy of the tree is the tree", []permit.Layer{user(path(permit.Deny, "secrets/**"))}, permit.Call{Tool: "read", Paths: []string{"secrets/a"}, Dir: "/copy"}, permit.Deny},
		{"outside the copy is outside", nil, permit.Call{Tool: "bash", Command: "touch " + filepath.Join(place.Root, "x"), Dir: "/copy"}, permit.Ask},
	} {
		if got := policy(t, place, c.layers...).Judge(c.call); got.Action != c.want {
			t.Errorf("%s: %s (%s: %s), want %s", c.name, got.Action, got.Rule, got.Reason, c.want)
		}
	}
}

func TestGrants(t *testing.T) {
	t.Parallel()
	p := policy(t, at(t), permit.Layer{Name: "config.toml", Rules: []permit.Rule{
		{Path: "*.sql", Action: permit.Ask}, {Tool: "bash", Command: "curl", Action: permit.Deny},
	}})
	for _, c := range []struct {
		asked permit.Call
		also  []permit.Call
		not   []permit.Call
	}{
		{
			bash("git push *; rm -rf 'a b'"),
			[]permit.Call{bash(" git push *; rm -rf 'a b'\n")},
			[]permit.Call{bash("git push x; rm -rf 'a b'"), bash("git push *"), bash("rm -rf 'a b'"), bash("git push *;\nrm -rf 'a b'")},
		},
		{bash(`eval "$X" \*`), nil, []permit.Call{bash(`eval "$X" *`), bash(`eval "$X"`)}},
		{
			permit.Call{Tool: "write", Paths: []string{"a[1].sql"}},
			[]permit.Call{{Tool: "write", Paths: []string{"./a[1].sql"}}},
			[]permit.Call{{Tool: "write", Paths: []string{"a1.sql"}}, {Tool: "edit", Paths: []string{"a[1].sql"}}, {Tool: "write", Paths: []string{"sub/a[1].sql"}}},
		},
	} {
		r := p.Judge(c.asked)
		if r.Action != permit.Ask || r.Grant == (plan.Grant{}) {
			t.Fatalf("%+v: %+v", c.asked, r)
		}
		p.Grant(r.Grant)
		for _, call := range append(c.also, c.asked) {
			if got := p.Judge(call); got.Action != permit.Allow {
				t.Errorf("after the yes to %+v, %+v is %s: %s", c.asked, call, got.Action, got.Reason)
			}
		}
		for _, call := range c.not {
			if got := p.Judge(call); got.Action == permit.Allow {
				t.Errorf("the yes to %+v allows %+v", c.asked, call)
			}
		}
		// Written down as a rule it means the same.
		again := policy(t, at(t), permit.Layer{Rules: []permit.Rule{{Tool: r.Grant.Tool, Path: r.Grant.Path, Command: r.Grant.Command, Action: permit.Allow}}})
		if got := again.Judge(c.asked); got.Action != permit.Allow {
			t.Errorf("as a rule it is %s: %s", got.Action, got.Reason)
		}
	}
	if denied := bash("curl x"); p.Judge(denied).Action == permit.Deny {
		p.Grant(plan.Grant{Tool: "bash", Command: "*"})
		if got := p.Judge(denied); got.Action != permit.Deny {
			t.Errorf("a grant lifts a deny: %+v", got)
		}
	} else {
		t.Error("curl is not denied")
	}
}

func TestScratchSpace(t *testing.T) {
	t.Parallel()
	beside := permit.Place{Root: "/srv/tree", Temp: "/tmp"}
	if got := policy(t, beside).Judge(bash("go test -o x > /tmp/out && mkdir /tmp/y")); got.Action != permit.Allow {
		t.Errorf("the temporary folder: %+v", got)
	}
	inside := at(t)
	if got := policy(t, inside).Judge(bash("touch " + filepath.Join(filepath.Dir(inside.Root), "x"))); got.Action != permit.Ask {
		t.Errorf("beside a tree in the temporary folder: %+v", got)
	}
}

func TestBadRules(t *testing.T) {
	t.Parallel()
	for _, r := range []permit.Rule{
		{}, {Tool: "bash"}, {Action: permit.Deny}, {Tool: "bash", Action: "maybe"}, {Path: "[", Action: permit.Deny}, {Tool: "{", Action: permit.Deny},
	} {
		if _, err := permit.New(permit.Place{Root: "/"}, permit.Layer{Rules: []permit.Rule{r}}); err == nil {
			t.Errorf("%+v is taken", r)
		}
	}
}

// FuzzCommands looks for lines that take the parser down, and for a command
// that hides from it: whatever stands before it, a command on a line of its own
// that bash would run is found.
func FuzzCommands(f *testing.F) {
	data, err := os.ReadFile("testdata/commands.txt")
	if err != nil {
		f.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		if _, command, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "\t"); ok {
			f.Add(strings.ReplaceAll(command, `\n`, "\n"), "git push *")
		}
	}
	f.Add("{a,b}{1..100000}{x,y,z}", `\*`)
	place := permit.Place{Root: "/srv/tree", Home: "/home/a", Temp: "/tmp"}
	plain := policy(f, place)
	f.Fuzz(func(t *testing.T, line, pattern string) {
		rule := permit.Rule{Tool: "bash", Command: pattern, Action: permit.Allow}
		with, err := permit.New(place, permit.Layer{Rules: []permit.Rule{rule}})
		if err != nil {
			return
		}
		ruling := plain.Judge(bash(line))
		with.Judge(bash(line))
		if ruling.Action == permit.Ask {
			with.Grant(ruling.Grant)
			if got := with.Judge(bash(line)); got.Action != permit.Allow && strings.TrimSpace(line) != "" {
				t.Errorf("the grant %+v for %q leaves it at %+v", ruling.Grant, line, got)
			}
		}
		if got := plain.Judge(bash(line + "\nrm -rf x")); got.Action == permit.Allow && plain.Judge(bash(line)).Action == permit.Allow && !swallows(line) {
			t.Errorf("%q hides a command after it", line)
		}
	})
}

// swallows reports whether a line may take the next one into it.
func swallows(line string) bool { return strings.ContainsAny(line, "<\\#") }

// TestATemporaryFolderOfTheWalls is scratch space also where the tree lies in the
// real one: what is beside the tree there is not behind the walls.
func TestATemporaryFolderOfTheWalls(t *testing.T) {
	t.Parallel()
	place := at(t)
	beside := bash("touch " + filepath.Join(os.TempDir(), "probe.sh"))
	if got := policy(t, place).Judge(beside); got.Action != permit.Ask {
		t.Errorf("beside the tree: %s, want it to be asked", got.Action)
	}
	place.OwnTemp = func() bool { return true }
	if got := policy(t, place).Judge(beside); got.Action != permit.Allow {
		t.Errorf("in a folder of the walls': %s (%s), want it to be allowed", got.Action, got.Reason)
	}
}
