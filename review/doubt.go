package review

import "strings"

// text is what a reviewer is told of a doubt, and what can be done about it.
func (d *Doubt) text() string {
	var b strings.Builder
	verdict := "DONE"
	if d.Kind == DoubtSmall || d.Kind == DoubtAltered {
		verdict = "NEEDS_FIX"
	}
	b.WriteString("Your " + verdict + " does not count yet. " + d.Why + "\n")
	for _, c := range d.Claims {
		b.WriteString("- " + strings.ReplaceAll(c, "\n", "\n  ") + "\n")
	}
	b.WriteString(d.advice() + "\n")
	return b.String()
}

// advice is what the reviewer can do about a doubt.
func (d *Doubt) advice() string {
	switch d.Kind {
	case DoubtClaims:
		return "Each claimed line was run alone in a fresh copy of the work, with the new files that you made, and " +
			"nothing that earlier calls left behind. " +
			"If it needs preparing, restate it as one line that prepares, asks and stops. If it shows that something " +
			"is wrong, the verdict is NEEDS_FIX."
	case DoubtSilent:
		return "Look into each. If it is right, give it an item of its own in the checklist, an object with `met` " +
			"true that names the path or the command and says why; if it is not, the verdict is NEEDS_FIX."
	case DoubtShown:
		return "Claim in `commands` one line that passes on the work and would fail without it: a test of the new " +
			"behaviour (also one that you write now), or a command that asks for it. " +
			"It is run again alone, on the work and on the tree without the change. " +
			"If no command can tell the two apart (a refactoring, speed, formatting, documentation), say why in " +
			"`unchanged`, and claim a line that shows that nothing broke. " +
			"If nothing was changed because nothing had to be, say why in `no_change`."
	case DoubtSmall:
		return "What is only desirable stands in the way of nothing. If the work does what was asked, the verdict is " +
			"DONE, and such remarks belong into `notes`. " +
			"If one of them is a requirement that is not met, or a wrong result that you saw, say `must` and why."
	case DoubtAltered:
		return "Run them again on the work as it is: in a fresh state of your copy, `git stash` or `git checkout " +
			"HEAD -- PATH` brings the reviewed files back. HEAD is the work, and HEAD~ is what was there before it."
	}
	return ""
}
