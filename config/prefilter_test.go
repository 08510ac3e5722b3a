package config

import (
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
)

// No rule is kept from a text that it matches, wherever in it and in whatever case; and
// every built-in rule is kept from a text that has nothing of it.
func TestThePrefilterKeepsNoRuleFromWhatItMatches(t *testing.T) {
	t.Parallel()
	patterns := append([]string{
		`(?i)\bsecret-k[0-9]+`, `abc|xyz`, `ab|xyz`, `(?:abc)?def`, `x{2,}yz?`, `(?i)grüß`, `[a-c]{3}end`, `é[0-9]`, `\d{16}`,
	}, tokenRules...)
	f, err := newPrefilter(patterns)
	if err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("a1B2", 10)
	pieces := []string{
		"sk-" + long, "ghp_" + long, "github_pat_" + long, "glpat-" + long, "xoxb-123456789012", "AKIAABCDEFGHIJKLMNOP", "AIza" + long,
		"ya29." + long, "hf_" + long, "sk_live_" + long, "eyJhbGciOiJI.eyJzdWIiOiIx.c2lnbmF0dXJl", "-----BEGIN RSA PRIVATE KEY-----x-----END",
		"AUTHORIZATION: beaRer " + long, "Bearer " + long, "https://bob:hunter22@host/x", "DB_PASSWORD=correct-horse", "APIKEY=abcdefgh12",
		"SECRET-K12", "secret-\u212a12", "\u017fecret-k1", "abc", "ab", "xyz", "def", "xxxy", "GRÜẞ", "grüß", "cabend", "é7", strings.Repeat("7", 16),
		" ", "\n", "word", "\xff", "é",
	}
	compiled := make([]*regexp.Regexp, len(patterns))
	for i, p := range patterns {
		compiled[i] = regexp.MustCompile(p)
	}
	random, matched := rand.New(rand.NewPCG(3, 4)), 0
	for range 3000 {
		var text strings.Builder
		for range 1 + random.IntN(4) {
			text.WriteString(pieces[random.IntN(len(pieces))])
		}
		may := f.candidates(text.String())
		for i, p := range patterns {
			if !compiled[i].MatchString(text.String()) {
				continue
			}
			if matched++; may&(1<<i) == 0 {
				t.Fatalf("%s is kept from %q", p, text.String())
			}
		}
	}
	if matched < 3000 {
		t.Errorf("only %d matches: that is too few to say anything", matched)
	}
	built, err := newPrefilter(tokenRules)
	if err != nil {
		t.Fatal(err)
	}
	if may := built.candidates(strings.Repeat("func main() { return 42 } // words\n", 100)); may != 0 {
		t.Errorf("rules look at ordinary text: %b", may)
	}
}
