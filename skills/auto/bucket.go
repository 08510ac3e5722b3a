package auto

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/skills"
)

// Threshold is how many successes in a row make a draft.
const Threshold = 3

// Streaks counts, for all processes together.
type Streaks interface {
	// Streak notes that a run of this signature succeeded or failed, once per
	// run, in one transaction. A failure ends the streak. A success that makes
	// it as long as threshold ends it too, and its runs are returned.
	Streak(ctx context.Context, signature string, run plan.RunID, success bool, threshold int) ([]plan.RunID, error)
}

// Bucketer puts tasks of one kind together.
type Bucketer struct {
	Streaks   Streaks
	Threshold int // default Threshold; less than 1 counts as 1
}

// Observe notes how a run ended. It returns the runs that a draft is to be made
// from, oldest first, or none. Ends that say nothing about the work, and
// requests without content words, are passed over.
func (b Bucketer) Observe(
	ctx context.Context,
	run plan.RunID,
	request string,
	outcome plan.State,
) (signature string, runs []plan.RunID, err error) {
	signature = skills.Signature(request)
	success := outcome == plan.Approved
	if signature == "" || !success && outcome != plan.Exhausted && outcome != plan.Failed {
		return signature, nil, nil
	}
	runs, err = b.Streaks.Streak(ctx, signature, run, success, max(b.Threshold, 1))
	if err != nil {
		return signature, nil, fmt.Errorf("count the successes of %q: %w", signature, err)
	}
	return signature, runs, nil
}

// Kind is what a request says of the kind of its task: all but where the task is, in
// paths and by the name of the repository's folder. Equal requests to many
// repositories, or about many folders of one, are of one kind. A request that says
// nothing else is its own kind.
func Kind(request, repo string) string {
	folder := strings.ToLower(filepath.Base(repo))
	words := strings.Fields(request)
	n := 0
	for _, word := range words {
		bare := strings.ToLower(strings.Trim(word, "`'\"()[]<>{}*,;:.!?…“”‘’"))
		if strings.Contains(bare, "/") || bare == folder && repo != "" {
			continue
		}
		words[n] = word
		n++
	}
	if kind := strings.Join(words[:n], " "); len(skills.Words(kind)) > 0 {
		return kind
	}
	return request
}
