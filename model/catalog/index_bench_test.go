package catalog

import "testing"

// BenchmarkIndex is what a program pays once, at its first question.
func BenchmarkIndex(b *testing.B) {
	for b.Loop() {
		newIndex(models).lookup("", "gpt-5", "")
	}
}

// BenchmarkUnknown asks for a name that is in no list, as that of a local model.
func BenchmarkUnknown(b *testing.B) {
	for b.Loop() {
		newIndex(models).lookup("", "qwen3:8b", "http://127.0.0.1:11434/v1")
	}
}
