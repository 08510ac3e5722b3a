package sandbox

import (
	"os/exec"
	"syscall"
)

// dieWithParent has the kernel kill the child when the thread that starts it
// ends, which a death of this process is. It reaches the child only, not what
// the child started.
func dieWithParent(cmd *exec.Cmd) { cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL }
