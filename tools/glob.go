package tools

import (
	"context"
	_ "embed"
	"fmt"
	"strings"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop"
)

//go:embed glob.md
var globDoc string

// globFiles is how many paths are shown at most.
const globFiles = 500

type globArgs struct {
	Pattern string `json:"pattern"`
	Path    string `json:"path,omitempty"`
}

func globTool() builtin {
	return builtin{
		info: loop.Info{
			Spec:     spec("glob", globDoc),
			Effect:   plan.EffectReplay,
			Category: loop.CategorySearch,
		},
		purpose: Inspect,
		describe: described(func(_ string, a globArgs) Call {
			return describeSearch(a.Pattern, a.Path, "")
		}),
		open: opens((*Set).runGlob),
	}
}

func (s *Set) runGlob(ctx context.Context, a globArgs, _ loop.Input) (loop.Result, error) {
	if a.Pattern == "" {
		return loop.Failed("the glob pattern is empty; give one such as **/*.go"), nil
	}
	where, failed, err := s.inScope(ctx, a.Path, a.Pattern)
	if err != nil || failed != nil {
		return orFailed(failed), err
	}
	if where.single {
		return loop.Failed(fmt.Sprintf("%s is a file; path takes a directory", show(where.files[0]))), nil
	}
	var out strings.Builder
	shown, missing := 0, 0
	for _, name := range where.files {
		if shown == globFiles {
			break
		}
		if _, err := s.root.Lstat(name); err != nil {
			missing++ // deleted, but still in git's index
			continue
		}
		out.WriteString(show(name) + "\n")
		shown++
	}
	if shown == 0 {
		return loop.Result{Output: fmt.Sprintf("every file that matches %s was deleted\n", a.Pattern)}, nil
	}
	if more := len(where.files) - shown - missing; more > 0 {
		fmt.Fprintf(
			&out,
			"[%s; narrow the pattern or the path]\n",
			count(more, "more file matches", "more files match"),
		)
	}
	return loop.Result{Output: out.String()}, nil
}
