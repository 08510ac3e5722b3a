package catalog

import (
	"testing"

	"charm.land/catwalk/pkg/embedded"
)

// BenchmarkIndex is what a program pays once, at its first question.
func BenchmarkIndex(b *testing.B) {
	for b.Loop() {
		newIndex(embedded.GetAll())
	}
}
