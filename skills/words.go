package skills

import (
	"strings"
	"unicode"

	"github.com/blevesearch/go-porterstemmer"
)

// stopwords say nothing about what a request is about.
const stopwords = ` the a an and or but of to in on with for from by at as is are was were be been this that it ` +
	`i you we they my your do does did please can could should would if so not no yes `

// Words splits text into lowercase words of at least two bytes that are not
// stopwords, in order, each once.
func Words(text string) []string {
	fields := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !alphanumeric(r) })
	seen := make(map[string]bool, len(fields))
	out := fields[:0]
	for _, w := range fields {
		if rest, ok := strings.CutSuffix(w, "σ"); ok { // what a capital one at the end of a word becomes
			w = rest + "ς"
		}
		if len(w) < 2 || seen[w] || strings.Contains(stopwords, " "+w+" ") {
			continue
		}
		seen[w] = true
		out = append(out, w)
	}
	return out
}

// alphanumeric is what Unicode calls alphabetic or numeric: letters, the
// vowel signs that some scripts write as marks, and numbers of every kind.
func alphanumeric(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.Is(unicode.Other_Alphabetic, r)
}

// Terms are the content words of a text without their endings, each once: what
// two texts have to share to be about the same thing.
func Terms(text string) []string {
	words := Words(text)
	seen := make(map[string]bool, len(words))
	out := words[:0]
	for _, w := range words {
		if t := stem(w); !seen[t] {
			seen[t] = true
			out = append(out, t)
		}
	}
	return out
}

// stem cuts the ending off an English word and leaves others as they are.
func stem(word string) string {
	for i := range len(word) {
		if word[i] < 'a' || word[i] > 'z' {
			return word
		}
	}
	return string(porterstemmer.StemWithoutLowerCasing([]rune(word)))
}
