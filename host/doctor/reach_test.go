package doctor_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plan-engine/plan/host"
	"github.com/plan-engine/plan/host/doctor"
	"github.com/plan-engine/plan/host/walls/wallstest"
	"github.com/plan-engine/plan/internal/gittest"
)

// A program of the checks whose parts are hidden with the home is named, until the
// user's settings show them.
func TestProgramsThatAreNotReached(t *testing.T) {
	t.Parallel()
	dir := wallstest.Committed(t)
	home := t.TempDir()
	gittest.Write(t, home, map[string]string{
		"bin/mytool":    "#!/bin/sh\nexec \"$HOME/.foo/lib/real\" \"$@\"\n",
		"bin/other":     "#!/bin/sh\n",
		".foo/lib/real": "#!/bin/sh\n",
		"plan/config.toml": "sandbox = 'auto'\n[checks]\nrequired = ['mytool x', 'other | cat', 'gone-tool', '" +
			home + "/.foo/abs']\n",
		".foo/abs": "#!/bin/sh\n",
	})
	for _, name := range []string{"bin/mytool", "bin/other", ".foo/lib/real", ".foo/abs"} {
		if err := os.Chmod(filepath.Join(home, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	doc := doctor.New(t.Context(), host.New(host.Config{Environ: []string{
		"PLAN_HOME=" + filepath.Join(home, "plan"), "HOME=" + home, "PATH=" + filepath.Join(home, "bin") + ":" + os.Getenv("PATH"),
		"DB_PASSWORD=x", "MY_TEXT=some text",
	}}), dir)
	found := doc.All(t.Context(), doctor.Probe{})
	env := find(t, found, "environment")
	if !env.OK || !strings.HasPrefix(env.Detail, "minimal: commands do not get DB_PASSWORD, MY_TEXT") {
		t.Errorf("%+v", env)
	}
	reach := find(t, found, "programs")
	if find(t, found, "walls").Detail[:4] == "none" {
		return
	}
	if reach.OK || !strings.Contains(reach.Detail, "mytool") || !strings.Contains(reach.Detail, home+"/.foo/abs") || !strings.Contains(reach.Detail, `show = ["~/.foo/lib/real"]`) ||
		strings.Contains(reach.Detail, "other") || strings.Contains(reach.Detail, "gone-tool") {
		t.Errorf("%+v", reach)
	}
	f, err := os.OpenFile(filepath.Join(home, "plan/config.toml"), os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		_, err = f.WriteString("[walls]\nshow = ['~/.foo']\n")
	}
	if err != nil {
		t.Fatal(err)
	}
	_ = f.Close()
	if reach := find(t, doc.All(t.Context(), doctor.Probe{}), "programs"); !reach.OK {
		t.Errorf("%+v", reach)
	}
}

// Where no wall holds, the programs of a tree's checks are not tried: one that stands in for
// another, such as a toolchain's, runs what the tree names.
func TestNoProgramIsTriedWithoutWalls(t *testing.T) {
	t.Parallel()
	dir := wallstest.Committed(t)
	home := t.TempDir()
	gittest.Write(t, home, map[string]string{
		"bin/bash":         "#!/bin/sh\necho noise\nexec /bin/bash \"$@\"\n", // no wall stands its trial with it
		"bin/mytool":       "#!/bin/sh\ntouch " + home + "/tried\n",
		"plan/config.toml": "sandbox = 'auto'\n[checks]\nrequired = ['mytool x']\n",
	})
	for _, name := range []string{"bin/bash", "bin/mytool"} {
		if err := os.Chmod(filepath.Join(home, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	found := doctor.New(t.Context(), host.New(host.Config{Environ: []string{
		"PLAN_HOME=" + filepath.Join(home, "plan"), "HOME=" + home,
		"PATH=" + filepath.Join(home, "bin") + ":" + os.Getenv("PATH"),
	}}), dir).All(t.Context(), doctor.Probe{})
	if walls := find(t, found, "walls"); !strings.HasPrefix(walls.Detail, "none") {
		t.Fatalf("%+v", walls)
	}
	if f := find(t, found, "programs"); f.OK || !strings.Contains(f.Detail, "no wall") {
		t.Errorf("%+v", f)
	}
	if _, err := os.Stat(filepath.Join(home, "tried")); err == nil {
		t.Error("it was tried")
	}
}
