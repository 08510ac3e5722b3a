package catalog

import "testing"

// BenchmarkIndex is what a program pays once, at its first question.
func BenchmarkIndex(b *testing.B) {
	for b.Loop() {
		newIndex(models).lookup("gpt-5", "")
	}
}
