package permit

import (
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// words are the words that one becomes when its braces are written out.
func words(w *syntax.Word) []word {
	if w == nil {
		return nil
	}
	split := *w
	split.Parts = append([]syntax.WordPart(nil), w.Parts...)
	switch {
	case !syntax.SplitBraces(&split):
		return []word{literal(w)}
	case isRange(&split):
		return []word{{text: source(w), split: true}}
	}
	var out []word
	for _, each := range expand.Braces(&split) {
		out = append(out, literal(each))
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

// literal is the value of a word, if it has one before it is run.
func literal(w *syntax.Word) word {
	var b strings.Builder
	out := word{known: true}
	for _, part := range w.Parts {
		switch p := part.(type) {
		case *syntax.Lit:
			b.WriteString(unescape(p.Value, false))
		case *syntax.SglQuoted:
			b.WriteString(p.Value)
			out.known = out.known && (!p.Dollar || !strings.Contains(p.Value, `\`))
		case *syntax.DblQuoted:
			for _, in := range p.Parts {
				lit, ok := in.(*syntax.Lit)
				if !ok {
					out.known = false
					continue
				}
				b.WriteString(unescape(lit.Value, true))
			}
		case *syntax.BraceExp:
			out.known, out.split = false, true
		default:
			out.known, out.split = false, true
		}
	}
	if out.text = b.String(); !out.known {
		out.text = source(w)
	}
	return out
}

// source is a word as it is written.
func source(w *syntax.Word) string {
	var b strings.Builder
	if err := syntax.NewPrinter(syntax.SingleLine(true)).Print(&b, w); err != nil {
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

func joined(argv []word) string {
	texts := make([]string, len(argv))
	for i, w := range argv {
		texts[i] = w.text
	}
	return strings.Join(texts, " ")
}
