package phases

import (
	"bytes"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/internal/lazy"
	"github.com/plan-engine/plan/review"
)

// diffLimit is how much of a diff a reviewer is shown, in bytes; the rest can
// be read in the tree.
const diffLimit = 60_000

// hidden is a review's brief without what rules deny that is read.
func (ph *Phases) hidden(b plan.Brief) plan.Brief {
	if ph.cfg.Denied == nil {
		return b
	}
	denied := func(path string) bool { return ph.cfg.Denied("", path) }
	b.Diff, b.Since = review.Hide(b.Diff, denied), review.Hide(b.Since, denied)
	return b
}

// changeText shows the change: all of it in the first review, later in short,
// with what is new in full.
func changeText(b plan.Brief) string {
	const rest = "read the files themselves"
	switch {
	case b.Diff == "":
		return "Nothing was changed in the tree."
	case b.Since == "":
		return "All changes since the start of the work:\n\n" + diffText(b.Diff, rest)
	}
	shows := "git diff HEAD~"
	if b.Trees == (plan.Trees{}) { // its git shows the repository as it is
		shows = "git diff"
	}
	return "All changes since the start of the work, in short; `" + shows + "` shows them in full:\n\n" +
		fence("diff-summary", "", cut(review.Summary(b.Diff), diffLimit/4, rest)) +
		"\n\nWhat was changed since the last review:\n\n" + diffText(b.Since, rest)
}

// indexLine names the blobs of a file, which a reader of its diff has no use for.
var indexLine = lazy.Regexp(`(?m)^index [0-9a-f]+\.\.[0-9a-f]+(?: [0-7]+)?\n`)

func diffText(diff, rest string) string {
	return fence("diff", "", cut(indexLine().ReplaceAllString(diff, ""), diffLimit, rest))
}

// noticedText shows what the workflow noticed, and which checks fail. Reasons are
// the implementer's words and stay out.
func noticedText(findings []plan.Finding, checks []plan.CheckResult) string {
	text, answer, edited := "", false, false
	for _, f := range findings {
		mark := ""
		if f.Answer {
			mark, answer = " (to be answered)", true
			edited = edited || f.Kind == plan.FindEdited
		}
		text += "- " + f.Text + mark + "\n"
	}
	for _, c := range checks {
		if c.Fails() {
			how := "fails"
			if c.NotStarted != "" {
				how = "could not start, which says nothing of the change: run what it is for in another way"
			}
			text += fmt.Sprintf("- The check `%s` %s. (to be answered)\n", c.Command, how)
			answer = true
		}
	}
	if text == "" {
		return ""
	}
	words := "The workflow noticed this about the change, without judging it. Look into each: is it right, and " +
		"does the request need it?"
	if answer {
		words += " A DONE needs an item of its own in the checklist for each that is to be answered: name the " +
			"path or the command and say why it is right."
	}
	if edited {
		words += " `git checkout HEAD~ -- PATH` brings a test back as it was before the change: run it so on the work, " +
			"and say what fails and why it may."
	}
	return words + "\n\n" + fence("noticed", "", text)
}

// gapText shows the gaps that earlier reviews named, and what a later review is
// for.
func gapText(gaps []plan.Gap) string {
	if len(gaps) == 0 {
		return ""
	}
	text := ""
	for _, g := range gaps {
		text += fmt.Sprintf("- %s, %s (%s): %s\n", g.ID, g.Status, g.Severity, g.Gap)
	}
	return "An earlier review of this work named gaps. Check for each open one whether it is really closed now, " +
		"and use its id if it is not. Beyond that, judge what was changed since.\n\n" +
		fence(
			"known-gaps",
			"",
			text,
		)
}

// answersText shows what the author said of gaps that are open. It is the only
// part of the author's words that a reviewer hears.
func answersText(gaps []plan.Gap, closing string) string {
	text := ""
	for _, g := range gaps {
		if remark := wordsOn(g.ID, closing); g.Open() && remark != "" {
			remark = strings.TrimLeft(remark[gapNamed().FindStringIndex(remark)[1]:], " *_`#:.)]–—-\n")
			text += fmt.Sprintf("- %s: %s\n", g.ID, strings.ReplaceAll(remark, "\n", "\n  "))
		}
	}
	if text == "" {
		return ""
	}
	return "The author answered this to open gaps. It is one side's word: where it says that a gap is mistaken, " +
		"run what it names and judge by that.\n\n" +
		fence(
			"author-answers",
			"",
			cut(text, answerLimit, "the rest is left out"),
		)
}

const (
	answerLimit = 6000 // bytes of the author's answers
	addedLimit  = 8000 // bytes of a reviewer's new files that are shown
	mostShown   = 50   // of these files
	// unnamedLimit is how long one may be, in bytes, that nothing says what it is for.
	unnamedLimit = 400

	commandLimit  = 1500 // bytes of one command of a review
	commandsLimit = 8000 // bytes of all of them
)

// wordsOn is the part of a text that begins where a gap is named at the start of
// a line, up to the next gap, heading or empty line.
func wordsOn(id, text string) string {
	var out []string
	inside := false
	for line := range strings.Lines(text) {
		named := gapNamed().FindStringSubmatch(line)
		trimmed := strings.TrimSpace(line)
		switch {
		case named != nil:
			inside = strings.EqualFold(named[1], id)
		case trimmed == "" || strings.HasPrefix(trimmed, "#"):
			inside = false
		}
		if inside {
			out = append(out, trimmed)
		}
	}
	return strings.Join(out, "\n")
}

// gapNamed finds a gap's id at the start of a line, behind marks of a list.
var gapNamed = lazy.Regexp("^[\\s>*_#`+(\\[-]*([Gg][0-9]{1,9})\\b")

// openPoints are what an implementer said it left open: the lines below the words
// "Left open".
func openPoints(closing string) []string {
	var out []string
	inside := false
	for line := range strings.Lines(closing) {
		text := strings.TrimSpace(line)
		if at := leftOpen().FindStringIndex(text); at != nil {
			inside = true
			text = text[at[1]:]
		} else if strings.HasPrefix(text, "#") {
			inside = false
		}
		text = strings.TrimSpace(strings.TrimLeft(text, "-*+•: "))
		if inside && text != "" && !nothingOpen().MatchString(text) {
			out = append(out, cut(text, 500, "the rest is left out"))
		}
	}
	return out[:min(len(out), 20)]
}

// acceptedPoints are what a plan says is to be watched and is handled by none of its
// steps: what it does not clearly handle, it accepts.
func acceptedPoints(text string) []string {
	var out []string
	for l := range planLines(text) {
		item := strings.TrimSpace(l.text)
		if !strings.HasPrefix(l.section, "watched") || item == "" {
			continue
		}
		if m := bullet().FindStringSubmatch(l.text); m != nil || len(out) == 0 {
			out = append(out, strings.TrimSpace(strings.TrimLeft(item, "-*+• ")))
		} else { // goes on in another line
			out[len(out)-1] += " " + item
		}
	}
	out = slices.DeleteFunc(out, func(item string) bool {
		return nothingOpen().MatchString(item) || handledIn().MatchString(item) && !acceptedWord().MatchString(item)
	})
	for i := range out {
		out[i] = cut(out[i], 500, "the rest is left out")
	}
	return out[:min(len(out), 20)]
}

// leftText tells a reviewer what the plan accepted, which stands in the plan that it is
// shown, and what its author left open: the person who asked is told as well, and
// neither is an excuse.
func leftText(b plan.Brief) string {
	var parts []string
	if b.Plan != nil && len(acceptedPoints(b.Plan.Text)) > 0 {
		parts = append(parts, "what the plan has under Watched and handles in no step")
	}
	open := ""
	for _, item := range openPoints(b.Closing) {
		open += "- " + item + "\n"
	}
	if open != "" {
		open = "\n\n" + fence("left", "", open)
		parts = append(parts, "what the author left open")
	}
	if len(parts) == 0 {
		return ""
	}
	return "Seen and not done is " + strings.Join(parts, ", and ") + ". That is the word of those who did the " +
		"work: where the request asks for it, or where it breaks what used to work, it is a gap." + open
}

var (
	handledIn    = lazy.Regexp(`(?i)\bhandled (?:in|by) steps? \d`)
	acceptedWord = lazy.Regexp(`(?i)\baccept(?:ed|s)?\b`)
	leftOpen     = lazy.Regexp(`(?im)^[#*\s]*left open[*\s]*(:[*\s]*|$)`)
	nothingOpen  = lazy.Regexp(`(?i)^[(*\s]*(nothing|none|no|n/a)\b[\s.*)]*$`)
)

// earlierReview tells of the last review what another reviewer, or the author,
// can use: what it ran, and the files that it made for that.
func (ph *Phases) earlierReview(ctx context.Context, b plan.Brief) (string, error) {
	if b.Last == nil || len(b.Last.Commands)+len(b.Last.Added) == 0 {
		return "", nil
	}
	text := ""
	for _, c := range b.Last.Commands {
		if c.Command != "" {
			line := cut(strings.TrimSpace(c.Command), commandLimit, "the rest is left out")
			text += fmt.Sprintf("- `%s` ended with %d\n", line, c.ExitCode)
		}
	}
	text = cut(text, commandsLimit, "the rest is left out")
	commands, left := text, addedLimit
	for i, f := range b.Last.Added {
		if left <= 0 || i >= mostShown || ph.cfg.Blob == nil {
			text += fmt.Sprintf("\n%d more files are left out.\n", len(b.Last.Added)-i)
			break
		}
		data, err := ph.cfg.Blob(ctx, f.Hash)
		if err != nil {
			return "", fmt.Errorf("read %s, which the last review made: %w", f.Path, err)
		}
		quoted := addedText(f.Path, data, commands, left)
		left -= len(quoted)
		text += "\n" + quoted
	}
	return fence("last-review", "", text), nil
}

// addedText shows a file that a review made for what it ran. One that no command names and
// that is no test is mostly something that a command has put out: of that its size is told.
func addedText(name string, data []byte, commands string, most int) string {
	content := strings.TrimSpace(string(data))
	switch {
	case !utf8.Valid(data) || bytes.IndexByte(data, 0) >= 0:
		return fmt.Sprintf("%s: %d bytes that are no text\n", name, len(data))
	case content != "" && strings.Contains(commands, "\n"+content+"\n"):
		return name + ": what a command above writes\n"
	case len(data) > unnamedLimit && !review.IsTest(name) && !namesFile(commands, path.Base(name)):
		return fmt.Sprintf("%s: %d bytes\n", name, len(data))
	}
	return name + ":\n" + indent(cut(string(data), most, "the rest is left out"))
}

// namesFile reports whether a file's name stands in commands.
func namesFile(commands, base string) bool {
	ends := func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("._-", r)
	}
	return slices.Contains(strings.FieldsFunc(commands, ends), base)
}
