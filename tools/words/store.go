package words

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
)

// Bounds of what is kept.
const (
	maxBytes = 192 << 20 // of the words of one store
	maxFiles = 24        // stores in one folder
)

// magic begins a file; another version of it is another file.
const magic = "words of plan 4\n"

// Key is which text words are of.
type Key [16]byte

// KeyOf is the key of a text.
func KeyOf(text []byte) Key {
	sum := sha256.Sum256(text)
	return Key(sum[:len(Key{})])
}

// Store is the words of many texts. It is safe for concurrent use.
type Store struct {
	path string // "" for one that is not kept

	mu    sync.Mutex
	held  map[Key][]byte
	size  int
	added int // since it was last written
}

// Open reads the store at path, which need not exist; with "" it is kept in memory
// alone. Whatever is wrong with the file makes it empty.
func Open(path string) *Store {
	s := &Store{path: path, held: map[Key][]byte{}}
	if path == "" {
		return s
	}
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() > 2*maxBytes {
		return s
	}
	if data, err := os.ReadFile(path); err == nil {
		s.decode(data)
	}
	return s
}

// Get returns the words of a text, which are not to be changed.
func (s *Store) Get(of Key) ([]byte, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	held, ok := s.held[of]
	return held, ok
}

// Add keeps the words of a text while there is room.
func (s *Store) Add(of Key, held []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.held[of]; ok || s.size+len(held) > maxBytes {
		return
	}
	s.held[of] = held
	s.size += len(held)
	s.added++
}

// Save writes the store if it has gained much, or, with force, anything at all. Of what
// is not in use it lets go where more than half of the room is taken.
func (s *Store) Save(inUse func(Key) bool, force bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.path == "" || s.added == 0 || !force && s.added < max(64, len(s.held)/8) {
		return nil
	}
	if s.size > maxBytes/2 {
		for key, held := range s.held {
			if !inUse(key) {
				delete(s.held, key)
				s.size -= len(held)
			}
		}
	}
	if err := s.write(); err != nil {
		return fmt.Errorf("keep the words of the tree: %w", err)
	}
	s.added = 0
	return nil
}

// write replaces the file. It need not survive a loss of power.
func (s *Store) write() error {
	dir := filepath.Dir(s.path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err //nolint:wrapcheck // Save says what was done
	}
	prune(dir, filepath.Base(s.path))
	f, err := os.CreateTemp(dir, ".new-*")
	if err != nil {
		return err //nolint:wrapcheck // Save says what was done
	}
	_, err = f.Write(s.encode())
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), s.path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// encode is the file: magic, then for each text its key, the length of its words and
// the words, and at last a checksum.
func (s *Store) encode() []byte {
	out := make([]byte, 0, len(magic)+s.size+len(s.held)*(len(Key{})+4)+4)
	out = append(out, magic...)
	for key, held := range s.held {
		out = append(out, key[:]...)
		out = binary.LittleEndian.AppendUint32(out, uint32(len(held)))
		out = append(out, held...)
	}
	return binary.LittleEndian.AppendUint32(out, checksum(out))
}

// decode takes in a file that is whole.
func (s *Store) decode(data []byte) {
	rest, ok := bytes.CutPrefix(data, []byte(magic))
	if !ok || len(rest) < 4 || binary.LittleEndian.Uint32(data[len(data)-4:]) != checksum(data[:len(data)-4]) {
		return
	}
	rest = rest[:len(rest)-4]
	const head = len(Key{}) + 4
	for len(rest) >= head {
		n := int(binary.LittleEndian.Uint32(rest[len(Key{}):]))
		if n > len(rest)-head {
			break
		}
		s.held[Key(rest[:len(Key{})])] = rest[head : head+n : head+n]
		s.size += n
		rest = rest[head+n:]
	}
}

func checksum(data []byte) uint32 { return crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli)) }

// prune removes the stores that were written the longest ago, and what processes
// left that died while they wrote, down to what may be there beside the one of this
// name.
func prune(dir, keep string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return // there is another time
	}
	var others []fs.FileInfo
	for _, e := range entries {
		if info, err := e.Info(); err == nil && e.Type().IsRegular() && e.Name() != keep {
			others = append(others, info)
		}
	}
	slices.SortFunc(others, func(a, b fs.FileInfo) int { return b.ModTime().Compare(a.ModTime()) })
	for _, info := range others[min(len(others), maxFiles-1):] {
		_ = os.Remove(filepath.Join(dir, info.Name()))
	}
}
