package tools

import (
	"context"
	_ "embed"
	"fmt"
	"strings"
	"time"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/internal/failpoint"
	"github.com/plan-engine/plan/loop"
	"github.com/plan-engine/plan/sandbox"
)

//go:embed bash.md
var bashDoc string

const (
	defaultTimeout = 120 // seconds
	longestTimeout = 600 // seconds
	// outputBytes is how much of an output a model is shown.
	outputBytes = 30_000
)

type bashArgs struct {
	Command  string `json:"command"`
	TimeoutS int    `json:"timeout_s,omitempty" jsonschema:"minimum=1"`
}

func bashTool() builtin {
	return builtin{
		info: loop.Info{
			Spec:     spec("bash", bashDoc),
			Effect:   plan.EffectUnknown,
			Serial:   true,
			Writes:   true,
			Category: loop.CategoryExec,
		},
		purpose: Execute,
		describe: described(func(dir string, a bashArgs) Call {
			c := Call{Command: a.Command, Title: a.Command}
			if a.Command != "" {
				c.Preview = func() string { return previewCommand(dir, a.Command) }
			}
			return c
		}),
		open: func(s *Set, info loop.Info) loop.Tool {
			if s.cfg.Shell == nil {
				return nil
			}
			return opens((*Set).runBash)(s, info)
		},
	}
}

func (s *Set) runBash(ctx context.Context, args bashArgs, in loop.Input) (loop.Result, error) {
	if strings.TrimSpace(args.Command) == "" {
		return loop.Failed("the command is empty; give a command line for bash"), nil
	}
	seconds := args.TimeoutS
	if seconds <= 0 {
		seconds = defaultTimeout
	}
	seconds = min(seconds, longestTimeout)
	live := &liveText{update: in.Update}
	failpoint.Hit("before a command")
	res, err := s.cfg.Shell.Run(ctx, sandbox.Command{
		Line:    args.Command,
		Dir:     s.dir,
		Timeout: time.Duration(seconds) * time.Second,
		Output:  live.write,
	})
	failpoint.Hit("after a command")
	live.close()
	out := outcome([]byte(s.cfg.Redact(string(res.Output))))
	switch {
	case err != nil && ctx.Err() != nil:
		out.Status, out.Error = "cancelled", true
		out.Output += "cancelled: the command was killed before it ended and may have run partly; look at what it " +
			"changed before running it again"
		return out, nil
	case err != nil:
		return loop.Failed(clean([]byte("the command did not start: " + err.Error()))), nil
	case res.TimedOut:
		out.Status = "timeout"
		out.Output += fmt.Sprintf(
			"timed out: killed after %d s, with everything it had started; it may have run partly. %s\n",
			seconds,
			advice(seconds),
		)
	}
	if text, files := s.changed(); text != "" {
		out.Output += text + "\n"
		out.Files = files
	}
	out.Output += fmt.Sprintf("exit status %d", res.ExitCode)
	out.ExitCode, out.Error = &res.ExitCode, res.ExitCode != 0
	if hadEnough(args.Command, res.ExitCode) {
		out.Error = false
		out.Output += " (SIGPIPE: a later stage of the pipe had read enough; this says nothing of the one before it)"
	}
	return out, nil
}

// hadEnough reports whether a pipe ended because a stage such as head read no more. That
// is no failure, and as its status is that of a signal, it proves nothing either.
func hadEnough(line string, status int) bool {
	const bySIGPIPE = 128 + 13
	return status == bySIGPIPE && strings.Contains(line, "|")
}

// advice says what to do about a command that ran out of time.
func advice(seconds int) string {
	if seconds < longestTimeout {
		return fmt.Sprintf("Give it more time with timeout_s (at most %d), or make it do less", longestTimeout)
	}
	return "That is the longest there is: make it do less at a time"
}

// outcome is an output as the model reads it, ending in a newline, and the
// whole of it where that is more.
func outcome(output []byte) loop.Result {
	text, cut := sandbox.Cut(output, outputBytes)
	switch {
	case text == "":
		text = "(no output)\n"
	case !strings.HasSuffix(text, "\n"):
		text += "\n"
	}
	if !cut {
		return loop.Result{Output: text}
	}
	text += fmt.Sprintf("[output cut; the whole of it has %s: page through it with read, path \"%s%s\"]\n",
		size(output), blobScheme, hashOf(output))
	return loop.Result{Output: text, Full: output}
}
