package permit

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// word is one word of a command.
type word struct {
	text  string // its value, or its source if that is not known
	shown string // as it is shown: its source where a variable stands in it, else its value
	known bool
	split bool // it may become several words, or none
	// glob is the pattern that the shell writes out to names of files; "" where
	// nothing in the word asks for that.
	glob string
	// shape is a pattern for what the word may be, with * for what is not known.
	shape string
}

// value is a word that is known as it stands.
func value(text string) word {
	return word{
		text:  text,
		shown: text,
		known: true,
		shape: quoteCommand(text),
	}
}

// unsaid is a word that cannot be known, shown as it is written.
func unsaid(source string) word {
	return word{
		text:  source,
		shown: source,
		split: true,
		shape: "*",
	}
}

// mostReadings is how many readings of a command are judged, where variables in
// it have more than one value.
const mostReadings = 16

// argvs are the commands that words may become: one, unless variables in them
// have more than one value in the line.
func (r *reader) argvs(args []*syntax.Word) [][]word {
	out := [][]word{nil}
	for _, arg := range args {
		readings := r.readings(arg)
		if len(out)*len(readings) > mostReadings {
			readings = [][]word{{unsaid(source(arg))}}
		}
		var next [][]word
		for _, argv := range out {
			for _, words := range readings {
				next = append(next, append(slices.Clone(argv), words...))
			}
		}
		out = next
	}
	return out
}

// readings are what one word may become once its braces are written out and its
// variables have one of the values that the line gives them.
func (r *reader) readings(w *syntax.Word) [][]word {
	if w == nil {
		return [][]word{nil}
	}
	split := *w
	split.Parts = append([]syntax.WordPart(nil), w.Parts...)
	switch {
	case !syntax.SplitBraces(&split):
		return r.expanded(w)
	case isRange(&split):
		return [][]word{{unsaid(source(w))}}
	}
	out := [][]word{nil}
	for _, each := range expand.Braces(&split) {
		readings := r.expanded(each)
		if len(out)*len(readings) > mostReadings {
			return [][]word{{unsaid(source(w))}}
		}
		var next [][]word
		for _, before := range out {
			for _, words := range readings {
				next = append(next, append(slices.Clone(before), words...))
			}
		}
		out = next
	}
	return out
}

// isRange reports whether braces in a word count from one to another, which may
// be far, or are too many to be written out.
func isRange(w *syntax.Word) bool {
	found, elems := false, 0
	var look func(w *syntax.Word)
	look = func(w *syntax.Word) {
		for _, part := range w.Parts {
			if b, ok := part.(*syntax.BraceExp); ok {
				found = found || b.Sequence
				for _, e := range b.Elems {
					elems++
					look(e)
				}
			}
		}
	}
	look(w)
	return found || elems > 16
}

// draft is a word that is being put together, with those before it that came of
// the same source.
type draft struct {
	done              []word
	text, glob, shape string
	begun             bool // there is a word, also if it is empty
	active            bool // a character in it asks for names of files
	unknown, split    bool
	varied            bool // a variable stands in it
}

func (d draft) add(text, glob string) draft {
	d.text, d.glob, d.shape = d.text+text, d.glob+glob, d.shape+quoteCommand(text)
	d.begun = true
	return d
}

func (d draft) gap(split bool) draft {
	d.unknown, d.split, d.begun, d.shape = true, d.split || split, true, d.shape+"*"
	return d
}

// flush ends the word. Source is what it came of, nil for a part of it: then a
// later word of the same source says it.
func (d draft) flush(from *syntax.Word) draft {
	if !d.begun {
		return d
	}
	out := word{
		text:  d.text,
		shown: d.text,
		known: !d.unknown,
		split: d.split,
		shape: d.shape,
	}
	if d.unknown {
		out.text = source(from)
	}
	switch {
	case from == nil:
		out.shown = ""
	case d.unknown:
		out.shown = source(from)
	}
	if d.active && !d.unknown {
		out.glob = d.glob
	}
	return draft{done: append(slices.Clone(d.done), out), varied: d.varied}
}

// expanded is readings for a word without braces.
func (r *reader) expanded(w *syntax.Word) [][]word {
	drafts := []draft{{}}
	for _, part := range w.Parts {
		if drafts = r.part(drafts, part, false); len(drafts) > mostReadings {
			return [][]word{{unsaid(source(w))}}
		}
	}
	var out [][]word
	for _, d := range drafts {
		words := d.flush(w).done
		if n := len(words); n > 0 && d.varied {
			words[n-1].shown = source(w)
		}
		out = append(out, words)
	}
	return out
}

// part puts a part of a word behind what is there.
func (r *reader) part(drafts []draft, part syntax.WordPart, quoted bool) []draft {
	each := func(f func(draft) draft) []draft { return mapped(drafts, f) }
	switch p := part.(type) {
	case *syntax.Lit:
		text := unescape(p.Value, quoted)
		return each(func(d draft) draft {
			if quoted {
				return d.add(text, quoteGlob(text))
			}
			d.active = d.active || asksForFiles(p.Value)
			return d.add(text, globOf(p.Value))
		})
	case *syntax.SglQuoted:
		if p.Dollar && strings.Contains(p.Value, `\`) {
			return each(func(d draft) draft { return d.gap(false) })
		}
		return each(func(d draft) draft { return d.add(p.Value, quoteGlob(p.Value)) })
	case *syntax.DblQuoted:
		drafts = each(func(d draft) draft { return d.add("", "") })
		for _, in := range p.Parts {
			if drafts = r.part(drafts, in, true); len(drafts) > mostReadings {
				break
			}
		}
		return drafts
	}
	values, ok := r.substituted(part)
	if !ok {
		return each(func(d draft) draft { return d.gap(!quoted) })
	}
	var out []draft
	for _, v := range values {
		out = append(out, each(func(d draft) draft { return d.variable(v, quoted) })...)
	}
	return out
}

func mapped(drafts []draft, f func(draft) draft) []draft {
	out := make([]draft, len(drafts))
	for i, d := range drafts {
		out[i] = f(d)
	}
	return out
}

// substituted are the values that the shell puts in the place of a part.
func (r *reader) substituted(part syntax.WordPart) ([]string, bool) {
	switch p := part.(type) {
	case *syntax.ParamExp:
		return r.valuesOf(p)
	case *syntax.CmdSubst:
		text, ok := r.printed(p)
		return []string{text}, ok
	}
	return nil, false
}

// variable puts a value behind what is there, which is taken apart at its blanks
// where it is not quoted.
func (d draft) variable(text string, quoted bool) draft {
	d.varied = true
	if quoted {
		return d.add(text, quoteGlob(text))
	}
	fields := strings.Fields(text)
	for i, field := range fields {
		if d.begun && (i > 0 || strings.TrimLeft(text, " \t\n") != text) {
			d = d.flush(nil)
			d.varied = true
		}
		d.active = d.active || asksForFiles(field)
		d = d.add(field, globOf(field))
	}
	if len(fields) > 0 && strings.TrimRight(text, " \t\n") != text {
		d = d.flush(nil)
		d.varied = true
	}
	return d
}

// values are what a word may be that is not taken apart, as in an assignment.
func (r *reader) values(w *syntax.Word) ([]string, bool) {
	if w == nil {
		return []string{""}, true
	}
	drafts := []draft{{}}
	for _, part := range w.Parts {
		quoted := false
		switch part.(type) {
		case *syntax.ParamExp, *syntax.CmdSubst:
			quoted = true
		}
		if drafts = r.part(drafts, part, quoted); len(drafts) > mostReadings {
			return nil, false
		}
	}
	var out []string
	for _, d := range drafts {
		if d.unknown {
			return nil, false
		}
		out = append(out, d.text)
	}
	return out, true
}

// asksForFiles reports whether a text that is not quoted is a pattern for names
// of files.
func asksForFiles(raw string) bool {
	for i := 0; i < len(raw); i++ {
		switch raw[i] {
		case '\\':
			i++
		case '*', '?', '[':
			return true
		}
	}
	return false
}

// globOf is text of the shell that is not quoted as a pattern of this package,
// in which braces mean something, too.
func globOf(raw string) string {
	var b strings.Builder
	for i := 0; i < len(raw); i++ {
		switch raw[i] {
		case '\\':
			b.WriteByte(raw[i])
			if i++; i < len(raw) {
				b.WriteByte(raw[i])
			}
			continue
		case '{', '}', ',':
			b.WriteByte('\\')
		}
		b.WriteByte(raw[i])
	}
	return b.String()
}

// source is a word as it is written.
func source(w *syntax.Word) string {
	var b strings.Builder
	if w == nil || syntax.NewPrinter(syntax.SingleLine(true)).Print(&b, w) != nil {
		return "?"
	}
	return b.String()
}

// unescape takes the backslashes out as the shell does, inside double quotes or
// outside.
func unescape(s string, quoted bool) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) && (!quoted || strings.IndexByte("$`\"\\\n", s[i+1]) >= 0) {
			i++
			if s[i] == '\n' {
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// joined is a command as it is said.
func joined(argv []word) string {
	var texts []string
	for _, w := range argv {
		if w.shown != "" {
			texts = append(texts, w.shown)
		}
	}
	return strings.Join(texts, " ")
}

// meant is a command with the values of its words.
func meant(argv []word) string {
	texts := make([]string, len(argv))
	for i, w := range argv {
		texts[i] = w.text
	}
	return strings.Join(texts, " ")
}
