package tools_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestFileToolsStayInside gives every file tool every kind of path that leads
// out. Each path is first shown to lead out for a program that just opens it.
func TestFileToolsStayInside(t *testing.T) {
	t.Parallel()
	const canary = "CANARY"
	attempts, blocked := 0, 0
	for kind, lead := range map[string]func(outside string) string{
		"dots":               func(string) string { return "../outside/secret.txt" },
		"dots behind a name": func(string) string { return "dir/../../outside/secret.txt" },
		"absolute":           func(outside string) string { return outside + "/secret.txt" },
		"link to a file":     func(string) string { return "link.txt" },
		"link to a folder":   func(string) string { return "away/secret.txt" },
		"links in a row":     func(string) string { return "dir/first/secret.txt" },
		"absolute link":      func(string) string { return "far/secret.txt" },
		"/proc/self/root":    func(outside string) string { return "/proc/self/root" + outside + "/secret.txt" },
		"link to /proc":      func(outside string) string { return "proc/self/root" + outside + "/secret.txt" },
	} {
		for tool, ask := range map[string]func(path string) args{
			"read":     func(p string) args { return args{"path": p} },
			"grep":     func(p string) args { return args{"pattern": canary[:3], "path": p} },
			"glob":     func(p string) args { return args{"pattern": "*", "path": filepath.Dir(p)} },
			"list_dir": func(p string) args { return args{"path": filepath.Dir(p)} },
			"symbols":  func(p string) args { return args{"path": p} },
			"write":    func(p string) args { return args{"path": p, "content": "evil\n"} },
			"edit":     func(p string) args { return args{"path": p, "old_string": canary, "new_string": "evil"} },
			"apply_patch": func(p string) args {
				return args{"patch": "--- a/" + p + "\n+++ b/" + p + "\n@@ -1 +1 @@\n-" + canary + "\n+evil\n"}
			},
		} {
			d := newFixture(t, map[string]string{"dir/file.txt": "x\n"})
			outside := filepath.Join(filepath.Dir(d.dir), "outside")
			must(t, os.Mkdir(outside, 0o755))
			secret := filepath.Join(outside, "secret.txt")
			must(t, os.WriteFile(secret, []byte(canary+"\n"), 0o600))
			d.symlink("../outside/secret.txt", "link.txt")
			d.symlink("../outside", "away")
			d.symlink("../away", "dir/first")
			d.symlink(outside, "far")
			d.symlink("/proc", "proc")
			path := lead(outside)
			at := path
			if !filepath.IsAbs(at) {
				at = filepath.Join(d.dir, filepath.FromSlash(path))
				if kind == "dots behind a name" {
					at = d.dir + "/" + path // as the kernel walks it
				}
			}
			if data, err := os.ReadFile(at); err != nil || string(data) != canary+"\n" {
				t.Fatalf("%s does not lead out: %v", kind, err)
			}
			attempts++
			res := d.call(tool, ask(path))
			data, err := os.ReadFile(secret)
			left, _ := fs.Glob(os.DirFS(outside), "*")
			if err != nil || string(data) != canary+"\n" || len(left) != 1 || strings.Contains(res.Output, canary) || strings.Contains("\n"+res.Output, "\nsecret.txt") {
				t.Errorf("%s got out with %s: %q (%v, %q)", tool, kind, res.Output, left, data)
				continue
			}
			blocked++
		}
	}
	t.Logf("attempts %d, blocked %d", attempts, blocked)
}
