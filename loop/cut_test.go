package loop

import "testing"

func TestNumbersAndKeys(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]string{0: "0", 999: "999", 4096: "4,096", 1_000_007: "1,000,007"} {
		if got := thousands(n); got != want {
			t.Errorf("%d became %s", n, got)
		}
	}
	for name, want := range map[string]string{"gpt-5_x": "gpt-5_x", "qwen3:8b": `"qwen3:8b"`, "a/b": `"a/b"`, "": `""`} {
		if got := tomlKey(name); got != want {
			t.Errorf("%s became %s", name, got)
		}
	}
}
