package sandbox_test

import (
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan/sandbox"
)

// Credentials do not get in under any name, in either environment.
func TestCleanEnvByValue(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	environ := []string{
		"URL=postgres://u:p4ssw0rd@h/db", "GOPROXY=https://u:p4ssw0rd@proxy,direct", "HTTPS_PROXY=http://u:p4ssw0rd@p:1", "DATABASE_URL=x",
		"SENTRY_DSN=x", "DB_PASSWORD=x", "TEST_DATABASE_URL=x", "CONN=Server=h;Password=p4ssw0rd;", "MYSQL=root:p4ssw0rd@tcp(h:1)/db",
		"A=ghp_0123456789abcdef0123", "B=Bearer p4ssw0rd", `C={"token": "p4ssw0rd"}`, "D=u:p4ssw0rd@h", "E=https://p4ssw0rd0123456789@o1.sentry.io/1",
		"MAVEN_OPTS=-Drepo.password=p4ssw0rd", "NPM_CONFIG_REGISTRY=https://r/", "REPO=git@github.com:a/b", "OPTS=--max-old-space-size=1",
		"HERE=" + dir, "F=ssh://git@h",
	}
	clean := sandbox.CleanEnv(environ)
	want := "URL=postgres://h/db GOPROXY=https://proxy,direct HTTPS_PROXY=http://p:1 E=https://o1.sentry.io/1 NPM_CONFIG_REGISTRY=https://r/ " +
		"REPO=git@github.com:a/b OPTS=--max-old-space-size=1 HERE=" + dir + " F=ssh://git@h"
	if got := strings.Join(clean[:len(clean)-5], " "); got != want {
		t.Errorf("(-want +got):\n%s", cmp.Diff(want, got))
	}
	if diff := cmp.Diff(clean, sandbox.CleanEnv(clean)); diff != "" {
		t.Errorf("cleaning twice differs (-once +twice):\n%s", diff)
	}
}

// The minimal environment has what build tools go by and what looks like nothing else
// than a switch, a version or a path.
func TestMinimalEnv(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	kept := []string{
		"PATH=/bin", "HOME=/root", "LC_TIME=C", "GOFLAGS=-mod=mod", "CC=clang -O2", "JAVA_HOME=" + dir, "ANY=" + dir + ":/", "NODE_ENV=test",
		"CI=true", "RUN_SLOW=1", "PORT=5432", "GO_VERSION=1.22.1", "RAILS_ENV=test", "PIP_INDEX_URL=https://i/", "EMPTY=", "APP_NAME=x y",
		"GIT_AUTHOR_NAME=a b", "RUBY_VERSION=truffle",
	}
	withheld := []string{
		"MINE=some text", "COOKIE_JAR=" + strings.Repeat("a", 30), "GONE=/not/there", "PIN_NUMBER=1234567", "BUNDLE_GEMS__EXAMPLE__COM=u:p",
		"FOO_ENV=a1b2c3d4", "GOOGLE_SECRET=x", "ORG_GRADLE_PROJECT_pass=x", "REPO=git@github.com:a/b",
	}
	environ := append(append([]string{}, kept...), withheld...)
	got := sandbox.MinimalEnv(environ, []string{"APP_*"})
	if diff := cmp.Diff(kept, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if names := sandbox.WithheldEnv(environ, got); len(names) != len(withheld) {
		t.Errorf("withheld: %v", names)
	}
	set := sandbox.NamedEnv([]string{"DATABASE_URL=a", "APP_X=b", "PLAN_HOME=c", "openai_api_key=d", "BASH_ENV=e"},
		[]string{"DATABASE_URL", "APP_*", "PLAN_HOME", "openai_api_key", "BASH_ENV"})
	if diff := cmp.Diff([]string{"DATABASE_URL=a"}, set); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// What tells tools where libraries and their own folders are gets in as it stands; what
// tells them of a service of the machine does not, by whatever name.
func TestMinimalEnvOfLibrariesAndServices(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	services := filepath.Join(dir, "s")
	if err := os.Mkdir(services, 0o700); err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(services, "x")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	if err := os.Symlink(services, filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	kept := []string{
		"LD_LIBRARY_PATH=/opt/x/lib:", "LIBRARY_PATH=:/gone", "CPATH=/gone:/opt", "PKG_CONFIG_PATH=lib/pkgconfig:/gone",
		"CPLUS_INCLUDE_PATH=.:/x", "XDG_CACHE_HOME=/gone/cache", "XDG_CONFIG_HOME=/gone", "XDG_DATA_DIRS=/usr/share:/gone", "ANY=" + dir,
	}
	withheld := []string{
		"DOCKER_HOST=unix:///var/run/docker.sock", "DOCKER_HOST=tcp://10.0.0.1:2375", "DOCKER_HOST=ssh://me@host", "DOCKER_HOST=" + socket,
		"DOCKER_CONTEXT=remote-builder", "CONTAINER_HOST=unix:///run/podman.sock", "DBUS_SESSION_BUS_ADDRESS=unix:path=" + socket,
		"XDG_RUNTIME_DIR=" + services, "ANY_SOCK=" + socket, "TOOLS=/usr:" + services, "LINK=" + filepath.Join(dir, "link"), "RUN=/run", "DEV=/dev/null",
		"WAYLAND_DISPLAY=wayland-0", "DISPLAY=:0",
	}
	for _, entry := range append(slices.Clone(kept), withheld...) {
		got := sandbox.MinimalEnv([]string{entry}, nil)
		if want := slices.Contains(kept, entry); (len(got) == 1) != want {
			t.Errorf("%s gets in: %v", entry, !want)
		}
	}
	if got := sandbox.MinimalEnv([]string{"DOCKER_HOST=" + socket}, []string{"DOCKER_HOST"}); len(got) != 1 {
		t.Error("what the user allows does not get in")
	}
}
