package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// controllers are what bounds the groups of walls.
func controllers() []string { return []string{"memory", "pids"} }

// howToDelegate is what people can do about a group that is not theirs.
const howToDelegate = "start it with: systemd-run --user --scope -p Delegate=yes plan …"

// delegated returns the folder of the control group that groups for walls can
// be made in, and prepares it: what runs there moves into a group beside them.
// The error says why there is none. It may be called at any time and by many.
func delegated() (string, error) {
	base, root, err := ownGroup()
	if err != nil {
		return "", err
	}
	if !holdsWords(filepath.Join(base, "cgroup.controllers"), controllers()) {
		return "", fmt.Errorf("the control group %s does not offer memory and pids%s", base, versionOneHint())
	}
	enable := filepath.Join(base, "cgroup.subtree_control")
	for range 10 { // what is started meanwhile has to move too
		if holdsWords(enable, controllers()) {
			return base, nil
		}
		if !root {
			if err := moveProcesses(base); err != nil {
				return "", err
			}
		}
		err = os.WriteFile(enable, []byte("+"+strings.Join(controllers(), " +")), 0)
		if err != nil && !errors.Is(err, unix.EBUSY) {
			break
		}
	}
	if err != nil {
		return "", notDelegated(base, err)
	}
	return base, nil
}

// moveProcesses moves the processes of a group into one beside those of the walls.
// Those of others move only where the group was handed over as a whole.
func moveProcesses(base string) error {
	strangers := 0
	pids, err := processesOf(base)
	if err != nil {
		return fmt.Errorf("look into the control group %s: %w", base, unwrapPath(err))
	}
	parents := parentsOf()
	for _, pid := range pids {
		if pid != os.Getpid() && !descends(parents, pid, os.Getpid()) {
			strangers++
		}
	}
	if strangers > 0 && !isDelegated(base) {
		return fmt.Errorf("the control group %s is not plan's alone (%d other processes are in it); %s",
			base, strangers, howToDelegate)
	}
	leaf := filepath.Join(base, outsideGroup)
	if err := os.Mkdir(leaf, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return notDelegated(base, err)
	}
	for _, pid := range pids {
		err := os.WriteFile(filepath.Join(leaf, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0)
		if err != nil && !errors.Is(err, unix.ESRCH) {
			return notDelegated(base, err)
		}
	}
	return nil
}

// notDelegated is the error of a group that the kernel does not let plan change.
func notDelegated(group string, err error) error {
	return fmt.Errorf("the control group %s is not delegated to plan (%w); %s", group, unwrapPath(err), howToDelegate)
}

// processesOf lists the processes of a group; one that is not visible from here
// is 0.
func processesOf(dir string) ([]int, error) {
	data, err := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
	if err != nil {
		return nil, err //nolint:wrapcheck // evacuate says what it was for
	}
	var out []int
	for line := range strings.Lines(string(data)) {
		if pid, err := strconv.Atoi(strings.TrimSpace(line)); err == nil {
			out = append(out, pid)
		}
	}
	return out, nil
}

// isDelegated reports whether systemd has marked a group as delegated.
func isDelegated(dir string) bool {
	for _, name := range []string{"user.delegate", "trusted.delegate"} {
		mark := make([]byte, 8)
		if n, err := unix.Getxattr(dir, name, mark); err == nil && string(mark[:n]) == "1" {
			return true
		}
	}
	return false
}

// ownGroup is the folder of the control group (version 2) that groups of walls
// belong into: that of this process, or the one above where it has moved out
// already. The root of the machine's hierarchy is told apart: it may hold
// processes and bound groups at once.
func ownGroup() (dir string, root bool, err error) {
	data, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return "", false, fmt.Errorf("there are no control groups: %w", err)
	}
	own := ""
	for line := range strings.Lines(string(data)) {
		if path, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "0::"); ok {
			own = path
		}
	}
	at, top, ok := groupMount()
	rel, relErr := filepath.Rel(top, own)
	if own == "" || !ok || relErr != nil || !filepath.IsLocal(rel) {
		return "", false, errors.New("control groups of version 2 are not mounted")
	}
	dir = filepath.Join(at, rel)
	if filepath.Base(dir) == outsideGroup {
		dir = filepath.Dir(dir)
	}
	_, err = os.Stat(filepath.Join(dir, "cgroup.type"))
	return dir, errors.Is(err, fs.ErrNotExist), nil
}

// groupMount is where control groups of version 2 are mounted, and which group
// is the top there.
func groupMount() (at, top string, ok bool) {
	data, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return "", "", false
	}
	for line := range strings.Lines(string(data)) {
		before, after, _ := strings.Cut(line, " - ")
		fields := strings.Fields(before)
		if strings.HasPrefix(after, "cgroup2 ") && len(fields) > 4 {
			return unescapeMount(fields[4]), unescapeMount(fields[3]), true
		}
	}
	return "", "", false
}

// versionOneHint says that version 1 has taken the controllers, if it has.
func versionOneHint() string {
	data, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(data)) {
		fields := strings.SplitN(line, ":", 3)
		if len(fields) < 3 {
			continue
		}
		for _, name := range strings.Split(fields[1], ",") {
			if slices.Contains(controllers(), name) {
				return ": they are mounted as version 1 here, which cannot be delegated"
			}
		}
	}
	return ""
}
