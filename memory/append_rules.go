package memory

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/plan-engine/plan"
)

// checkRunEnd refuses a run_end that ends nothing.
func checkRunEnd(e plan.Event) error {
	if end, ok := e.Body.(plan.RunEnd); ok && !end.Outcome.Final() {
		return ruleError(fmt.Sprintf("a run cannot end with the outcome %q, which is not final", end.Outcome))
	}
	return nil
}

// checkNext says why an event cannot come next in this journal.
func (t journalTail) checkNext(run plan.RunID, e plan.Event) error {
	first := t.info.Head == 0
	switch isStart := e.Type() == plan.TypeRunStart; {
	case e.Body == nil:
		return ruleError("an event has no body")
	case e.Run != run:
		return ruleError(fmt.Sprintf("a %s event belongs to run %q", e.Type(), e.Run))
	case e.Live():
		return ruleError(fmt.Sprintf("a %s event is live, and live events are never stored", e.Type()))
	case !fromNanos(e.Time.UnixNano()).Equal(e.Time): // the zero time and times centuries away
		return ruleError(fmt.Sprintf("a %s event has no usable time (%s)", e.Type(), e.Time))
	case t.info.Ended():
		return fmt.Errorf("a %s event cannot follow run_end: %w", e.Type(), ErrEnded)
	case first && !isStart:
		return ruleError(fmt.Sprintf("a journal cannot begin with a %s event, it begins with run_start", e.Type()))
	case !first && isStart:
		return ruleError("the run has started already")
	}
	for _, b := range e.Blobs {
		if sum := sha256.Sum256(b.Data); hex.EncodeToString(sum[:]) != b.Hash {
			return ruleError(
				fmt.Sprintf("a blob of a %s event has the hash %q, which is not the hex SHA-256 of its %d bytes",
					e.Type(), b.Hash, len(b.Data)),
			)
		}
	}
	return nil
}

// ruleError is an append that breaks the rules of the journal: a mistake of the
// program, not of the file.
type ruleError string

func (r ruleError) Error() string { return string(r) }
