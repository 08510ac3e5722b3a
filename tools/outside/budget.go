package outside

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/plan-engine/plan/loop"
)

// bytesPerToken is how many bytes of a schema a token is, at the least.
const bytesPerToken = 3

// Budget is how many tokens the schemas of tools from outside may take in each request: what
// is set, else a twentieth of the window, and at most 4,000.
func Budget(set int, window int64) int {
	const most = 4000
	switch {
	case set != 0:
		return max(set, 0)
	case window > 0:
		return min(most, int(window/20))
	}
	return most
}

// SchemaBytes is what a tool costs in a request.
func SchemaBytes(s loop.Spec) int { return len(s.Name) + len(s.Description) + len(s.Schema) }

// Choose picks the tools that are offered by name: those with the highest scores, as far as
// the budget of tokens goes. They come back in the order of their names.
func Choose(tools []loop.Tool, tokens int, score func(name string) float64) (chosen []loop.Info) {
	infos := make([]loop.Info, len(tools))
	for i, t := range tools {
		infos[i] = t.Info()
	}
	slices.SortFunc(infos, func(a, b loop.Info) int {
		return cmp.Or(cmp.Compare(score(b.Name), score(a.Name)), strings.Compare(a.Name, b.Name))
	})
	left := tokens * bytesPerToken
	for _, info := range infos {
		if cost := SchemaBytes(info.Spec); cost <= left {
			chosen = append(chosen, info)
			left -= cost
		}
	}
	slices.SortFunc(chosen, func(a, b loop.Info) int { return strings.Compare(a.Name, b.Name) })
	return chosen
}

// argumentsOf are the names of a schema's arguments and what it says of them.
func argumentsOf(schema json.RawMessage) string {
	var s struct {
		Properties map[string]struct {
			Description string `json:"description"`
		} `json:"properties"`
	}
	if json.Unmarshal(schema, &s) != nil {
		return ""
	}
	var out []string
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		out = append(out, name, s.Properties[name].Description)
	}
	return strings.Join(out, " ")
}
