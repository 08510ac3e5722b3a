package skills_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/skills"
)

func put(t testing.TB, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func skillText(name, description string) string {
	return "---\nname: " + name + "\ndescription: " + description + "\n---\n# How\n\nDo it.\n"
}

func TestParse(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 1025)
	for _, c := range []struct{ name, text, folder, want string }{
		{"good", skillText("a-b", "Does it"), "a-b", ""},
		{"crlf and byte order mark", "\ufeff" + strings.ReplaceAll(skillText("a", "Does it"), "\n", "\r\n"), "a", ""},
		{"no body", "---\nname: a\ndescription: d\n---", "a", ""},
		{"unknown keys", "---\nname: a\ndescription: d\nlicense: MIT\nallowed-tools: bash\n---\n", "a", ""},
		{"no frontmatter", "# How", "a", "does not begin with a frontmatter"},
		{"empty", "", "a", "does not begin"},
		{"open frontmatter", "---\nname: a\n", "a", "does not end"},
		{"empty frontmatter", "---\n---\nbody", "a", "no name"},
		{"no yaml", "---\nname: [a\n---\n", "a", "cannot be read"},
		{"no name", "---\ndescription: d\n---\n", "a", "no name"},
		{"no description", "---\nname: a\n---\n", "a", "no description"},
		{"long description", skillText("a", long), "a", "1025 characters"},
		{"other folder", skillText("a", "d"), "b", "must be the same"},
		{"capitals", skillText("Ab", "d"), "Ab", "not allowed"},
		{"two hyphens", skillText("a--b", "d"), "a--b", "not allowed"},
		{"hyphen first", skillText("-a", "d"), "-a", "not allowed"},
		{"long name", skillText(strings.Repeat("a", 65), "d"), strings.Repeat("a", 65), "not allowed"},
		{"path in name", skillText("../a", "d"), "../a", "not allowed"},
		{"no such phase", "---\nname: a\ndescription: d\nmetadata: {phases: deploy}\n---\n", "a", "no phase"},
		{"not UTF-8", "---\nname: a\ndescription: \xff\n---\n", "a", "not UTF-8"},
		{"too large", skillText("a", "d") + strings.Repeat("x", 256<<10), "a", "bytes"},
	} {
		s, _, err := skills.Parse([]byte(c.text), c.folder)
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", c.name, err)
		case c.want == "" && (s.Name != c.folder || s.Description == ""):
			t.Errorf("%s: %+v", c.name, s)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: got %v, want %q", c.name, err, c.want)
		}
	}
}

func TestPhases(t *testing.T) {
	t.Parallel()
	s, body, err := skills.Parse([]byte("---\nname: a\ndescription: d\nmetadata:\n  phases: review, Explore\ndisable-model-invocation: true\n---\n\nbody\n"), "a")
	if err != nil || !s.For(plan.Review) || !s.For(plan.Explore) || s.For(plan.Plan) || !s.Hidden || body != "body" {
		t.Errorf("%+v %q %v", s, body, err)
	}
}

func TestFind(t *testing.T) {
	t.Parallel()
	near, far := t.TempDir(), t.TempDir()
	put(t, near+"/tidy/SKILL.md", skillText("tidy", "near"))
	put(t, far+"/tidy/SKILL.md", skillText("tidy", "far"))
	put(t, far+"/other/SKILL.md", skillText("other", "d"))
	put(t, far+"/broken/SKILL.md", "nothing")
	put(t, far+"/nothing/README.md", "no skill")
	put(t, far+"/.hidden/SKILL.md", skillText("hidden", "d"))
	put(t, far+"/secret/SKILL.md", skillText("secret", "d"))
	put(t, far+"/linked/SKILL.md", skillText("linked", "d"))
	if err := os.Symlink("/etc/passwd", far+"/linked/more.md"); err != nil {
		t.Fatal(err)
	}
	allow := func(_ context.Context, s skills.Skill) (string, bool, error) {
		return "not trusted", s.Name != "secret", nil
	}
	c, err := skills.Find(t.Context(),
		skills.Folder{Label: "near", Dir: near}, skills.Folder{Label: "far", Dir: far, Allow: allow},
		skills.Folder{Label: "missing", Dir: far + "/nowhere"})
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Skills) != 2 || c.Skills[0].Name != "other" || c.Skills[1].Source != "near" || c.Skills[1].Digest == "" {
		t.Errorf("found %+v", c.Skills)
	}
	if len(c.Shadowed) != 1 || c.Shadowed[0].By != "near" || c.Shadowed[0].Source != "far" {
		t.Errorf("shadowed %+v", c.Shadowed)
	}
	if len(c.Withheld) != 1 || c.Withheld[0].Name != "secret" || c.Withheld[0].Why != "not trusted" {
		t.Errorf("withheld %+v", c.Withheld)
	}
	if len(c.Problems) != 2 || !strings.Contains(c.Problems[0].Error(), "broken/SKILL.md") || !strings.Contains(c.Problems[1].Error(), "link") {
		t.Errorf("problems %v", c.Problems)
	}
}

func TestAPlaceThatCannotBeAskedIsAnError(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put(t, dir+"/tidy/SKILL.md", skillText("tidy", "d"))
	boom := errors.New("no database")
	_, err := skills.Find(t.Context(), skills.Folder{Label: "x", Dir: dir, Allow: func(context.Context, skills.Skill) (string, bool, error) { return "", false, boom }})
	if !errors.Is(err, boom) {
		t.Errorf("got %v", err)
	}
}

func TestLoadRefusesWhatChanged(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put(t, dir+"/tidy/SKILL.md", skillText("tidy", "d"))
	put(t, dir+"/tidy/ref/more.md", "more")
	put(t, dir+"/tidy/manifest.json", "{}")
	c, err := skills.Find(t.Context(), skills.Folder{Label: "x", Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	s, _ := c.Get("tidy")
	body, files, err := skills.Load(s)
	if err != nil || body != "# How\n\nDo it." || len(files) != 1 || files[0] != "ref/more.md" {
		t.Fatalf("%q %q %v", body, files, err)
	}
	put(t, dir+"/tidy/manifest.json", `{"score": 1}`)
	if _, _, err := skills.Load(s); err != nil {
		t.Errorf("a score changed the skill: %v", err)
	}
	put(t, dir+"/tidy/ref/more.md", "obey me")
	if _, _, err := skills.Load(s); err == nil || !strings.Contains(err.Error(), "changed") {
		t.Errorf("changed bytes were loaded: %v", err)
	}
}
