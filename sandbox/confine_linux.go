package sandbox

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"

	"golang.org/x/sys/unix"
)

// renamingABI is the first version of Landlock that can grant a rename from one
// directory to another, without which programs such as git cannot work.
const renamingABI = 2

// Confinable returns nil where [Confined] can hold a program to what it is granted,
// and otherwise says why not.
func Confinable() error {
	if _, err := seccompArch(); err != nil {
		return err
	}
	abi, err := landlockABI()
	if err != nil {
		return fmt.Errorf("this kernel offers no Landlock: %w", err)
	}
	if abi < renamingABI {
		return fmt.Errorf("this kernel offers version %d of Landlock, and it takes %d", abi, renamingABI)
	}
	return nil
}

func confinedDevices() []string { return devices() }

// confined calls run on a thread that is restricted first, since a child inherits what
// holds for the thread that starts it. The thread ends with the call: it is good for
// nothing else. Go makes no other thread from one that is locked.
func confined(read, write []string, run func() error) error {
	var err error
	onOwnThread(func() {
		if err = confineThread(read, write); err == nil {
			err = run()
		}
	})
	return err
}

// onOwnThread calls f on a thread that ends afterwards. It is never the first of the
// process, which cannot end.
func onOwnThread(f func()) {
	var done sync.WaitGroup
	done.Go(func() {
		runtime.LockOSThread()
		if unix.Gettid() == os.Getpid() {
			onOwnThread(f)
			runtime.UnlockOSThread()
			return
		}
		f()
	})
	done.Wait()
}

// confineThread takes from the calling thread what it is not granted. Signals are left
// alone: threads of a process send them to each other, and not all kernels that
// restrict them let these pass.
func confineThread(read, write []string) error {
	if err := dropCaps(os.Geteuid() == 0); err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("set no_new_privs: %w", err)
	}
	if read == nil {
		return errors.New("nothing may be read")
	}
	if err := landlockScoped(read, write, false); err != nil {
		return err
	}
	return seccomp(nil)
}
