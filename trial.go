package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// Trees are the git trees between which a change is judged. They are empty in
// runs of versions that showed commands the repository as it was.
type Trees struct {
	Start string `json:"start,omitempty"` // the change counts from here
	Work  string `json:"work,omitempty"`  // the tree with the change
}

// Trial is one run of a command that decides.
type Trial struct {
	Check
	// Baseline says that nothing has been changed yet.
	Baseline bool
	// Trees say what git shows to the command: HEAD is Work, and HEAD~ Start.
	Trees Trees
	// Took is how long the check ran at the baseline; 0 where that is not known.
	Took time.Duration
	// On is the tree to run it on: TreeReviewed, TreeCounter or TreeStart. Empty
	// is the work tree as it is.
	On string
	// Added are files of a reviewer that are there besides.
	Added []NewFile
	// Again says that an earlier result is in doubt: nothing is recalled.
	Again bool
}

// NewFile is an [AddedFile] with its content.
type NewFile struct {
	AddedFile
	Data []byte
}

// DigestOf tells sets of added files apart; it is "" for none.
func DigestOf(files []NewFile) string {
	if len(files) == 0 {
		return ""
	}
	lines := make([]string, 0, len(files))
	for _, f := range files {
		content := sha256.Sum256(f.Data)
		lines = append(lines, fmt.Sprintf("%o %x %s\x00", f.Mode, content, f.Path))
	}
	slices.Sort(lines)
	sum := sha256.New()
	_, _ = io.WriteString(sum, strings.Join(lines, "")) // a hash takes everything
	return hex.EncodeToString(sum.Sum(nil))
}
