package storm

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

func TestCanonical(t *testing.T) {
	t.Parallel()
	for _, same := range [][]string{
		{`{"a":1,"b":[2,{"c":null}]}`, ` { "b" : [2.0, {"c":null}], "a": 10e-1 } `},
		{`{}`, ``, ` `, `{ }`},
		{`100`, `1e2`, `100.00`, `1E+2`, `0.01e4`},
		{`0`, `-0`, `0.0`, `0e9`},
		{`1e99999999999999999999`, `10e99999999999999999998`},
		{`9007199254740993`, `9007199254740993.0`},
		{`{"a`, ` {"a `},
	} {
		for _, other := range same[1:] {
			if a, b := canonical(json.RawMessage(same[0])), canonical(json.RawMessage(other)); string(a) != string(b) {
				t.Errorf("%q and %q differ: %s, %s", same[0], other, a, b)
			}
		}
	}
	for _, two := range [][2]string{
		{`1`, `-1`},
		{`1`, `"1"`},
		{`10`, `1`},
		{`0.1`, `1`},
		{`9007199254740993`, `9007199254740992`},
		{`{"a":null}`, `{}`},
		{`[1,2]`, `[2,1]`},
		{`1.5`, `15`},
		{`{"a`, `{"b`},
	} {
		if a, b := canonical(json.RawMessage(two[0])), canonical(json.RawMessage(two[1])); string(a) == string(b) {
			t.Errorf("%q and %q are both %s", two[0], two[1], a)
		}
	}
}

func TestInert(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]bool{
		`echo a; echo 'b; c' && : || false`: true,
		"echo a\n\ntrue\n":                  true,
		"echo a &&\ntrue":                   true,
		"true;":                             true,
		"true &&":                           false,
		"echo a &":                          false,
		"echo a & make":                     false,
		"echo a | sh":                       false,
		"; true":                            false,
		"echo 'open":                        false,
		"echo $HOME":                        false,
		"echo `ls`":                         false,
		`echo "$(ls)"`:                      false,
		"echo a\nmake":                      false,
		"{ echo a; }":                       false,
		"echofoo":                           false,
		"  ":                                false,
		"FOO=1 echo a":                      false,
		`echo "a && make"`:                  false,
		"true < f":                          false,
		`echo a\`:                           false,
	} {
		if got := inert(command); got != want {
			t.Errorf("inert(%q) = %v", command, got)
		}
	}
}

func TestFingerprint(t *testing.T) {
	t.Parallel()
	base := Fingerprint("ok  \tpkg\t0.012s\nat 2026-05-09T07:29:33Z, 12:30:01, took 3 ms, 1m2.5s", false)
	if got := Fingerprint("ok  \tpkg\t1.5s\nat 2027-01-19 23:29:33.5+02:00, 9:30:59, took 41 ms, 12.25s", false); got != base {
		t.Error("results that differ in times only have different fingerprints")
	}
	for _, same := range [][2]string{
		{"panic at 0xc000123456", "panic at 0xc000abcdef"},
		{"/tmp/TestX123/001/a.go:3: bad", "/tmp/TestX9/001/a.go:3: bad"},
		{"cd /tmp/go-build12/b001", "cd /tmp/go-build99/b001"},
		{"open /dev/shm/pytest-of-1/x", "open /dev/shm/pytest-of-2/x"},
		{"FAIL  \nexit 1\n", "FAIL\nexit 1"},
		{"killed after 120 s", "killed after 600 s"},
		{"PASS src/a.test.js (5.1 s)", "PASS src/a.test.js"},
		{"Time:        1.4 s", "Time:        0.9 s, estimated 2 s"},
		{"PASS a.test.js\nPASS b.test.js (9 s)\nok", "PASS b.test.js\nPASS a.test.js\nok"},
		{"  ✓ adds (3 ms)\n", "  ✓ adds\n"},
		{"# duration_ms 24.689\n", "# duration_ms 1031.2\n"},
		{"  duration_ms: 0.4\n", "  duration_ms: 12.25\n"},
		{"(node:412) Warning: x", "(node:97) Warning: x"},
		{"server pid=412, pid: 7", "server pid=9, pid: 81"},
		{"goroutine 7 [running]:", "goroutine 19 [running]:"},
	} {
		if Fingerprint(same[0], false) != Fingerprint(same[1], false) {
			t.Errorf("%q and %q have different fingerprints", same[0], same[1])
		}
	}
	for _, two := range [][2]string{
		{"/tmp/a/x.go:3", "/tmp/a/x.go:4"},
		{"  indented", "indented"},
		{"flags 0x", "flags 0"},
		{"3 failures", "4 failures"},
		{"a.go:3:4", "a.go:3:5"},
		{"a", "b"},
		{"45%", "46%"},
		{"duration 24", "duration 25"},
		{"rapid 7", "rapid 8"},
		{"PASS a\nFAIL b", "FAIL b\nPASS a"},
	} {
		if Fingerprint(two[0], false) == Fingerprint(two[1], false) {
			t.Errorf("%q and %q have the same fingerprint", two[0], two[1])
		}
	}
	if Fingerprint("a", false) == Fingerprint("a", true) {
		t.Error("a failure has the fingerprint of a success")
	}
}

// What the fingerprint leaves out to be fast must not change what it finds.
func FuzzFingerprint(f *testing.F) {
	for _, text := range []string{
		"ok  \tpkg\t0.012s\nat 2026-05-09T07:29:33Z, 12:30:01\n", "took 3 ms", "1m2.5s", "5µs 5μs 7 µs", "12h3s", "a 1,5 s b",
		"12026-05-09 07:29", "no 12\n3s\r\n", "x86 h", "1-2:3", "3\n", "\n9 minutes",
		"at 0xc00012", "/tmp/a1/b:3", "/tmp/1h 2s", "go-build12", "duration_ms 1.5", "(node:1) pid: 2 goroutine 3",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		plain := withoutTimes(text)
		var lines []string
		for line := range strings.Lines(place().ReplaceAllLiteralString(plain, "/tmp/_")) {
			lines = append(lines, strings.TrimRight(line, " \t\r\n"))
		}
		sortPassed(lines)
		want := digest("ok\x00", []byte(strings.Join(lines, "\n")))
		if Fingerprint(text, false) != want {
			t.Errorf("%q has another fingerprint than without the look ahead", text)
		}
	})
}

func FuzzCanonical(f *testing.F) {
	f.Add([]byte(`{"b":[1.0,-0,1e5],"a":"x"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		once := canonical(data)
		if twice := canonical(once); !bytes.Equal(once, twice) {
			t.Errorf("%q becomes %q becomes %q", data, once, twice)
		}
		inert(string(data))
		_ = brief("t", data)
	})
}
