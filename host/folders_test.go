package host_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plan-engine/plan/config/trust"
	"github.com/plan-engine/plan/host"
	"github.com/plan-engine/plan/internal/gittest"
)

// A folder that a manifest names outside of the repository is asked about once, and for
// each folder anew.
func TestFoldersThatManifestsNameAreAskedAbout(t *testing.T) {
	t.Parallel()
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	gittest.Write(t, home, map[string]string{
		"src/lib/x":       "",
		"src/more/x":      "",
		"src/repo/go.mod": "module x\nreplace lib => ../lib\n",
	})
	h := host.New(host.Config{Environ: []string{"HOME=" + home, "PLAN_HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH")}})
	decide := func(want string) {
		t.Helper()
		store, err := h.Trust(filepath.Join(home, "src/repo"))
		if err != nil {
			t.Fatal(err)
		}
		var asked []string
		_, _, err = store.Decide(t.Context(), func(it trust.Item) bool {
			asked = append(asked, it.Kind+" "+it.Path+": "+it.Detail)
			return true
		})
		if got := strings.ReplaceAll(strings.Join(asked, ", "), home, "~"); err != nil || got != want {
			t.Errorf("asked %q, want %q, %v", got, want, err)
		}
	}
	decide("folder go.mod#../lib: commands may read ~/src/lib")
	decide("")
	gittest.Write(t, home, map[string]string{"src/repo/go.mod": "replace lib => ../lib\nreplace more => ../more\n"})
	decide("folder go.mod#../more: commands may read ~/src/more")
}
