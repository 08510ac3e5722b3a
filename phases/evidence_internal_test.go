package phases

import "testing"

func TestTestsNothing(t *testing.T) {
	t.Parallel()
	for output, want := range map[string]bool{
		"":   false,
		"ok": false,
		"testing: warning: no tests to run\nPASS\nok  \tcalc\t0.003s\nexit status 0":                 true,
		"testing: warning: no tests to run\nPASS\nok  \tcalc\t0.003s\nok  \tother\t0.01s\n":          false,
		"testing: warning: no tests to run\nPASS\nok  \tx\t0.01s [no tests to run]\n":                true,
		"ok  \tx\t0.01s [no tests to run]\nok  \tx/y\t0.02s\n":                                       false,
		"ok  \tx\t0.01s [no tests to run]\n?   \tx/y\t[no test files]\nok  \tz\t[no tests to run]\n": true,
		"test result: ok. 0 passed; 0 failed; 4 filtered out":                                        true,
		"test result: ok. 0 passed; 0 failed\n\ntest result: ok. 12 passed; 0 failed":                false,
	} {
		if got := testsNothing(output); got != want {
			t.Errorf("%q: %v", output, got)
		}
	}
}
