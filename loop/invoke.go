package loop

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop/compact"
)

// invoke runs one call to its result, within the time of its category. What
// does not return even then is left behind.
func (l *Loop) invoke(ctx context.Context, c *call, update func(string)) toolReport {
	limit := l.timeout(c.offer.info)
	within, cancel := context.WithTimeoutCause(ctx, limit, errOverdue)
	defer cancel()
	result := make(chan toolReport, 1)
	go func() { result <- l.runCall(within, c, update) }()
	overdue := time.NewTimer(limit + grace)
	defer overdue.Stop()
	select {
	case n := <-result:
		if n.end.Status == "cancelled" && ctx.Err() == nil {
			n.end = overdueEnd(c, limit, n.end.Output)
		}
		return n
	case <-overdue.C:
		return toolReport{call: c, end: overdueEnd(c, limit, "")}
	}
}

var errOverdue = errors.New("the tool ran out of time")

func (l *Loop) timeout(tool Info) time.Duration {
	if tool.Timeout > 0 {
		return tool.Timeout
	}
	c := cmp.Or(tool.Category, CategoryRead)
	if d := l.cfg.Timeouts[c]; d > 0 {
		return d
	}
	return DefaultTimeouts()[c]
}

func overdueEnd(c *call, limit time.Duration, output string) *plan.ToolEnd {
	text := fmt.Sprintf("%s was stopped after %s, the most it may take. Ask for less at a time.", c.name, limit)
	if c.offer.info.Writes {
		text += " It may have done part of its work; check before you go on."
	}
	if output != "" {
		text = output + "\n" + text
	}
	return &plan.ToolEnd{
		Error:      true,
		Status:     "timeout",
		Output:     text,
		DurationMS: limit.Milliseconds(),
	}
}

// runCall runs the tool. A panic becomes an error result: one bad tool must not
// end the run.
func (l *Loop) runCall(ctx context.Context, c *call, update func(string)) (n toolReport) {
	began := l.cfg.Now()
	n.call = c
	defer func() {
		if p := recover(); p != nil {
			n.end = &plan.ToolEnd{
				Error: true,
				Output: l.cfg.RedactRead(fmt.Sprintf(
					"%s crashed: %v. This is a defect of the tool; try another way.\n%s",
					c.name,
					p,
					firstFrames(debug.Stack()),
				)),
			}
			n.blobs = nil
		}
		n.end.DurationMS = l.cfg.Now().Sub(began).Milliseconds()
	}()
	res, err := l.runTool(ctx, c, update)
	switch {
	case err != nil && ctx.Err() != nil:
		n.end = l.cancelledEnd(c)
		return n
	case err != nil:
		n.err = fmt.Errorf("tool %s: %w", c.name, err)
		n.end = &plan.ToolEnd{Error: true, Output: l.cfg.RedactRead(n.err.Error())}
		return n
	}
	res = l.afterTool(ctx, c, res)
	if l.runsCommands(c.offer.info.Name) {
		short, whole := compact.Output(res.Output, l.cfg.Compaction, res.Full != nil)
		if res.Output = short; whole != nil {
			res.Full = whole
		}
	}
	n.end, n.blobs = l.endOf(res)
	n.record = res.Record
	return n
}

// endOf turns a result into its event, with known secrets replaced.
func (l *Loop) endOf(res Result) (*plan.ToolEnd, []plan.Blob) {
	end := &plan.ToolEnd{
		Error:     res.Error,
		Output:    l.cfg.RedactRead(res.Output),
		ExitCode:  res.ExitCode,
		Files:     res.Files,
		Status:    res.Status,
		Terminate: res.Terminate,
		Altered:   res.Altered,
		Made:      res.Made,
		Found:     res.Found,
	}
	if res.Full == nil {
		return end, res.Kept
	}
	before, after := plan.NewBlob(res.Full), plan.NewBlob([]byte(l.cfg.RedactRead(string(res.Full))))
	// The output tells the model under which hash to find the whole text.
	end.Output = strings.ReplaceAll(end.Output, before.Hash, after.Hash)
	end.Blob = after.Hash
	return end, append(res.Kept, after)
}

func (l *Loop) cancelledEnd(c *call) *plan.ToolEnd {
	text := "Cancelled."
	if c.offer != nil && c.offer.info.Writes {
		text = "Cancelled while it may have been running: it may have done all, part or none of its work. Check " +
			"before you go on."
	}
	return &plan.ToolEnd{
		Error:  true,
		Status: "cancelled",
		Output: text,
	}
}

// firstFrames keeps the part of a stack that says where it broke.
func firstFrames(stack []byte) string {
	lines := strings.SplitN(string(stack), "\n", 14)
	return strings.Join(lines[:len(lines)-1], "\n")
}
