package checks

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Programs lists the programs that a command line names: what each of its commands
// runs, behind what only wraps it.
func Programs(line string) []string {
	file, err := syntax.NewParser().Parse(strings.NewReader(line), "")
	if err != nil {
		return nil
	}
	var out []string
	syntax.Walk(file, func(node syntax.Node) bool {
		call, ok := node.(*syntax.CallExpr)
		if !ok {
			return true
		}
		var words []string
		for _, word := range call.Args {
			words = append(words, word.Lit()) // "" for what only a shell can tell
		}
		for _, words := range [][]string{words, unwrap(words)} {
			if len(words) > 0 && words[0] != "" && !slices.Contains(out, words[0]) {
				out = append(out, words[0])
			}
		}
		return true
	})
	return out
}
