package skills

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
)

// Bounds of a skill's folder.
const (
	maxDepth     = 8
	maxFiles     = 1000
	maxTreeBytes = 32 << 20 // bytes
)

// Manifest is the file in which the engine keeps what it knows of a draft. It
// is never shown to a model and not part of the digest, so that a score can be
// noted without a new review.
const Manifest = "manifest.json"

// Digest is a hash over every file of a folder: names, executable bits and
// contents, each with its length in front, so that no two folders have the
// same one. Links and special files are refused: what they lead to could
// change without the digest changing.
func Digest(folder fs.FS) (string, error) {
	var names []string
	var size int64
	err := fs.WalkDir(folder, ".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			if depth(path) > maxDepth {
				return fmt.Errorf("%s: folders are nested more than %d deep", path, maxDepth)
			}
			return nil
		case !d.Type().IsRegular():
			return fmt.Errorf("%s is a link or a special file; a skill may hold regular files only", path)
		case path == Manifest:
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err //nolint:wrapcheck // the caller says what was done
		}
		if size += info.Size(); size > maxTreeBytes || len(names) == maxFiles {
			return fmt.Errorf("the folder holds more than %d files or %d MiB", maxFiles, maxTreeBytes>>20)
		}
		names = append(names, path)
		return nil
	})
	if err != nil {
		return "", fmt.Errorf("hash the folder: %w", err)
	}
	slices.Sort(names)
	sum := sha256.New()
	for _, name := range names {
		if err := digestFile(sum, folder, name); err != nil {
			return "", fmt.Errorf("hash %s: %w", name, err)
		}
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

func digestFile(sum io.Writer, folder fs.FS, name string) (err error) {
	f, err := folder.Open(name)
	if err != nil {
		return err //nolint:wrapcheck // the caller says what was done
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return err //nolint:wrapcheck // the caller says what was done
	}
	data, err := io.ReadAll(io.LimitReader(f, maxTreeBytes+1))
	if err != nil {
		return err //nolint:wrapcheck // the caller says what was done
	}
	mode := byte('-')
	if info.Mode()&0o111 != 0 {
		mode = 'x'
	}
	for _, part := range [][]byte{[]byte(name), {mode}, data} {
		var n [8]byte
		binary.BigEndian.PutUint64(n[:], uint64(len(part)))
		if _, err := sum.Write(append(n[:], part...)); err != nil {
			return err //nolint:wrapcheck // the caller says what was done
		}
	}
	return nil
}

func depth(path string) int {
	n := 0
	for _, r := range path {
		if r == '/' {
			n++
		}
	}
	return n
}
