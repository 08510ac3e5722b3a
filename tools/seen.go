package tools

import (
	"slices"
	"sync"
)

// Bounds on the texts that are kept to explain what changed, in bytes.
const (
	keepFile  = 256 << 10
	keepTotal = 8 << 20
)

// knownFiles is what one conversation knows of the files: the hash of the content
// that it was last shown for a path and, within bounds, the content itself.
type knownFiles struct {
	mu     sync.Mutex
	hashes map[string]string
	texts  map[string]string
	order  []string // paths in texts, the oldest first
	size   int      // bytes in texts
}

func newKnownFiles() *knownFiles {
	return &knownFiles{hashes: map[string]string{}, texts: map[string]string{}}
}

// put remembers a content; data is nil when only its hash is known. It reports
// whether the text is kept now.
func (s *knownFiles) put(path, hash string, data []byte) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, kept := s.texts[path]; kept && s.hashes[path] == hash {
		return true
	}
	s.hashes[path] = hash
	s.drop(path)
	if data == nil || len(data) > keepFile {
		return hash == ""
	}
	for s.size+len(data) > keepTotal {
		s.drop(s.order[0])
	}
	s.texts[path] = string(data)
	s.order = append(s.order, path)
	s.size += len(data)
	return true
}

// drop forgets the text of a path, not its hash.
func (s *knownFiles) drop(path string) {
	text, ok := s.texts[path]
	if !ok {
		return
	}
	s.size -= len(text)
	delete(s.texts, path)
	s.order = slices.DeleteFunc(s.order, func(p string) bool { return p == path })
}

// paths are those with a content, sorted.
func (s *knownFiles) paths() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []string
	for path, hash := range s.hashes {
		if hash != "" {
			out = append(out, path)
		}
	}
	slices.Sort(out)
	return out
}

// hash returns what path was last seen as.
func (s *knownFiles) hash(path string) (string, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	hash, ok := s.hashes[path]
	return hash, ok
}

// text returns the content that path was last seen with, if it is still kept.
func (s *knownFiles) text(path string) (string, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	text, ok := s.texts[path]
	return text, ok
}
