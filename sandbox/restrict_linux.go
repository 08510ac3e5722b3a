package sandbox

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// lastCap is more than the highest capability there is.
const lastCap = 64

// rootKeeps are the capabilities that commands of root keep where every user
// is mapped: with them, files of others are as open to them as root expects.
// None of them reaches past a namespace or a mount.
func rootKeeps() []int {
	return []int{
		unix.CAP_CHOWN, unix.CAP_DAC_OVERRIDE, unix.CAP_FOWNER, unix.CAP_FSETID,
		unix.CAP_KILL, unix.CAP_SETGID, unix.CAP_SETUID,
	}
}

// restrict takes from the calling thread, and from what it starts, whatever the
// wall does not grant. It cannot be undone.
func restrict(s setup) error {
	limits := map[int]unix.Rlimit{
		unix.RLIMIT_CORE: {},
	}
	if s.Processes > 0 {
		limits[unix.RLIMIT_NPROC] = unix.Rlimit{Cur: s.Processes, Max: s.Processes}
	}
	for resource, limit := range limits {
		var old unix.Rlimit
		if err := unix.Prlimit(0, resource, nil, &old); err != nil {
			return fmt.Errorf("read a limit: %w", err)
		}
		limit.Cur, limit.Max = min(limit.Cur, old.Max), min(limit.Max, old.Max)
		if err := unix.Prlimit(0, resource, &limit, nil); err != nil {
			return fmt.Errorf("set a limit: %w", err)
		}
	}
	if err := dropCaps(s.RootKeeps); err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("set no_new_privs: %w", err)
	}
	if err := landlock(s.Read, s.Write); err != nil {
		return err
	}
	return seccomp(socketFamilies(s.Internet))
}

// dropCaps gives up all capabilities but a few.
func dropCaps(keepSome bool) error {
	var keep [2]uint32
	if keepSome {
		for _, c := range rootKeeps() {
			keep[c/32] |= 1 << (c % 32)
		}
	}
	for c := range lastCap {
		if keep[c/32]&(1<<(c%32)) == 0 {
			// Without CAP_SETPCAP the set cannot shrink; no_new_privs then
			// keeps it from mattering.
			_ = unix.Prctl(unix.PR_CAPBSET_DROP, uintptr(c), 0, 0, 0)
		}
	}
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return fmt.Errorf("drop ambient capabilities: %w", err)
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	for i := range data {
		data[i].Effective, data[i].Permitted = keep[i], keep[i]
	}
	if err := unix.Capset(&header, &data[0]); err != nil {
		return fmt.Errorf("drop capabilities: %w", err)
	}
	return nil
}
