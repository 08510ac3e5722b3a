package signals

import (
	"syscall"
	"unsafe"
)

// setDefault has the kernel do what it does by itself on a signal, until restore. The
// runtime's own way back leaves its handler in place, which drops what stops a process;
// and to stop by another signal would also stop one whose group is orphaned, which
// no shell can continue.
func setDefault(s syscall.Signal) (restore func(), err error) {
	var byItself, before action
	if err := setAction(s, &byItself, &before); err != nil {
		return nil, err
	}
	return func() { _ = setAction(s, &before, nil) }, nil // it was in force before
}

// action is the kernel's struct sigaction, or larger: it is kept and given back, and
// nothing in it but zeroes is the default.
type action [8]uint64

func setAction(s syscall.Signal, to, before *action) error {
	const sigsetBytes = 8
	//nolint:gosec // the call reads and writes what the pointers are to, and keeps none
	_, _, errno := syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, uintptr(s),
		uintptr(unsafe.Pointer(to)), uintptr(unsafe.Pointer(before)), sigsetBytes, 0, 0)
	if errno != 0 {
		return errno //nolint:wrapcheck // Suspend does it another way then
	}
	return nil
}
