// Package agent lends the user's ssh-agent to a command, for some servers alone.
//
// An agent signs whatever it is asked to, for any server. The socket that the command is
// given is therefore this package's own: it lists the keys and signs for them, and
// nothing else, and it signs only the log-in to a session that a server has begun whose
// host key is among those that are named. OpenSSH tells an agent which session it is in
// (session-bind@openssh.com, since 8.9), and the server's own signature proves it.
//
// The package must not know which servers those are, or why.
package agent

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"sync"

	"golang.org/x/crypto/ssh"
)

// Messages of the agent's protocol.
const (
	askKeys   = 11
	askToSign = 13
	extension = 27
	failure   = 5
	success   = 6
)

const (
	bind       = "session-bind@openssh.com"
	userLogsIn = 50
	// maxMessage is as much as a message may hold, in bytes, as agents have it.
	maxMessage = 256 << 10
	// maxSocket is how long the path of a socket may be.
	maxSocket = 107
)

// ErrNotLent says that no socket could be made.
var ErrNotLent = errors.New("the ssh-agent cannot be lent")

// Lent is a socket that is served.
type Lent struct {
	listener      net.Listener
	upstream      string
	hosts         [][]byte
	conversations sync.WaitGroup

	mu    sync.Mutex
	open  map[net.Conn]bool
	ended bool
}

// Lend serves a socket at a path, in front of the agent behind another one, for servers
// with these host keys, as SSH writes them.
func Lend(at, upstream string, hosts [][]byte) (*Lent, error) {
	if len(at) > maxSocket {
		const text = "%w: the path of its socket would have %d bytes, and %d are most"
		return nil, fmt.Errorf(text, ErrNotLent, len(at), maxSocket)
	}
	listener, err := net.Listen("unix", at) //nolint:noctx // it is there at once
	if err == nil {
		err = os.Chmod(at, 0o600)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotLent, err)
	}
	l := &Lent{
		listener: listener,
		upstream: upstream,
		hosts:    hosts,
		open:     map[net.Conn]bool{},
	}
	l.conversations.Go(l.accept)
	return l, nil
}

// Close ends the socket and all that is asked over it.
func (l *Lent) Close() error {
	l.mu.Lock()
	l.ended = true
	for conn := range l.open {
		_ = conn.Close()
	}
	l.mu.Unlock()
	err := l.listener.Close()
	l.conversations.Wait()
	return err //nolint:wrapcheck // names the socket
}

func (l *Lent) accept() {
	for {
		conn, err := l.listener.Accept()
		if err != nil {
			return
		}
		if l.keep(conn) {
			l.conversations.Go(func() {
				defer l.drop(conn)
				_ = l.serve(conn) // the client sees that it has ended
			})
		}
	}
}

// keep notes a connection, so that Close ends it.
func (l *Lent) keep(conn net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		_ = conn.Close()
		return false
	}
	l.open[conn] = true
	return true
}

func (l *Lent) drop(conn net.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.open, conn)
	_ = conn.Close()
}

// serve answers one client. It has its own connection to the agent.
func (l *Lent) serve(client net.Conn) error {
	behind, err := net.Dial("unix", l.upstream) //nolint:noctx // it is there at once, or not at all
	if err != nil {
		return fmt.Errorf("reach the agent: %w", err)
	}
	if !l.keep(behind) {
		return net.ErrClosed
	}
	defer l.drop(behind)
	var sessions [][]byte // that a server among those named has begun
	for {
		request, err := read(client)
		if err != nil {
			return err
		}
		session, may := l.may(request, sessions)
		if session != nil {
			sessions = append(sessions, session)
		}
		answer := []byte{failure}
		if may {
			if err := write(behind, request); err != nil {
				return err
			}
			if answer, err = read(behind); err != nil {
				return err
			}
		}
		if session != nil && len(answer) > 0 {
			answer = []byte{success} // older agents do not know what we have looked at
		}
		if err := write(client, answer); err != nil {
			return err
		}
	}
}

// may reports whether the agent is to be asked. Session is one that was begun by a server
// among those named.
func (l *Lent) may(request []byte, sessions [][]byte) (session []byte, may bool) {
	if len(request) == 0 {
		return nil, false
	}
	in := reader{rest: request[1:]}
	switch request[0] {
	case askKeys:
		return nil, len(in.rest) == 0
	case askToSign:
		in.text() // the key
		data := reader{rest: in.text()}
		of, kind := data.text(), data.byte()
		known := slices.ContainsFunc(sessions, func(s []byte) bool { return bytes.Equal(s, of) })
		return nil, !in.bad && !data.bad && kind == userLogsIn && known
	case extension:
		if string(in.text()) != bind {
			return nil, false
		}
		host, of, signed, forwarded := in.text(), in.text(), in.text(), in.byte()
		if in.bad || forwarded != 0 || len(of) == 0 || !l.begunBy(host, of, signed) {
			return nil, false
		}
		return of, true
	}
	return nil, false
}

// begunBy reports whether a server that is named has begun a session: only it can have
// signed for it.
func (l *Lent) begunBy(host, session, signed []byte) bool {
	if !slices.ContainsFunc(l.hosts, func(known []byte) bool { return bytes.Equal(known, host) }) {
		return false
	}
	key, err := ssh.ParsePublicKey(host)
	if err != nil {
		return false
	}
	var sig ssh.Signature
	if err := ssh.Unmarshal(signed, &sig); err != nil {
		return false
	}
	return key.Verify(session, &sig) == nil
}

// read reads one message.
func read(from io.Reader) ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(from, head[:]); err != nil {
		return nil, err //nolint:wrapcheck // the other side is gone
	}
	n := binary.BigEndian.Uint32(head[:])
	if n > maxMessage {
		return nil, errors.New("a message to the agent is too long")
	}
	out := make([]byte, n)
	_, err := io.ReadFull(from, out)
	return out, err //nolint:wrapcheck // the other side is gone
}

func write(to io.Writer, message []byte) error {
	head := binary.BigEndian.AppendUint32(nil, uint32(len(message)))
	_, err := to.Write(append(head, message...))
	return err //nolint:wrapcheck // the other side is gone
}

// reader takes the parts of a message.
type reader struct {
	rest []byte
	bad  bool
}

func (r *reader) byte() byte {
	if len(r.rest) == 0 {
		r.bad = true
		return 0
	}
	b := r.rest[0]
	r.rest = r.rest[1:]
	return b
}

func (r *reader) text() []byte {
	if len(r.rest) < 4 || uint64(len(r.rest)-4) < uint64(binary.BigEndian.Uint32(r.rest)) {
		r.bad, r.rest = true, nil
		return nil
	}
	n := 4 + int(binary.BigEndian.Uint32(r.rest))
	out := r.rest[4:n]
	r.rest = r.rest[n:]
	return out
}
