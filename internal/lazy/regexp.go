// Package lazy makes what a package needs only when it is asked for, so that a
// process does not begin by making what it will not use.
package lazy

import (
	"regexp"
	"sync"
)

// Regexp is [regexp.MustCompile], done at the first call of what it returns.
// Calls may come from several goroutines.
func Regexp(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
}
