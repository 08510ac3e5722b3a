package render

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/plan-engine/plan/host/toolbox"
	"github.com/plan-engine/plan/internal/oneline"
)

// shownWords is how much of a tool's description people see, in runes.
const shownWords = 60

// Tools writes which tools come from outside, and where they come from.
func Tools(w io.Writer, sources []toolbox.Source) error {
	if len(sources) == 0 {
		return writef(w, "There are no tools from outside: no settings name a server that you have trusted.\n")
	}
	for _, s := range sources {
		if err := toolSource(w, s); err != nil {
			return err
		}
	}
	return nil
}

func toolSource(w io.Writer, s toolbox.Source) error {
	head := fmt.Sprintf("%d tools", len(s.Tools))
	if s.Unknown {
		head = "not known"
	}
	if s.Problem != "" {
		head += "; " + oneline.Of(s.Problem)
	}
	if err := writef(w, "%s: %s\n", s.Name, head); err != nil || len(s.Tools) == 0 {
		return err
	}
	var rows [][]string
	for _, t := range s.Tools {
		rule := "asks first"
		if t.Reads {
			rule = "reads"
		}
		rows = append(rows, []string{
			"  " + strings.TrimPrefix(t.Name, s.Name+"."),
			rule,
			strconv.Itoa(t.Bytes) + " B",
			oneline.Cut(oneline.Of(t.Description), shownWords),
		})
	}
	return writeTable(w, rows)
}

// TriedTool writes what a model would read of a call.
func TriedTool(w io.Writer, tried toolbox.Tried) error {
	if tried.Error {
		return writef(w, "failed: %s\n", tried.Output)
	}
	return writef(w, "%s\n", tried.Output)
}

// ToolStats writes what became of tools from outside.
func ToolStats(w io.Writer, stats []toolbox.Stats) error {
	if len(stats) == 0 {
		return writef(w, "No tool from outside was offered or called yet.\n")
	}
	rows := [][]string{{"TOOL", "OFFERED", "CALLED", "FAILED", "MEAN"}}
	for _, s := range stats {
		rows = append(rows, []string{
			s.Name,
			strconv.Itoa(s.Offered),
			strconv.Itoa(s.Called),
			strconv.Itoa(s.Failed),
			(time.Duration(s.MeanMS) * time.Millisecond).String(),
		})
	}
	return writeTable(w, rows)
}
