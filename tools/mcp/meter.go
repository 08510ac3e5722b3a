package mcp

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync"
)

// meter lets messages of a server through, as far as their number and size go. What is no
// message, such as what a package manager prints, is left out.
type meter struct {
	fail func(error)

	mu       sync.Mutex
	messages int
	bytes    int
}

// reset begins to count anew: the server was asked something.
func (m *meter) reset() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.messages, m.bytes = 0, 0
}

// count takes note of a line, and says what is too much.
func (m *meter) count(n int, message bool) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.bytes += n
	if message {
		m.messages++
	}
	switch {
	case m.messages > mostMessages:
		return fmt.Errorf("it sent more than %d messages that were not asked for, and was ended", mostMessages)
	case m.bytes > mostBytes:
		return fmt.Errorf("it sent more than %d MiB that were not asked for, and was ended", mostBytes>>20)
	}
	return nil
}

// lines reads a server's output a line at a time.
func (m *meter) lines(in *bufio.Reader, from io.Closer) io.ReadCloser {
	out, to := io.Pipe()
	go func() {
		err := m.pass(in, to)
		if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrClosedPipe) {
			m.fail(err)
		}
		_ = to.CloseWithError(io.EOF)
		_ = from.Close() // what else it writes is not read, and must not hold it up
	}()
	return out
}

func (m *meter) pass(in *bufio.Reader, to io.Writer) error {
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > longestMessage:
			return fmt.Errorf("it sent a message of more than %d MiB, and was ended", longestMessage>>20)
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil && len(line) == 0:
			return err //nolint:wrapcheck // it is only compared
		}
		message := bytes.HasPrefix(bytes.TrimLeft(line, " \t"), []byte("{"))
		if wrong := m.count(len(line), message); wrong != nil {
			return wrong
		}
		if message {
			if _, err := to.Write(line); err != nil {
				return err //nolint:wrapcheck // it is only compared
			}
		}
		if err != nil {
			return err //nolint:wrapcheck // it is only compared
		}
		if line = line[:0]; cap(line) > 1<<20 {
			line = nil
		}
	}
}
