package sandbox_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// canary is what must not be read.
const canary = "CANARY-2f9d"

// secretFiles are where keys are kept in the arena's home.
var secretFiles = []string{
	".ssh/id_ed25519", ".aws/credentials", ".config/gcloud/access_tokens.db", ".config/gh/hosts.yml", ".netrc",
	".gnupg/private-keys-v1.d/key", ".docker/config.json", ".kube/config", ".local/share/keyrings/login.keyring",
	".git-credentials", ".bash_history", ".some-tool/auth.json", ".config/another/credentials.json",
}

// cacheFiles are what build tools of the arena's user have kept, each of which some
// tool would run or build from.
var cacheFiles = []string{
	".cache/go-build/ab/abcd-d", "go/pkg/mod/golang.org/toolchain@v0.0.1-go1.26.0.linux-amd64/bin/go", ".npm/_npx/1a/run",
	".cache/pip/wheel", ".cargo/registry/src/crate", ".cargo/git/db/crate", ".m2/repository/a/a.jar", ".gradle/caches/jars-9/a.jar",
}

// privateFiles are what people keep in a home beside that, which no list of keys knows.
var privateFiles = []string{
	".bashrc", ".env", ".profile.local", "src/other/.env", "src/.env", ".config/foo/settings.ini", ".local/share/foo/db", "notes.txt",
	".cache/foo/page", ".foo/config.yml", ".gradle/daemon/log", ".m2/settings-security.xml",
}

// settingFiles hold what tools need, and keys beside it.
var settingFiles = map[string]string{
	".gitconfig":                "[user]\n\tname = a\n[credential]\n\thelper = " + canary + "\n[url \"https://u:" + canary + "@h/\"]\n\tinsteadOf = h:\n",
	".npmrc":                    "fund=false\n//r/:_authToken=" + canary + "\n",
	".cargo/config.toml":        "[build]\njobs = 1\n[registry]\ntoken = \"" + canary + "\"\n",
	".config/pip/pip.conf":      "[global]\nindex-url = https://u:" + canary + "@h/\n",
	".gradle/gradle.properties": "org.gradle.daemon=false\nrepoKey=" + canary + "\n",
}

var serial atomic.Int64

// arena is a home with a repository in it, and a world around it that
// listens.
type arena struct {
	t                            *testing.T
	id                           string
	base, home, tree, other, own string
	victim                       *exec.Cmd
	leaked                       *os.File
	ears                         map[string]*atomic.Int64
	addr                         map[string]string
	closers                      []func()
	before                       map[string]string
}

// newTemplate makes a home with repositories and keys in it.
func newTemplate(t *testing.T) string {
	t.Helper()
	base, err := os.MkdirTemp("", "template-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(base) })
	a := &arena{t: t, base: base, home: filepath.Join(base, "home")}
	files := map[string]string{"home/bin/plan": "", "home/.nvm/bin/node": "", "home/.cargo/bin/x": "", "home/.local/share/plan/plan.db": canary, "home/.local/share/plan/config.toml": canary}
	for _, name := range secretFiles {
		files["home/"+name] = canary
	}
	for _, name := range cacheFiles {
		files["home/"+name] = "cached\n"
	}
	for _, name := range privateFiles {
		files["home/"+name] = canary
	}
	for name, text := range settingFiles {
		files["home/"+name] = text
	}
	for _, repo := range []string{"repo", "other"} {
		files["home/src/"+repo+"/file"], files["home/src/"+repo+"/dir/other"] = "before\n", "other\n"
	}
	for name, text := range files {
		a.write(name, text)
	}
	for _, name := range []string{"repo", "other"} {
		repo := filepath.Join(a.home, "src", name)
		a.must("git", "-C", repo, "init", "-q", "-b", "main", "--template=")
		a.must("mkdir", filepath.Join(repo, ".git/hooks"), filepath.Join(repo, ".git/info"))
		a.must("git", "-C", repo, "add", "-A")
		a.must("git", "-C", repo, "-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-q", "-m", "start")
	}
	a.write("home/src/repo/untracked", "x")
	a.write("home/src/repo/new", "x")
	return base
}

// newArena makes an arena like a template and notes how it looks.
func newArena(t *testing.T, template string) *arena {
	t.Helper()
	a := &arena{t: t, id: fmt.Sprintf("%d%03d", os.Getpid(), serial.Add(1)), ears: map[string]*atomic.Int64{}, addr: map[string]string{}}
	var err error
	if a.base, err = os.MkdirTemp("", "arena-"); err != nil {
		t.Fatal(err)
	}
	a.home = filepath.Join(a.base, "home")
	a.tree, a.other, a.own = filepath.Join(a.home, "src/repo"), filepath.Join(a.home, "src/other"), filepath.Join(a.home, ".local/share/plan")
	a.must("cp", "-a", filepath.Join(template, "home"), a.home)
	a.listen()
	a.startVictim()
	if a.leaked, err = os.OpenFile(filepath.Join(a.tree, "file"), os.O_RDWR|os.O_APPEND, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := unix.FcntlInt(a.leaked.Fd(), unix.F_SETFD, 0); err != nil { // inherited by a child whose parent does not close it
		t.Fatal(err)
	}
	if os.Getuid() == 0 {
		alias := filepath.Join(a.base, "alias")
		a.must("mkdir", alias)
		a.must("mount", "--bind", a.tree, alias)
		a.closers = append(a.closers, func() { a.must("umount", alias) })
	}
	a.before = a.look()
	return a
}

func (a *arena) write(name, text string) {
	a.t.Helper()
	path := filepath.Join(a.base, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
		a.t.Fatal(err)
	}
}

func (a *arena) must(args ...string) {
	a.t.Helper()
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = append(os.Environ(), "HOME="+a.home, "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		a.t.Fatalf("%v: %v\n%s", args, err, out)
	}
}

// listen opens the ears of the world.
func (a *arena) listen() {
	a.t.Helper()
	for _, l := range [][3]string{
		{"tcp", "tcp", "127.0.0.1:0"},
		{"tcp6", "tcp", "[::1]:0"},
		{"sock", "unix", filepath.Join(a.home, "sock")},
		{"tsock", "unix", "/tmp/escape-sock-" + a.id},
		{"abstract", "unix", "@escape-" + a.id},
	} {
		listener, err := net.Listen(l[1], l[2])
		if err != nil {
			a.t.Logf("nothing listens on %s: %v", l[2], err)
			continue
		}
		heard := &atomic.Int64{}
		a.ears[l[0]], a.addr[l[0]] = heard, listener.Addr().String()
		a.closers = append(a.closers, a.serve(listener, heard))
	}
	udp, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		a.t.Fatal(err)
	}
	heard := &atomic.Int64{}
	a.ears["udp"], a.addr["udp"] = heard, udp.LocalAddr().String()
	var done sync.WaitGroup
	done.Go(func() {
		for {
			if _, _, err := udp.ReadFrom(make([]byte, 512)); err != nil {
				return
			}
			heard.Add(1)
		}
	})
	a.closers = append(a.closers, func() { _ = udp.Close(); done.Wait() })
}

func (a *arena) serve(l net.Listener, heard *atomic.Int64) func() {
	var done sync.WaitGroup
	done.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			heard.Add(1)
			_ = conn.Close()
		}
	})
	return func() { _ = l.Close(); done.Wait() }
}

// startVictim starts a process of the user's that has a key in its environment
// and a file of the tree open.
func (a *arena) startVictim() {
	a.t.Helper()
	a.victim = exec.Command("bash", "-c", "exec 9>>file; echo up; exec sleep 600")
	a.victim.Dir = a.tree
	a.victim.Env = append(os.Environ(), "KEY="+canary)
	out, err := a.victim.StdoutPipe()
	if err == nil {
		err = a.victim.Start()
	}
	if err == nil {
		_, err = out.Read(make([]byte, 3))
	}
	if err != nil {
		a.t.Fatal(err)
	}
}

// environ is what a shell of the arena's user would have, keys included.
func (a *arena) environ(helper string) []string {
	env := []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + a.home, "LANG=C", "TMPDIR=/tmp", "GORACE=atexit_sleep_ms=0", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com",
		"GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com", "GIT_CONFIG_NOSYSTEM=1",
		"TREE=" + a.tree, "ALIAS=" + filepath.Join(a.base, "alias"), "OTHER=" + a.other, "PHOME=" + a.own, "VICTIM=" + strconv.Itoa(a.victim.Process.Pid), "ID=" + a.id,
		"TCP=" + a.addr["tcp"], "TCP6=" + a.addr["tcp6"], "UDP=" + a.addr["udp"], "SOCK=" + a.addr["sock"], "TSOCK=" + a.addr["tsock"],
		"ABSTRACT=escape-" + a.id, "FD=" + strconv.Itoa(int(a.leaked.Fd())), "ESC=" + helper + " " + escapeVerb,
		"OPENAI_API_KEY=" + canary, "AWS_SECRET_ACCESS_KEY=" + canary, "GITHUB_TOKEN=" + canary,
		"SENTRY_DSN=https://" + canary + "0123456789@h/1", "MY_DB=postgres://u:" + canary + "@h/db", "APP_PASSWORD=" + canary, "NVM_DIR=" + a.home + "/.nvm",
		"FOO_HOME=" + a.home, "SRC_ROOT=" + filepath.Dir(a.tree),
	}
	return env
}

// look tells how everything in the home looks from outside. A change of any
// kind moves the time of the last change, which no program can set.
func (a *arena) look() map[string]string {
	out := map[string]string{}
	_ = filepath.WalkDir(a.home, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil
		}
		var st unix.Stat_t
		if unix.Lstat(path, &st) == nil {
			out[path] = fmt.Sprint(st.Ino, st.Mode, st.Uid, st.Size, st.Nlink, st.Ctim)
		}
		return nil
	})
	return out
}

// changes lists what looks different from before, but not what lies in skip,
// .git excepted.
func (a *arena) changes(skip string) []string {
	now := a.look()
	var out []string
	note := func(path string) {
		if skip == "" || !strings.HasPrefix(path+"/", skip+"/") || strings.HasPrefix(path+"/", skip+"/.git/") {
			out = append(out, path)
		}
	}
	for path, was := range a.before {
		if now[path] != was {
			note(path)
		}
	}
	for path := range now {
		if _, ok := a.before[path]; !ok {
			note(path)
		}
	}
	return out
}

// within waits a moment for something to be so.
func within(patience time.Duration, so func() bool) bool {
	deadline := time.After(patience)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !so() {
		select {
		case <-deadline:
			return so()
		case <-tick.C:
		}
	}
	return true
}

func (a *arena) changesSoon(string) bool {
	return within(time.Second, func() bool { return len(a.changes("")) > 0 })
}

func (a *arena) heard(what string) bool {
	ear := a.ears[what]
	return ear != nil && within(300*time.Millisecond, func() bool { return ear.Load() > 0 })
}

// appeared looks for a file of the attempt's and removes it.
func (a *arena) appeared(prefix string) bool {
	return os.Remove(prefix+a.id) == nil
}

func (a *arena) victimDied(string) bool {
	return within(300*time.Millisecond, func() bool {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", a.victim.Process.Pid))
		return err != nil || bytes.Contains(stat, []byte(") Z "))
	})
}

// survived reports whether a process that the attempt started still lives, and
// ends it.
func (a *arena) survived(string) bool {
	return within(300*time.Millisecond, a.endSurvivor)
}

func (a *arena) endSurvivor() bool {
	marked, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	lives := false
	for _, path := range marked {
		line, err := os.ReadFile(path)
		if err == nil && string(line) == "sleep\x009"+a.id+"\x00" {
			lives = true
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	return lives
}

func (a *arena) sharesMemory(string) bool {
	key, _ := strconv.Atoi(a.id)
	id, _, errno := unix.Syscall(unix.SYS_SHMGET, uintptr(key), 0, 0)
	if errno == 0 {
		_, _, _ = unix.Syscall(unix.SYS_SHMCTL, id, unix.IPC_RMID, 0)
	}
	return errno == 0
}

// bare runs a line without any wall.
func (a *arena) bare(line, helper string) string {
	ctx, cancel := context.WithTimeout(a.t.Context(), 10*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-c", line)
	cmd.Dir, cmd.Env, cmd.WaitDelay = a.tree, a.environ(helper), 100*time.Millisecond
	out, _ := cmd.CombinedOutput() // whether it worked is seen elsewhere
	return string(out)
}

func (a *arena) close() {
	for _, c := range a.closers {
		c()
	}
	_ = a.leaked.Close()
	_ = a.victim.Process.Kill()
	_ = a.victim.Wait()
	_ = os.RemoveAll(a.base)
}
