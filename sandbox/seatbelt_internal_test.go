package sandbox

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// grounds makes folders and says where they are.
func grounds(t *testing.T, names ...string) string {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if err := os.MkdirAll(filepath.Join(root, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

const seatbeltHead = `(version 1)
(allow default)
(deny signal process-info* mach-priv-task-port)
(allow signal process-info* mach-priv-task-port
  (target same-sandbox))
(deny appleevent-send lsopen job-creation)
(deny mach-lookup
  (global-name "com.apple.SecurityServer")
  (global-name "com.apple.securityd.xpc")
  (global-name-prefix "com.apple.coreservices.")
  (global-name "com.apple.pasteboard.1"))
(deny file-write*)
(allow file-write*
  (literal "/dev/null")
  (literal "/dev/zero")
  (literal "/dev/tty")
  (literal "/dev/dtracehelper"))
`

func TestSeatbeltOfAReview(t *testing.T) {
	t.Parallel()
	root := grounds(t, "tree/.git", "copy", "scratch/tmp0", `odd "name"\\`, "cache", "home/.ssh")
	in := func(name string) string { return filepath.Join(root, name) }
	got := seatbeltProfile(Policy{
		Tree: in("tree"), Discard: true, Copy: in("copy"), ExtraDirs: []string{in("tree/.git")},
		Hidden: []string{in("home/.ssh"), in(`odd "name"\\`), in("not there")}, Caches: []Cache{{Dir: in("cache"), Var: "C"}},
	}, in("scratch"), nil)
	want := seatbeltHead + `(deny file-read* file-write*
  (subpath "ROOT/home/.ssh")
  (subpath "ROOT/odd \"name\"\\\\"))
(allow file-read*
  (subpath "ROOT/scratch/tmp0")
  (subpath "ROOT/copy")
  (subpath "ROOT/tree")
  (subpath "ROOT/cache"))
(allow file-write*
  (subpath "ROOT/scratch/tmp0")
  (subpath "ROOT/copy"))
(deny network*)
`
	if diff := cmp.Diff(want, strings.ReplaceAll(got, root, "ROOT")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestSeatbeltOfAnImplementation(t *testing.T) {
	t.Parallel()
	root := grounds(t, "real/.git/hooks", "scratch/tmp0", "cache", "home", "below/c", "upper/c")
	if err := os.Symlink("real", filepath.Join(root, "tree")); err != nil {
		t.Fatal(err)
	}
	in := func(name string) string { return filepath.Join(root, name) }
	got := seatbeltProfile(Policy{
		Tree: in("tree"), Fixed: []string{in("tree/.git/hooks")}, Hidden: []string{in("home")},
		Caches: []Cache{Cache{Name: "c", Dir: in("cache")}.Over([]string{in("below")}, in("upper"))}, Network: true,
	}, in("scratch"), nil)
	want := seatbeltHead + `(deny file-read* file-write*
  (subpath "ROOT/home"))
(allow file-read*
  (subpath "ROOT/scratch/tmp0")
  (subpath "ROOT/real")
  (subpath "ROOT/upper/c")
  (subpath "ROOT/below/c")
  (subpath "ROOT/cache"))
(allow file-write*
  (subpath "ROOT/scratch/tmp0")
  (subpath "ROOT/real")
  (subpath "ROOT/upper/c"))
(deny file-write*
  (subpath "ROOT/real/.git/hooks"))
(deny file-write-unlink
  (literal "ROOT/real/.git")
  (literal "ROOT/real"))
(deny network-outbound
  (remote unix-socket))
(allow network-outbound
  (remote unix-socket (path-literal "/private/var/run/mDNSResponder")))
`
	if diff := cmp.Diff(want, strings.ReplaceAll(got, root, "ROOT")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
