package review

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/plan-engine/plan"
)

// Doubt says why a DONE does not yet count: it rests on something that the
// record of this review does not show.
type Doubt struct {
	// Claims are the unproven claims, each with what the record says; empty
	// when the DONE claims nothing and nothing else speaks for it.
	Claims []string
	Why    string // one plain sentence
}

// A shell word as it stands in a prefix: quoted, escaped, substituted or plain.
const shellWord = `(?:"(?:[^"\\]|\\.)*"|'[^']*'|\$\([^()]*\)|\\.|[^\s"'\\;&|<>()])+`

// prefix finds what may stand in front of a command without changing what it
// proves: a change of directory, and settings of the environment.
var prefix = regexp.MustCompile(`^\s*(?:` +
	`cd(?:[ \t]+` + shellWord + `)?[ \t]*(?:&&|;|\n)\s*` +
	`|(?:env[ \t]+)?(?:[A-Za-z_][A-Za-z0-9_]*=(?:` + shellWord + `)?[ \t]+)+` +
	`)`)

// normalCommand is a command without white space that means nothing and
// without its prefixes.
func normalCommand(command string) string {
	for {
		rest := command[len(prefix.FindString(command)):]
		if len(rest) == len(command) || strings.TrimSpace(rest) == "" {
			return strings.Join(strings.Fields(command), " ")
		}
		command = rest
	}
}

// doubt looks for what a DONE claims and the record does not show. The last
// run of a command in this review counts: an earlier success proves nothing
// about the state that the later failure saw.
func doubt(v plan.Verdict, ev Evidence) *Doubt {
	ran := make(map[string]int, len(ev.Ran))
	for _, r := range ev.Ran {
		ran[normalCommand(r.Command)] = r.ExitCode
	}
	var d Doubt
	claimed := 0
	for _, c := range v.Commands {
		command := normalCommand(c.Command)
		if command == "" {
			continue
		}
		claimed++
		switch code, ok := ran[command]; {
		case !ok:
			d.Claims = append(d.Claims, fmt.Sprintf("`%s` is said to have exited with %d, but it did not run in this review.", cut(command, 200), c.ExitCode))
		case code != c.ExitCode:
			d.Claims = append(d.Claims, fmt.Sprintf("`%s` is said to have exited with %d, but its last run in this review exited with %d.", cut(command, 200), c.ExitCode, code))
		}
	}
	switch {
	case len(d.Claims) > 0:
		d.Why = fmt.Sprintf("The reviewer said DONE, but the record does not show %s.", count(len(d.Claims), "claimed command", "claimed commands"))
	case claimed == 0 && len(ev.Ran) == 0 && len(ev.Checks) == 0:
		d.Why = "The reviewer said DONE, but no command and no check ran."
	default:
		return nil
	}
	return &d
}

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
