package sandbox

import (
	"bufio"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// roleCache is what a process does that answers go.
const roleCache = "cache"

// goCache is a build cache of go over others: what is not in the upper folder is
// looked for in the lowers, the uppermost first, and only the upper is written to.
// Go asks it over its standard input and output (GOCACHEPROG). All folders are laid
// out as go's own cache.
type goCache struct {
	upper  string
	lowers []string
}

// newGoCache is the cache that a process was started for with these arguments: the
// upper folder, then the lowers.
func newGoCache(args []string) goCache { return goCache{upper: args[0], lowers: args[1:]} }

// cacheRequest is what go asks.
type cacheRequest struct {
	ID       int64
	Command  string // get, put or close
	ActionID []byte
	OutputID []byte
	BodySize int64 // the body of a put follows, as a JSON string of base64
}

// cacheResponse is what it is told.
type cacheResponse struct {
	ID            int64
	Err           string     `json:",omitempty"`
	KnownCommands []string   `json:",omitempty"` // in the first one, which answers nothing
	Miss          bool       `json:",omitempty"`
	OutputID      []byte     `json:",omitempty"`
	Size          int64      `json:",omitempty"`
	Time          *time.Time `json:",omitempty"`
	DiskPath      string     `json:",omitempty"`
}

// serve answers until go is done.
func (c goCache) serve(in io.Reader, out io.Writer) error {
	requests, answers := json.NewDecoder(bufio.NewReader(in)), json.NewEncoder(out)
	if err := answers.Encode(cacheResponse{KnownCommands: []string{"get", "put", "close"}}); err != nil {
		return fmt.Errorf("greet go: %w", err)
	}
	for {
		var q cacheRequest
		err := requests.Decode(&q)
		if errors.Is(err, io.EOF) {
			return nil
		}
		var body []byte
		if err == nil && q.BodySize > 0 {
			err = requests.Decode(&body)
		}
		if err != nil {
			return fmt.Errorf("read what go asks: %w", err)
		}
		r, err := c.answer(q, body)
		if err != nil {
			r.Err = err.Error()
		}
		r.ID = q.ID
		if err := answers.Encode(r); err != nil {
			return fmt.Errorf("answer go: %w", err)
		}
		if q.Command == "close" {
			return nil
		}
	}
}

func (c goCache) answer(q cacheRequest, body []byte) (cacheResponse, error) {
	switch q.Command {
	case "get":
		for _, dir := range append([]string{c.upper}, c.lowers...) {
			if r, ok := readCacheEntry(dir, q.ActionID); ok {
				return r, nil
			}
		}
		return cacheResponse{Miss: true}, nil
	case "put":
		return c.put(q, body)
	case "close":
		return cacheResponse{}, nil
	}
	return cacheResponse{}, fmt.Errorf("%q is not known", q.Command)
}

// readCacheEntry reads an entry: its version, action, output, size and time.
func readCacheEntry(dir string, action []byte) (cacheResponse, bool) {
	data, err := os.ReadFile(cacheFile(dir, action, "a"))
	fields := strings.Fields(string(data))
	if err != nil || len(fields) != 5 || fields[0] != "v1" || fields[1] != hex.EncodeToString(action) {
		return cacheResponse{}, false
	}
	output, outErr := hex.DecodeString(fields[2])
	size, sizeErr := strconv.ParseInt(fields[3], 10, 64)
	nanos, timeErr := strconv.ParseInt(fields[4], 10, 64)
	if errors.Join(outErr, sizeErr, timeErr) != nil || len(output) == 0 {
		return cacheResponse{}, false
	}
	path, at := cacheFile(dir, output, "d"), time.Unix(0, nanos)
	if info, err := os.Stat(path); err != nil || info.Size() != size {
		return cacheResponse{}, false
	}
	return cacheResponse{
		OutputID: output,
		Size:     size,
		Time:     &at,
		DiskPath: path,
	}, true
}

func (c goCache) put(q cacheRequest, body []byte) (cacheResponse, error) {
	if len(q.ActionID) == 0 || len(q.OutputID) == 0 || int64(len(body)) != q.BodySize {
		return cacheResponse{}, errors.New("there is something missing in what is to be put")
	}
	path, now := cacheFile(c.upper, q.OutputID, "d"), time.Now()
	entry := fmt.Sprintf("v1 %x %x %20d %20d\n", q.ActionID, q.OutputID, q.BodySize, now.UnixNano())
	err := replaceFile(path, body)
	if err == nil {
		err = replaceFile(cacheFile(c.upper, q.ActionID, "a"), []byte(entry))
	}
	return cacheResponse{
		OutputID: q.OutputID,
		Size:     q.BodySize,
		Time:     &now,
		DiskPath: path,
	}, err
}

// cacheFile is where go keeps an entry ("a") or an output ("d").
func cacheFile(dir string, id []byte, kind string) string {
	name := hex.EncodeToString(id)
	return filepath.Join(dir, name[:min(2, len(name))], name+"-"+kind)
}

// replaceFile puts a file in its place at once, so that no process reads half of it.
// By hand: a cache need not survive a loss of power, and syncing would slow builds.
func replaceFile(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err //nolint:wrapcheck // names the path
	}
	f, err := os.CreateTemp(filepath.Dir(path), "new-")
	if err != nil {
		return err //nolint:wrapcheck // names the path
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}
