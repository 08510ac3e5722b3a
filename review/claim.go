package review

import (
	"fmt"
	"path"
	"strings"

	"github.com/plan-engine/plan"
)

// Doubt says why a verdict does not yet count. A DONE may rest on something
// that the record of this review does not show, or say nothing about what
// speaks against it.
type Doubt struct {
	// Claims are the unproven claims, each with what the record says; empty
	// when the DONE claims nothing and nothing else speaks for it.
	Claims []string
	Why    string // one plain sentence
	// Small says that it is a NEEDS_FIX which names nothing that stands in the
	// way.
	Small bool
}

// record is what the commands of a review prove.
type record struct {
	exits  map[string]int    // normal form of a command, or of a line that failed → its last exit code
	hidden map[string]string // normal form of a command → why a line that ran it proves nothing
}

// recordOf reads what ran, in order. The last run of a command counts: an
// earlier success proves nothing about the state that the later failure saw.
func recordOf(ev Evidence) record {
	r := record{exits: map[string]int{}, hidden: map[string]string{}}
	for _, command := range ev.Empty {
		r.hidden[readLine(command).text()] = fmt.Sprintf("`%s`, and no test ran in it", cut(strings.TrimSpace(command), 200))
	}
	for _, c := range ev.Ran {
		l := readLine(c.Command)
		if l.mask != "" {
			for _, inside := range l.inside {
				r.hidden[inside] = fmt.Sprintf("`%s`, and %s", cut(strings.TrimSpace(c.Command), 200), l.mask)
			}
			continue
		}
		r.exits[l.text()] = c.ExitCode
		if c.ExitCode == 0 { // else it is not known which part failed
			for _, part := range l.parts {
				r.exits[part] = 0
			}
		}
	}
	return r
}

// succeeded reports whether any command is shown to have ended well.
func (r record) succeeded() bool {
	for _, code := range r.exits {
		if code == 0 {
			return true
		}
	}
	return false
}

// objection says in one sentence why the record does not show a claim, or "".
func (r record) objection(c plan.RanCommand) string {
	l := readLine(c.Command)
	said := fmt.Sprintf("`%s` is said to have exited with %d, but ", cut(strings.TrimSpace(c.Command), 200), c.ExitCode)
	if l.mask != "" {
		return said + "that proves nothing: " + l.mask + "."
	}
	code, ok := r.exits[l.text()]
	if !ok && c.ExitCode == 0 && r.all(l.parts) {
		return ""
	}
	why, hidden := r.hidden[l.text()]
	switch {
	case ok && code == c.ExitCode:
		return ""
	case ok:
		return said + fmt.Sprintf("its last run in this review exited with %d.", code)
	case hidden:
		return said + "it ran in this review only as " + why + "."
	}
	return said + "it did not run in this review."
}

// all reports whether every part of a chain is shown to have succeeded.
func (r record) all(parts []string) bool {
	for _, p := range parts {
		if code, ok := r.exits[p]; !ok || code != 0 {
			return false
		}
	}
	return len(parts) > 0
}

// doubt looks for what a DONE claims and the record does not show, and for what
// it should have spoken of and did not.
func doubt(v plan.Verdict, ev Evidence) *Doubt {
	rec := recordOf(ev)
	var d Doubt
	claimed := 0
	for _, c := range v.Commands {
		if strings.TrimSpace(c.Command) == "" {
			continue
		}
		claimed++
		if text := rec.objection(c); text != "" {
			d.Claims = append(d.Claims, text)
		}
	}
	unsaid := unmentioned(v, ev.Findings)
	switch {
	case len(d.Claims) > 0:
		d.Why = fmt.Sprintf("The reviewer said DONE, but the record does not show %s.", count(len(d.Claims), "claimed command", "claimed commands"))
	case claimed == 0 && !rec.succeeded() && !decided(ev.Checks):
		d.Why = "The reviewer said DONE, but no command and no check ran."
		if len(ev.Ran)+len(ev.Empty)+len(ev.Checks) > 0 {
			d.Why = "The reviewer said DONE, but nothing that ran shows it: no command of this review and no check that can fail has passed."
		}
	case len(unsaid) > 0:
		d.Why = fmt.Sprintf("The reviewer said DONE without a word on %s.", count(len(unsaid), "thing that speaks against it", "things that speak against it"))
	default:
		return nil
	}
	d.Claims = append(d.Claims, unsaid...)
	return &d
}

// decided reports whether a check that can fail has passed. A required one is
// somebody's word; others, which a plan may name, must be able to show a
// failure.
func decided(checks []plan.CheckResult) bool {
	for _, c := range checks {
		if passed(c) && (c.Required || Masked(c.Command) == "") {
			return true
		}
	}
	return false
}

// unmentioned lists the findings that a DONE has to speak of in its checklist
// and does not.
func unmentioned(v plan.Verdict, findings []plan.Finding) []string {
	var said strings.Builder
	for _, item := range v.Checklist {
		said.WriteString(item.Item + "\n" + item.Evidence + "\n")
	}
	var out []string
	for _, f := range findings {
		if f.Answer && !strings.Contains(said.String(), f.Path) && !strings.Contains(said.String(), path.Base(f.Path)) {
			out = append(out, f.Text+" The checklist does not say why that is right.")
		}
	}
	return out
}

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
