package openapi_test

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"strings"
	"testing"

	"github.com/plan-engine/plan/tools/openapi"
)

// BenchmarkLargeDocument reads the public document that testdata/large.txt names by its
// digest. PLAN_LARGE_DOCUMENT says where it is; without that there is nothing to read.
func BenchmarkLargeDocument(b *testing.B) {
	path := os.Getenv("PLAN_LARGE_DOCUMENT")
	if path == "" {
		b.Fatal("PLAN_LARGE_DOCUMENT has to name a copy of the document in testdata/large.txt")
	}
	named, err := os.ReadFile("testdata/large.txt")
	if err != nil {
		b.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		b.Fatal(err)
	}
	if digest := sha256.Sum256(text); !strings.Contains(string(named), hex.EncodeToString(digest[:])) {
		b.Fatalf("%s is another document than the one in testdata/large.txt", path)
	}
	for b.Loop() {
		s := openapi.New(openapi.Config{
			Name:    "large",
			Spec:    path,
			Trusted: func(string) bool { return true },
		})
		tools, err := s.Load(b.Context())
		if err != nil || len(tools) != 197 {
			b.Fatalf("%d tools, %v", len(tools), err)
		}
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
