package sandbox

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

// pipes connect a task with this process.
type pipes struct {
	task []*os.File // the task's standard input, output and errors

	input  []byte
	feed   io.Reader
	in     *os.File // nil where the task reads nothing
	out    *os.File
	errs   *os.File // nil where errors come with the output
	copied chan struct{}
}

// openPipes makes what a task needs that is watched by w.
func openPipes(w *watch) (*pipes, error) {
	p := &pipes{
		input:  w.input,
		feed:   w.feed,
		copied: make(chan struct{}),
	}
	stdin, err := os.Open(os.DevNull)
	if err == nil && (len(w.input) > 0 || w.feed != nil) {
		_ = stdin.Close()
		stdin, p.in, err = os.Pipe()
	}
	if err != nil {
		return nil, fmt.Errorf("make a pipe: %w", err)
	}
	p.task = []*os.File{stdin}
	var stdout, stderr *os.File
	p.out, stdout, err = os.Pipe()
	if err == nil {
		p.task = append(p.task, stdout)
		stderr = stdout // one, because both outputs are the same
		if w.errs != nil {
			p.errs, stderr, err = os.Pipe()
		}
	}
	if err != nil {
		p.handedOver()
		p.close()
		return nil, fmt.Errorf("make a pipe: %w", err)
	}
	p.task = append(p.task, stderr)
	return p, nil
}

// handedOver closes the task's ends: it has them, or was not started.
func (p *pipes) handedOver() {
	for _, f := range p.task {
		_ = f.Close()
	}
}

// copy begins to move what the task reads and prints.
func (p *pipes) copy(w *watch) {
	var printing sync.WaitGroup
	printing.Go(func() { _, _ = io.Copy(w, p.out) })
	if p.errs != nil {
		printing.Go(func() { _, _ = io.Copy(w.errs, p.errs) })
	}
	switch {
	case p.feed != nil: // whose end the end of the task does not wait for
		go func() {
			_, _ = p.in.Write(p.input)
			_, _ = io.Copy(p.in, p.feed)
			_ = p.in.Close()
		}()
	case p.in != nil:
		printing.Go(func() {
			_, _ = p.in.Write(p.input) // a task need not read it all
			_ = p.in.Close()
		})
	}
	go func() {
		printing.Wait()
		close(p.copied)
	}()
}

// drain waits until what a task printed was read. On a busy machine the reading
// goroutine may come late, and nothing is to be lost for that.
func (p *pipes) drain(stopped bool) {
	patience := drainGrace
	if stopped {
		patience = pipeGrace
	}
	at := time.Now().Add(patience)
	_ = p.out.SetReadDeadline(at)
	if p.errs != nil {
		_ = p.errs.SetReadDeadline(at)
	}
	if p.in != nil {
		_ = p.in.Close() // the task has ended
	}
	<-p.copied
}

// close closes this process's ends.
func (p *pipes) close() {
	for _, f := range []*os.File{p.in, p.out, p.errs} {
		if f != nil {
			_ = f.Close()
		}
	}
}
