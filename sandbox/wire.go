package sandbox

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
)

// maxFrame bounds one message between the two sides of a wall, in bytes.
const maxFrame = 64 << 20

// setup is what the inside of a wall is told first.
type setup struct {
	Steps []step // of the new mount namespace; none where something else made it
	// Read and Write are for Landlock; Read nil leaves reading alone.
	Read, Write []string
	Internet    bool   // sockets of the internet may be made
	Loopback    bool   // the network namespace is new: bring its loopback up
	Processes   uint64 // how many there may be; 0 is no bound
	RootKeeps   bool   // root keeps the capabilities that files need
}

// kind says what a step puts at its place.
type kind string

const (
	kindOwn   kind = "own"   // a folder of the wall's own, writable
	kindEmpty kind = "empty" // nothing: what is there cannot be read
	kindView  kind = "view"  // what is there, read-only; its sockets are dead
	kindShow  kind = "show"  // what is there, read-only
	kindBind  kind = "bind"  // the real thing, writable
	kindPut   kind = "put"   // another file or folder, read-only
	kindLayer kind = "layer" // what is there, with a layer that takes the writes
)

// step is one mount. Steps are carried out from the root down, so that a
// deeper one stands out of what lies over it.
type step struct {
	Kind kind
	At   string // where, without symbolic links
	From string // what, for own and put; the place itself for the others
	Dir  bool
	// Upper and Work belong to a layer, and so does what lies between it and the
	// place, the uppermost first.
	Upper, Work string
	Between     []string
}

// order is a message to the inside: run a task, kill one, or ask about one.
type order struct {
	ID     int64
	Task   *task      `json:",omitempty"` // its input, output and errors are descriptors that come along
	Kill   bool       `json:",omitempty"`
	Query  *taskQuery `json:",omitempty"`
	TaskID int64      `json:",omitempty"` // the order of the task that Ask is about
}

// reply is a message from the inside.
type reply struct {
	ID     int64
	Ready  bool          `json:",omitempty"` // the first message: the wall stands
	Error  string        `json:",omitempty"` // the task was not started, or the wall cannot be built
	Errno  syscall.Errno `json:",omitempty"` // what the error was
	Code   int           `json:",omitempty"` // exit status of the task, as a shell has it
	Signal bool          `json:",omitempty"` // a signal ended it
	Status *taskStatus   `json:",omitempty"` // the answer to a question
}

// task is one child as it is to be started.
type task struct {
	Path string
	Args []string // with the name of the program first
	Dir  string
	Env  []string
	// Memory is how many bytes it, and each process that it starts, may reserve
	// to write to. 0 is no bound.
	Memory uint64 `json:",omitempty"`
}

// errFrame says that a message makes no sense.
var errFrame = errors.New("a message from the other side of the wall makes no sense")

// encodeFrame is a message as it travels: its length, then JSON.
func encodeFrame(v any) ([]byte, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encode a message: %w", err)
	}
	if len(data) > maxFrame {
		return nil, fmt.Errorf("%w: it has %d bytes", syscall.E2BIG, len(data))
	}
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(data))), data...), nil
}

// readFrame reads one message, and no byte more.
func readFrame(r io.Reader, v any) error {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return err //nolint:wrapcheck // io.EOF is told apart
	}
	return readBody(r, head, v)
}

func readBody(r io.Reader, head [4]byte, v any) error {
	size := binary.BigEndian.Uint32(head[:])
	if size > maxFrame {
		return errFrame
	}
	data := make([]byte, size)
	if _, err := io.ReadFull(r, data); err != nil {
		return err //nolint:wrapcheck // the connection is gone
	}
	if err := json.Unmarshal(data, v); err != nil {
		return fmt.Errorf("%w: %w", errFrame, err)
	}
	return nil
}

// taskFiles is how many files come with a task.
const taskFiles = 3

// sendWith sends a message with open files.
func sendWith(conn *net.UnixConn, data []byte, files []*os.File) error {
	fds := make([]int, len(files))
	for i, f := range files {
		fds[i] = int(f.Fd())
	}
	n, _, err := conn.WriteMsgUnix(data, syscall.UnixRights(fds...), nil)
	if err == nil && n < len(data) {
		_, err = conn.Write(data[n:])
	}
	return err //nolint:wrapcheck // the caller says what was sent
}

// receive reads a message and the files that come with it, if any do.
func receive(conn *net.UnixConn, v any) ([]*os.File, error) {
	var head [4]byte
	rights := make([]byte, syscall.CmsgSpace(4*taskFiles))
	n, oobn, _, _, err := conn.ReadMsgUnix(head[:], rights)
	if err != nil {
		return nil, err //nolint:wrapcheck // io.EOF is told apart
	}
	if n == 0 {
		return nil, io.EOF
	}
	if _, err := io.ReadFull(conn, head[n:]); err != nil {
		return nil, err //nolint:wrapcheck // the connection is gone
	}
	files, err := filesOf(rights[:oobn])
	if err != nil {
		return nil, err
	}
	if err := readBody(conn, head, v); err != nil {
		closeAll(files)
		return nil, err
	}
	return files, nil
}

func closeAll(files []*os.File) {
	for _, f := range files {
		_ = f.Close()
	}
}

// filesOf takes the descriptors out of a control message.
func filesOf(oob []byte) ([]*os.File, error) {
	if len(oob) == 0 {
		return nil, nil
	}
	messages, err := syscall.ParseSocketControlMessage(oob)
	if err != nil || len(messages) != 1 {
		return nil, errFrame
	}
	fds, err := syscall.ParseUnixRights(&messages[0])
	if err != nil || len(fds) != taskFiles {
		return nil, errFrame
	}
	var files []*os.File
	for _, fd := range fds {
		files = append(files, os.NewFile(uintptr(fd), "of a task"))
	}
	return files, nil
}
