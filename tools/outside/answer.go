package outside

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/plan-engine/plan/loop"
	"github.com/plan-engine/plan/sandbox"
)

// Bounds of an answer.
const (
	answerBytes = 32 << 10 // that the model reads
	keptBytes   = 8 << 20  // that it can page through
)

// Unsure is said of a call that may change something and was not answered.
const Unsure = " It may have done all, part or none of its work: find out before you call it again."

// Answer is the result of a call that was answered. Failed says that the source calls it a
// failure, and why in words of our own, "" for none.
func Answer(text, failed string) loop.Result {
	whole := []byte(text)
	short, cut := sandbox.Cut(whole, answerBytes)
	out := loop.Result{
		Output: fence("result", short),
		Error:  failed != "",
	}
	if failed != "" {
		out.Output = failed + "\n" + out.Output
	}
	if cut {
		out.Full = []byte(strings.ToValidUTF8(string(whole[:min(len(whole), keptBytes)]), "\uFFFD"))
		sum := sha256.Sum256(out.Full)
		out.Output += fmt.Sprintf(
			"\n[cut; page through the whole with read, path \"blob:%s\"]",
			hex.EncodeToString(sum[:]),
		)
	}
	return out
}
