// Package dirhash hashes a folder with all that is in it.
//
// It must not know what the folder is for, or where hashes are kept.
package dirhash

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
)

// Bounds of a folder.
const (
	maxDepth = 8 // folders within it
	maxFiles = 4096
	maxBytes = 32 << 20
)

// Of is a hash over every file of a folder but those at paths that are left out:
// names, executable bits and contents, each with its length in front, so that no
// two folders have the same one. Links and special files are refused: what they
// lead to could change without the hash changing. So are deep and very large
// folders.
func Of(folder fs.FS, leaveOut ...string) (string, error) {
	var names []string
	err := fs.WalkDir(folder, ".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && strings.Count(path, "/") >= maxDepth:
			return fmt.Errorf("%s: folders are nested more than %d deep", path, maxDepth)
		case d.IsDir():
			return nil
		case !d.Type().IsRegular():
			return fmt.Errorf("%s is a link or a special file, and only regular files can be hashed", path)
		case slices.Contains(leaveOut, path):
			return nil
		case len(names) == maxFiles:
			return fmt.Errorf("it holds more than %d files", maxFiles)
		}
		names = append(names, path)
		return nil
	})
	if err != nil {
		return "", fmt.Errorf("hash the folder: %w", err)
	}
	slices.Sort(names)
	sum, left := sha256.New(), int64(maxBytes)
	for _, name := range names {
		if left, err = add(sum, folder, name, left); err != nil {
			return "", fmt.Errorf("hash %s: %w", name, err)
		}
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// add hashes one file. It returns how many more bytes there may be.
func add(sum io.Writer, folder fs.FS, name string, left int64) (_ int64, err error) {
	f, err := folder.Open(name)
	if err != nil {
		return 0, err //nolint:wrapcheck // the caller says what was done
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return 0, err //nolint:wrapcheck // the caller says what was done
	}
	data, err := io.ReadAll(io.LimitReader(f, left+1))
	if err != nil {
		return 0, err //nolint:wrapcheck // the caller says what was done
	}
	if left -= int64(len(data)); left < 0 {
		return 0, fmt.Errorf("the folder holds more than %d MiB", maxBytes>>20)
	}
	mode := byte('-')
	if info.Mode()&0o111 != 0 {
		mode = 'x'
	}
	for _, part := range [][]byte{[]byte(name), {mode}, data} {
		var n [8]byte
		binary.BigEndian.PutUint64(n[:], uint64(len(part)))
		if _, err := sum.Write(append(n[:], part...)); err != nil {
			return 0, err //nolint:wrapcheck // the caller says what was done
		}
	}
	return left, nil
}
