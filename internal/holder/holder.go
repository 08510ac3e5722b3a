// Package holder writes into a lock file who holds it, for people.
package holder

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
)

// Sign says in the lock file, which is there, who holds it. The old text is
// overwritten before it is cut, so that a reader always finds a whole JSON
// value at the beginning.
func Sign(path string, owner any) error {
	text, err := json.Marshal(owner)
	if err != nil {
		return fmt.Errorf("sign a lock: %w", err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("sign a lock: %w", err)
	}
	text = append(text, '\n')
	_, err = f.WriteAt(text, 0)
	if err := errors.Join(err, f.Truncate(int64(len(text))), f.Close()); err != nil {
		return fmt.Errorf("sign a lock: %w", err)
	}
	return nil
}

// Read reports who signed the lock file last, into who. It is false before the
// first: a holder may be just about to.
func Read(path string, owner any) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }() // only read
	return json.NewDecoder(f).Decode(owner) == nil
}
