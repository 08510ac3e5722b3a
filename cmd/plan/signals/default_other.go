//go:build unix && !linux

package signals

import "syscall"

// setDefault cannot be done here: see its other side.
func setDefault(syscall.Signal) (restore func(), err error) { return nil, syscall.ENOSYS }
