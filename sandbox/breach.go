package sandbox

import (
	"fmt"
	"strings"
)

// Breach is the error of what changed although it must not, where a level could
// not keep it from changing.
type Breach struct {
	Paths []string // of a tree that must not change
	// PutBack are those of Policy.Code that were changed and are as they were
	// again; Lost those that could not be put back, each with the reason.
	PutBack, Lost []string
}

func (b *Breach) Error() string {
	var parts []string
	for _, part := range []struct {
		text  string
		paths []string
	}{
		{"the tree that must not change did", b.Paths},
		{"what decides what git runs was changed, and was put back", b.PutBack},
		{"what decides what git runs was changed, and could not be put back", b.Lost},
	} {
		if len(part.paths) > 0 {
			parts = append(parts, part.text+": "+firstPaths(part.paths))
		}
	}
	return strings.Join(parts, "; ")
}

// firstPaths lists some paths and says how many more there are.
func firstPaths(paths []string) string {
	const most = 10
	text := strings.Join(paths[:min(len(paths), most)], ", ")
	if len(paths) > most {
		text += fmt.Sprintf(" and %d more", len(paths)-most)
	}
	return text
}
