package tokens_test

import (
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/plan-engine/plan/model/tokens"
)

func TestCount(t *testing.T) {
	t.Parallel()
	var c tokens.Counter
	for text, want := range map[string]int64{
		"": 0, "Hello, world!": 4, "func main() {}": 4, "tiktoken is great!": 6,
	} {
		if got := c.Count(text); got != want {
			t.Errorf("%q has %d tokens, want %d", text, got, want)
		}
	}
	if c.Count("\xff\xfe") < 1 {
		t.Error("bytes that are no text cost nothing")
	}
	source, err := os.ReadFile("tokens.go")
	if err != nil {
		t.Fatal(err)
	}
	n := c.Count(string(source))
	if n < int64(len(source))/6 || n > int64(len(source))/3 || c.Count(string(source)) != n {
		t.Errorf("%d bytes of Go have %d tokens", len(source), n)
	}
}

// TestNoTextIsSlow: what a tool puts out can be anything.
func TestNoTextIsSlow(t *testing.T) {
	t.Parallel()
	noise := make([]byte, 1<<16)
	r := rand.NewChaCha8([32]byte{1})
	if _, err := r.Read(noise); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"one letter": strings.Repeat("a", 1<<16), "spaces": strings.Repeat(" ", 1<<16), "newlines": strings.Repeat("\n", 1<<16),
		"noise": string(noise), "digits": strings.Repeat("0123456789", 1<<13), "marks": strings.Repeat("\u0301", 1<<15),
		"mixed": strings.Repeat("a \n\t1", 1<<14),
	} {
		var c tokens.Counter
		c.Count("load it")
		began := time.Now()
		n := c.Count(text)
		if took := time.Since(began); took > 20*time.Second || n == 0 {
			t.Errorf("%s: %d tokens in %s", name, n, took)
		} else {
			t.Logf("%s: %d tokens in %s", name, n, took)
		}
	}
}

func BenchmarkCount(b *testing.B) {
	source, err := os.ReadFile("tokens.go")
	if err != nil {
		b.Fatal(err)
	}
	text := string(source)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		var c tokens.Counter
		c.Count(text)
	}
}
