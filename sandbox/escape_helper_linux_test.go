package sandbox_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// escapeVerb makes the test binary one of the programs below, for what a shell
// cannot do.
const escapeVerb = "__escape"

// escaped is what a program prints when it got what it wanted and nothing else
// would show it.
const escaped = "ESCAPED"

// escape runs one of the programs and reports whether there was one.
func escape(args []string) bool {
	if len(args) < 3 || args[1] != escapeVerb {
		return false
	}
	do, ok := escapes[args[2]]
	if !ok {
		panic("no such program: " + args[2])
	}
	if err := do(append(args[3:], "", "")); err != nil {
		fmt.Println(args[2], "failed:", err)
		os.Exit(1)
	}
	fmt.Println(escaped)
	return true
}

// sys makes a system call.
func sys(nr uintptr, args ...uintptr) error {
	var a [6]uintptr
	copy(a[:], args)
	if _, _, errno := unix.Syscall6(nr, a[0], a[1], a[2], a[3], a[4], a[5]); errno != 0 {
		return errno
	}
	return nil
}

func pointer[T any](p *T) uintptr { return uintptr(unsafe.Pointer(p)) }

func number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		panic(err)
	}
	return n
}

// say sends a word over the network.
func say(network, address string) error {
	conn, err := (&net.Dialer{Timeout: 2 * time.Second}).DialContext(context.Background(), network, address)
	if err != nil {
		return err
	}
	defer conn.Close()
	_, err = conn.Write([]byte("out"))
	return err
}

var escapes = map[string]func(args []string) error{
	"terminal": echoes,
	"write":    func(a []string) error { return os.WriteFile(a[0], []byte("changed"), 0o600) },
	"mmap": func(a []string) error {
		f, err := os.OpenFile(a[0], os.O_RDWR, 0)
		if err != nil {
			return err
		}
		data, err := unix.Mmap(int(f.Fd()), 0, 4, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
		if err != nil {
			return err
		}
		data[0] = '!'
		return unix.Msync(data, unix.MS_SYNC)
	},
	"mknod":  func(a []string) error { return unix.Mknod(a[0], unix.S_IFIFO|0o600, 0) },
	"device": func(a []string) error { return unix.Mknod(a[0], unix.S_IFCHR|0o600, int(unix.Mkdev(1, 3))) },
	"xattr":  func(a []string) error { return unix.Setxattr(a[0], "user.escape", []byte("x"), 0) },
	"exchange": func(a []string) error {
		return unix.Renameat2(unix.AT_FDCWD, a[0], unix.AT_FDCWD, a[1], unix.RENAME_EXCHANGE)
	},
	"punch": func(a []string) error {
		f, err := os.OpenFile(a[0], os.O_RDWR, 0)
		if err != nil {
			return err
		}
		return unix.Fallocate(int(f.Fd()), 0, 0, 1<<16)
	},
	"race": func(a []string) error { // a path that is a file one moment and a link out the next
		link := a[0] + ".race"
		for range 200 {
			_ = os.Remove(link)
			_ = os.WriteFile(link, nil, 0o600)
			_ = os.Remove(link)
			_ = os.Symlink(a[1], link)
			if err := os.WriteFile(link, []byte("raced"), 0o600); err != nil {
				return err
			}
		}
		return nil
	},
	"daemon": func(a []string) error { // two forks and a session of its own
		cmd := exec.Command("setsid", "sh", "-c", "sleep "+a[0]+" >/dev/null 2>&1 </dev/null &")
		return cmd.Run()
	},

	"ptrace": func(a []string) error { return unix.PtraceAttach(number(a[0])) },
	"vmwrite": func(a []string) error {
		buf, word := make([]byte, 8), [1]byte{}
		pid := number(a[0])
		local := unix.Iovec{Base: &word[0], Len: 1}
		n, err := unix.ProcessVMReadv(pid, []unix.Iovec{local}, []unix.RemoteIovec{{Base: mapped(pid), Len: 1}}, 0)
		_, _ = n, buf
		return err
	},
	"mem": func(a []string) error {
		f, err := os.OpenFile("/proc/"+a[0]+"/mem", os.O_RDWR, 0)
		if err != nil {
			return err
		}
		_, err = f.ReadAt(make([]byte, 1), int64(mapped(number(a[0]))))
		return err
	},
	"pidfd": func(a []string) error {
		fd, err := unix.PidfdOpen(number(a[0]), 0)
		if err != nil {
			return err
		}
		_, err = unix.PidfdGetfd(fd, 1, 0)
		return err
	},
	"pidfdsignal": func(a []string) error {
		fd, err := unix.PidfdOpen(number(a[0]), 0)
		if err != nil {
			return err
		}
		return unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
	},
	"prlimit": func(a []string) error {
		return unix.Prlimit(number(a[0]), unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 16, Max: 16}, nil)
	},
	"nice": func(a []string) error { return unix.Setpriority(unix.PRIO_PROCESS, number(a[0]), 19) },
	"setns": func(a []string) error {
		f, err := os.Open("/proc/" + a[0] + "/ns/" + a[1])
		if err != nil {
			return err
		}
		return unix.Setns(int(f.Fd()), 0)
	},

	"unix":     func(a []string) error { return say("unix", a[0]) },
	"tcp":      func(a []string) error { return say("tcp", a[0]) },
	"udp":      func(a []string) error { return say("udp", a[0]) },
	"abstract": func(a []string) error { return say("unix", "@"+a[0]) },
	"dns": func(a []string) error {
		r := net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "udp", a[0])
		}}
		ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
		defer cancel()
		_, err := r.LookupHost(ctx, "canary.example")
		return err
	},
	"socket": func(a []string) error { return sys(unix.SYS_SOCKET, uintptr(number(a[0])), uintptr(number(a[1])), 0) },

	"newuser": func([]string) error {
		cmd := exec.Command("true")
		cmd.SysProcAttr = &syscall.SysProcAttr{
			Cloneflags:  unix.CLONE_NEWUSER,
			UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}}, GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
		}
		return cmd.Run()
	},
	"keyctl":      func([]string) error { return sys(unix.SYS_KEYCTL, 0, ^uintptr(4)+1, 1) }, // the session's keyring
	"iouring":     func([]string) error { return sys(unix.SYS_IO_URING_SETUP, 1, pointer(&[120]byte{})) },
	"userfault":   func([]string) error { return sys(unix.SYS_USERFAULTFD, 1) }, // of this process only
	"personality": func([]string) error { return sys(unix.SYS_PERSONALITY, 0x0400000) },
	"bpf": func([]string) error {
		return sys(unix.SYS_BPF, 0, pointer(&[128]byte{2, 0, 0, 0, 4, 0, 0, 0, 4, 0, 0, 0, 1}), 128)
	},
	"perf": func([]string) error {
		return sys(unix.SYS_PERF_EVENT_OPEN, pointer(&[128]byte{1, 0, 0, 0, 128}), 0, ^uintptr(0), ^uintptr(0), 0)
	},
	"shm": func(a []string) error { return sys(unix.SYS_SHMGET, uintptr(number(a[0])), 4096, unix.IPC_CREAT|0o600) },
	"handle": func(a []string) error {
		h, mount, err := unix.NameToHandleAt(unix.AT_FDCWD, a[0], 0)
		if err != nil {
			return err
		}
		_ = mount
		at, err := unix.Open("/", unix.O_RDONLY, 0)
		if err != nil {
			return err
		}
		fd, err := unix.OpenByHandleAt(at, h, unix.O_WRONLY)
		if err != nil {
			return err
		}
		_, err = unix.Write(fd, []byte("changed"))
		return err
	},
}

// mapped is an address that a process has something at.
func mapped(pid int) uintptr {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		return 0
	}
	var at uintptr
	_, _ = fmt.Sscanf(string(data), "%x", &at)
	return at
}
