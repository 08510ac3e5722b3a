package toolbox

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/plan-engine/plan/internal/oneline"
	"github.com/plan-engine/plan/loop"
	"github.com/plan-engine/plan/memory"
	"github.com/plan-engine/plan/phases"
	"github.com/plan-engine/plan/tools/outside"
)

// aboutBytes bounds what is said of sources in the description of find_tools.
const aboutBytes = 600

// Offer chooses the tools that a run is offered by name: of those that are known already, what
// runs with a request of this kind have called before, as far as the budget goes. Nothing is
// started for it.
func (t *Toolbox) Offer(
	ctx context.Context,
	request string,
	window int64,
	needs []memory.ToolNeed,
) (phases.Outsiders, error) {
	var known []loop.Tool
	var about []string
	unknown := false
	for _, src := range t.Sources("") {
		tools := src.Known()
		if tools == nil {
			unknown = true
			about = append(about, src.Name())
			continue
		}
		about = append(about, fmt.Sprintf("%s (%d)", src.Name(), len(tools)))
		known = append(known, tools...)
	}
	score, err := scores(ctx, known, request, needs)
	if err != nil {
		return phases.Outsiders{}, err
	}
	reading := slices.DeleteFunc(slices.Clone(known), func(tool loop.Tool) bool { return !outside.Reads(tool.Info()) })
	budget := outside.Budget(t.cfg.Settings.Tools.Budget, window)
	out := phases.Outsiders{
		Named:   outside.Choose(known, budget, score),
		Reading: outside.Choose(reading, budget, score),
	}
	out.Further = func(reads bool) bool {
		if reads {
			return unknown || len(out.Reading) < len(reading)
		}
		return unknown || len(out.Named) < len(known)
	}
	if out.Further(false) {
		out.About = oneline.CutBytes("Sources: "+strings.Join(about, ", ")+".", aboutBytes)
	}
	return out, nil
}

// scores say how much a tool is to be expected: what runs called whose request has words of
// this one counts most, then what its description has of them.
func scores(
	ctx context.Context,
	known []loop.Tool,
	request string,
	needs []memory.ToolNeed,
) (func(string) float64, error) {
	out := map[string]float64{}
	of := func(name string) float64 { return out[name] }
	if len(known) == 0 || request == "" {
		return of, nil
	}
	names, texts := make([]string, len(needs)), make([]string, len(needs))
	for i, n := range needs {
		texts[i] = n.Request
		out[n.Tool] += 0.1 // it was needed for something
	}
	similar, err := ranked(ctx, names, texts, request, len(needs))
	if err != nil {
		return nil, err
	}
	for place, i := range similar {
		out[needs[i].Tool] += 10 / float64(1+place)
	}
	names, texts = make([]string, len(known)), make([]string, len(known))
	for i, tool := range known {
		d := outside.DocumentOf(tool.Info())
		names[i], texts[i] = d.Name, d.Text
	}
	fit, err := ranked(ctx, names, texts, request, len(known))
	if err != nil {
		return nil, err
	}
	for place, i := range fit {
		out[known[i].Info().Name] += 1 / float64(1+place)
	}
	return of, nil
}

// ranked lists the numbers of the texts that have words of a request, the best first.
func ranked(ctx context.Context, names, texts []string, request string, most int) ([]int, error) {
	if len(texts) == 0 {
		return nil, nil
	}
	index, err := memory.NewTextIndex(ctx, names, texts)
	if err != nil {
		return nil, err
	}
	matches, err := index.Search(ctx, request, most)
	if failed := index.Close(); err == nil {
		err = failed
	}
	return matches, err
}
