package sandbox

import (
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// seccomp refuses, to the calling thread and what it starts, the system calls
// that lead out of a wall or into the kernel's less travelled parts. What is
// refused fails with EPERM, so that programs say what they wanted. The thread
// must have no_new_privs. Sockets are refused but those of the families named.
func seccomp(families []uint32) error {
	arch, err := seccompArch()
	if err != nil {
		return err
	}
	program := seccompFilter(arch, families)
	prog := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0,
		uintptr(unsafe.Pointer(&prog))) //nolint:gosec // there is no other way to make the call
	runtime.KeepAlive(program)
	if errno != 0 {
		return fmt.Errorf("seccomp: %w", errno)
	}
	return nil
}

// seccompArch is what filters know this machine as.
func seccompArch() (uint32, error) {
	arch, ok := map[string]uint32{"amd64": unix.AUDIT_ARCH_X86_64, "arm64": unix.AUDIT_ARCH_AARCH64}[runtime.GOARCH]
	if !ok {
		return 0, fmt.Errorf("seccomp: there is no filter for %s", runtime.GOARCH)
	}
	return arch, nil
}

// refusedCalls are the system calls that nothing behind a wall may make.
func refusedCalls() []uint32 {
	return []uint32{
		// other processes
		unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_KCMP,
		unix.SYS_PIDFD_GETFD, unix.SYS_PROCESS_MADVISE,
		// the view of the file system
		unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_CHROOT, unix.SYS_MOVE_MOUNT,
		unix.SYS_OPEN_TREE, unix.SYS_OPEN_TREE_ATTR, unix.SYS_FSOPEN, unix.SYS_FSCONFIG, unix.SYS_FSMOUNT,
		unix.SYS_FSPICK, unix.SYS_MOUNT_SETATTR, unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_FANOTIFY_INIT,
		unix.SYS_QUOTACTL, unix.SYS_SWAPON, unix.SYS_SWAPOFF, unix.SYS_ACCT,
		// other namespaces; unshare and clone are looked at more closely
		unix.SYS_SETNS,
		// keys
		unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY,
		// the kernel
		unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD,
		unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER,
		unix.SYS_KEXEC_LOAD, unix.SYS_KEXEC_FILE_LOAD,
		unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE, unix.SYS_REBOOT, unix.SYS_SYSLOG,
		unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME, unix.SYS_ADJTIMEX, unix.SYS_CLOCK_ADJTIME,
		unix.SYS_SETHOSTNAME, unix.SYS_SETDOMAINNAME, unix.SYS_VHANGUP,
	}
}

// newNamespaces are the flags of clone and unshare that make namespaces.
const newNamespaces = unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET |
	unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWTIME

// socketFamilies are the kinds of sockets that may be made: others reach past a
// network namespace, or to parts of the kernel that builds have no use for.
func socketFamilies(internet bool) []uint32 {
	if internet {
		return []uint32{unix.AF_UNIX, unix.AF_INET, unix.AF_INET6, unix.AF_NETLINK}
	}
	return []uint32{unix.AF_UNIX}
}

// Offsets in what the kernel shows a filter of a system call.
const (
	atNumber = 0
	atArch   = 4
	atArg0   = 16
	atArg1   = 24
)

// seccompFilter is the BPF program that looks at each system call.
func seccompFilter(arch uint32, families []uint32) []unix.SockFilter {
	deny := uint32(unix.SECCOMP_RET_ERRNO | unix.EPERM)
	a := &assembler{}
	a.load(atArch)
	a.jump(unix.BPF_JEQ, arch, 1, 0)
	a.ret(unix.SECCOMP_RET_KILL_PROCESS)
	a.load(atNumber)
	if arch == unix.AUDIT_ARCH_X86_64 {
		a.jump(unix.BPF_JGE, 0x40000000, 0, 1) // the x32 calls, by other numbers
		a.ret(unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS))
	}
	for _, nr := range refusedCalls() {
		a.jump(unix.BPF_JEQ, nr, 0, 1)
		a.ret(deny)
	}
	// clone3 hides its flags behind a pointer; without it, libraries use clone.
	a.jump(unix.BPF_JEQ, unix.SYS_CLONE3, 0, 1)
	a.ret(unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS))
	for _, nr := range []uint32{unix.SYS_CLONE, unix.SYS_UNSHARE} {
		a.forCall(nr, atArg0, func() {
			a.jump(unix.BPF_JSET, newNamespaces, 0, 1)
			a.ret(deny)
		})
	}
	a.forCall(unix.SYS_SOCKET, atArg0, func() {
		for _, family := range families {
			a.jump(unix.BPF_JEQ, family, 0, 1)
			a.ret(unix.SECCOMP_RET_ALLOW)
		}
		a.ret(deny)
	})
	a.forCall(unix.SYS_IOCTL, atArg1, func() { // typing into the user's terminal
		a.jump(unix.BPF_JEQ, unix.TIOCSTI, 0, 1)
		a.ret(deny)
		a.jump(unix.BPF_JEQ, unix.TIOCLINUX, 0, 1)
		a.ret(deny)
	})
	a.forCall(unix.SYS_PERSONALITY, atArg0, func() { // asking is fine, and switching off randomisation
		for _, ok := range []uint32{0, 0x0040000, 0xffffffff} {
			a.jump(unix.BPF_JEQ, ok, 0, 1)
			a.ret(unix.SECCOMP_RET_ALLOW)
		}
		a.ret(deny)
	})
	a.ret(unix.SECCOMP_RET_ALLOW)
	return a.code
}

// assembler writes BPF.
type assembler struct{ code []unix.SockFilter }

func (a *assembler) load(offset uint32) {
	a.code = append(a.code, unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offset})
}

// jump skips yes instructions if the comparison with k holds, else no.
func (a *assembler) jump(op uint16, k uint32, yes, no uint8) {
	a.code = append(a.code, unix.SockFilter{
		Code: unix.BPF_JMP | op | unix.BPF_K,
		K:    k,
		Jt:   yes,
		Jf:   no,
	})
}

func (a *assembler) ret(k uint32) {
	a.code = append(a.code, unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: k})
}

// forCall writes what holds for one system call only, with one of its
// arguments loaded. Behind it the call's number is loaded again.
func (a *assembler) forCall(nr, arg uint32, body func()) {
	at := len(a.code)
	a.jump(unix.BPF_JEQ, nr, 0, 0)
	a.load(arg)
	body()
	a.code[at].Jf = uint8(len(a.code) - at - 1)
	a.load(atNumber)
}
