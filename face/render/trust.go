package render

import (
	"fmt"
	"io"
	"strings"

	"github.com/plan-engine/plan/config/trust"
)

// shownDigest is how much of a digest people see.
const shownDigest = 12

// TrustItems writes what a repository wants, and whether it is trusted.
func TrustItems(w io.Writer, items []trust.Item) error {
	if len(items) == 0 {
		return writef(w, "nothing here needs trust\n")
	}
	for _, item := range items {
		if err := trustItem(w, item); err != nil {
			return err
		}
	}
	return nil
}

// TrustQuestion writes what one item would do, and asks whether it may.
func TrustQuestion(w io.Writer, item trust.Item) {
	_ = trustItem(w, item) // the answer decides, and without one there is no yes
	fmt.Fprint(w, "Trust it as it is now? y or n: ")
}

func trustItem(w io.Writer, item trust.Item) error {
	state := "not trusted"
	if item.Trusted {
		state = "trusted"
	}
	digest := item.Digest[:min(shownDigest, len(item.Digest))]
	err := writef(w, "%-11s  %-6s  %-12s  %s\n", state, item.Kind, digest, SafeLine(item.Path))
	for line := range strings.Lines(SafeText(item.Detail)) {
		err = writef(w, "             %s\n", strings.TrimRight(line, "\n"))
	}
	return err
}

// TrustRevoked writes how many yeses were forgotten.
func TrustRevoked(w io.Writer, n int) error { return writef(w, "%d revoked\n", n) }
