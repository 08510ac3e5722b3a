package sandbox

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
)

// Only the program that is confined is: no other thread of this process is one that a
// confined one made, and the next program starts as ever.
func TestConfiningIsForTheProgramAlone(t *testing.T) {
	t.Parallel()
	if err := Confinable(); err != nil {
		t.Logf("nothing is confined here: %v", err)
		return
	}
	dir := t.TempDir()
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			cmd := exec.CommandContext(t.Context(), "sh", "-c", "echo x >"+filepath.Join(dir, "file"))
			if err := Confined(Confinement{Read: []string{"/"}}, cmd.Run); err == nil {
				t.Error("a confined program wrote")
			}
		})
		all.Go(func() {
			runtime.LockOSThread() // a thread of its own
			defer runtime.UnlockOSThread()
			l, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
			if err != nil {
				t.Errorf("a socket: %v", err)
				return
			}
			_ = l.Close()
			f, err := os.CreateTemp(dir, "")
			if err != nil {
				t.Errorf("a file: %v", err)
				return
			}
			_ = f.Close()
		})
	}
	all.Wait()
	if err := exec.CommandContext(t.Context(), "sh", "-c", "echo x >"+filepath.Join(dir, "file")).Run(); err != nil {
		t.Errorf("a program that is not confined: %v", err)
	}
	if err := Confined(Confinement{}, exec.CommandContext(t.Context(), "true").Run); err == nil {
		t.Error("a program ran that may read nothing")
	}
}
