package permit

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// redirect reads a redirection.
func (r *reader) redirect(rd *syntax.Redirect) {
	r.within(rd, unfed)
	switch rd.Op {
	case syntax.RdrIn, syntax.DplIn:
		r.input(rd.Word)
		return
	case syntax.RdrOut,
		syntax.AppOut,
		syntax.RdrInOut,
		syntax.RdrClob,
		syntax.AppClob,
		syntax.RdrAll,
		syntax.RdrAllClob,
		syntax.AppAll,
		syntax.AppAllClob:
	case syntax.DplOut:
		if values, ok := r.values(rd.Word); ok && len(values) == 1 && isDescriptor(values[0]) {
			return
		}
	default:
		return
	}
	for _, words := range r.readings(rd.Word) {
		for _, target := range r.written(words) {
			p := Part{Text: "> " + target.shown, Redirect: true}
			p.write(r, target)
			r.parts = append(r.parts, p)
		}
	}
}

// isDescriptor reports whether a redirection goes to another one and to no file.
func isDescriptor(text string) bool { return strings.Trim(text, "0123456789-") == "" }

// written are words with their patterns written out to files.
func (r *reader) written(words []word) []word {
	p := Part{argv: append([]word{value("")}, words...)}
	p.expand(r)
	for i := range p.argv {
		if p.argv[i].shown == "" {
			p.argv[i].shown = p.argv[i].text
		}
	}
	return p.argv[1:]
}

// input reads where input comes from. What is judged of it stands by itself,
// because it is read whatever the command does.
func (r *reader) input(from *syntax.Word) {
	if values, ok := r.values(from); ok && len(values) == 1 && isDescriptor(values[0]) {
		return
	}
	p := Part{Text: "< " + source(from), Redirect: true, only: true}
	for _, words := range r.readings(from) {
		for _, w := range r.written(words) {
			p.unsure = p.unsure || !w.known
			if w.known {
				p.name(r, w.text, true)
			}
		}
	}
	r.parts = append(r.parts, p)
}

// hereText is the text that a redirection gives to read, if it is known.
func (r *reader) hereText(rd *syntax.Redirect) (string, bool) {
	switch rd.Op {
	case syntax.Hdoc, syntax.DashHdoc:
		return hereDoc(rd), true
	case syntax.WordHdoc:
		if values, ok := r.values(rd.Word); ok && len(values) == 1 {
			return values[0], true
		}
		return unreadable, true
	}
	return "", false
}

// hereDoc is the text of a here-document. Backslashes mean something in it only
// where its end is not quoted, and then it is not looked into.
func hereDoc(rd *syntax.Redirect) string {
	if rd.Hdoc == nil {
		return ""
	}
	end := rd.Word.Lit()
	plain := end != "" && !strings.Contains(end, `\`)
	var b strings.Builder
	for _, part := range rd.Hdoc.Parts {
		lit, ok := part.(*syntax.Lit)
		if !ok || (plain && strings.Contains(lit.Value, `\`)) {
			return unreadable
		}
		b.WriteString(lit.Value)
	}
	return b.String()
}

// unreadable stands for a script that cannot be known; it cannot be parsed.
const unreadable = "$("
