package tools_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan/tools"
)

func mkfifo(t testing.TB, name string) {
	t.Helper()
	must(t, syscall.Mkfifo(name, 0o644))
}

func sha(data string) string {
	sum := sha256.Sum256([]byte(data))
	return hex.EncodeToString(sum[:])
}

// numbers is n lines "line 1", "line 2", …
func numbers(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "line %d\n", i+1)
	}
	return b.String()
}

func TestRead(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 1500) // 3000 bytes
	cases := []struct {
		name    string
		content string
		args    args
		want    string
	}{
		{"plain", "a\n\nb\n", nil, "1\ta\n2\t\n3\tb\n"},
		{"empty", "", nil, "(f is empty)"},
		{"only a newline", "\n", nil, "1\t\n"},
		{"no newline at the end", "a\nb", nil, "1\ta\n2\tb\n[no newline at the end]\n"},
		{"page", numbers(5), args{"offset": 2, "limit": 2}, "2\tline 2\n3\tline 3\n[lines 2-3 of 5; go on with offset=4]\n"},
		{"last page", numbers(5), args{"offset": 4}, "4\tline 4\n5\tline 5\n[lines 4-5 of 5, the end]\n"},
		{"page before a ragged end", "a\nb", args{"limit": 1}, "1\ta\n[lines 1-1 of 2; go on with offset=2]\n"},
		{"crlf", "a\r\nb\r\n", nil, "1\ta\n2\tb\n[the lines end in CRLF; the CR is not shown]\n"},
		{"mixed ends", "a\r\nb\n", nil, "1\ta\n2\tb\n[mixed line ends: 1 CRLF, 1 LF; the CR is not shown]\n"},
		{"cr inside", "a\rb\n", nil, "1\ta\rb\n"},
		{"mark", "\uFEFFa\n", nil, "1\ta\n[a UTF-8 byte order mark before line 1 is not shown]\n"},
		{"mark only", "\uFEFF", nil, "1\t\n[a UTF-8 byte order mark before line 1 is not shown]\n[no newline at the end]\n"},
		{"latin 1", "caf\xe9\n", nil, "1\tcaf\uFFFD\n[not all of it is valid UTF-8; what is not is shown as \uFFFD]\n"},
		{
			"long line", "x" + long + "\nshort\n", nil,
			"1\tx" + strings.Repeat("é", 999) + "… [+1002 bytes]\n2\tshort\n[1 long line was cut after 2000 bytes]\n",
		},
		{
			"very long line", strings.Repeat("x", 100_000) + "\r\nb\n", nil,
			"1\t" + strings.Repeat("x", 2000) + "… [+98000 bytes]\n2\tb\n[1 long line was cut after 2000 bytes]\n[mixed line ends: 1 CRLF, 1 LF; the CR is not shown]\n",
		},
		{"line that just fits", strings.Repeat("x", 2000) + "\r\n", nil, "1\t" + strings.Repeat("x", 2000) + "\n[the lines end in CRLF; the CR is not shown]\n"},
		{"mark and a line that just fits", "\uFEFF" + strings.Repeat("x", 2000) + "\n", nil, "1\t" + strings.Repeat("x", 2000) + "\n[a UTF-8 byte order mark before line 1 is not shown]\n"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			set := openSet(t, tools.Config{Root: plant(t, files{"f": c.content})})
			a := args{"path": "f"}
			for k, v := range c.args {
				a[k] = v
			}
			res := ask(t, set, "read", a)
			sameText(t, res.Output, c.want)
			if res.Error {
				t.Error("told as an error")
			}
			if diff := cmp.Diff(map[string]string{"f": sha(c.content)}, res.Files); diff != "" {
				t.Errorf("files: -want +got\n%s", diff)
			}
		})
	}
}

func TestReadDefaultPage(t *testing.T) {
	t.Parallel()
	set := openSet(t, tools.Config{Root: plant(t, files{
		"many": numbers(2500),
		"wide": strings.Repeat(strings.Repeat("w", 1000)+"\n", 100),
	})})
	out := ask(t, set, "read", args{"path": "many"}).Output
	if !strings.HasSuffix(out, "2000\tline 2000\n[lines 1-2000 of 2500; go on with offset=2001]\n") {
		t.Errorf("ends with %q", out[len(out)-80:])
	}
	out = ask(t, set, "read", args{"path": "wide"}).Output
	if len(out) > 51<<10 || !strings.HasSuffix(out, "\n[lines 1-51 of 100; go on with offset=52]\n") {
		t.Errorf("%d bytes, ends with %q", len(out), out[len(out)-80:])
	}
}

func TestReadRefuses(t *testing.T) {
	t.Parallel()
	dir := plant(t, files{
		"image.png": "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR",
		"utf16.txt": "\xff\xfeh\x00i\x00",
		"ten.txt":   numbers(10),
		"sub/a.txt": "a",
		"locked":    "a",
	})
	set := openSet(t, tools.Config{Root: dir})
	refused(t, ask(t, set, "read", args{"path": "image.png"}), "binary", "image/png", "16 B")
	refused(t, ask(t, set, "read", args{"path": "utf16.txt"}), "binary", "utf-16")
	refused(t, ask(t, set, "read", args{"path": "sub"}), "directory", "list_dir")
	refused(t, ask(t, set, "read", args{"path": "."}), "directory")
	refused(t, ask(t, set, "read", args{"path": ""}), "directory")
	refused(t, ask(t, set, "read", args{"path": "blob:abc"}), "no kept outputs")
	past := ask(t, set, "read", args{"path": "ten.txt", "offset": 11})
	refused(t, past, "10 lines", "past the end")
	if past.Files != nil {
		t.Errorf("nothing was shown, but %v is noted", past.Files)
	}
}

// TestReadHuge pages through a file far larger than what is ever held.
func TestReadHuge(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f, err := os.Create(filepath.Join(dir, "huge.log"))
	must(t, err)
	block := []byte(numbers(100_000))
	for range 12 {
		_, err = f.Write(block)
		must(t, err)
	}
	must(t, f.Close())
	set := openSet(t, tools.Config{Root: dir})
	refused(t, ask(t, set, "read", args{"path": "huge.log"}), "huge.log has 12.5 MB", "offset and limit")
	out := ask(t, set, "read", args{"path": "huge.log", "offset": 1_100_002, "limit": 1}).Output
	sameText(t, out, "1100002\tline 2\n[lines 1100002-1100002 of 1200000; go on with offset=1100003]\n")
}

func TestReadBlob(t *testing.T) {
	t.Parallel()
	broken := errors.New("no such output")
	set := openSet(t, tools.Config{Root: t.TempDir(), Blob: func(_ context.Context, hash string) ([]byte, error) {
		if hash != "cafe" {
			return nil, broken
		}
		return []byte("one\ntwo\x00\nthree\n"), nil
	}})
	res := ask(t, set, "read", args{"path": "blob:cafe", "offset": 2, "limit": 1})
	sameText(t, res.Output, "2\ttwo\x00\n[lines 2-2 of 3; go on with offset=3]\n")
	if res.Files != nil {
		t.Errorf("an output is noted as a file: %v", res.Files)
	}
	refused(t, ask(t, set, "read", args{"path": "blob:f00d"}), "blob:f00d", "no such output")
}

// TestReadShowsForWrite: what read has shown, write may replace.
func TestReadShowsForWrite(t *testing.T) {
	t.Parallel()
	set := openSet(t, tools.Config{Root: plant(t, files{"f.txt": numbers(10)})})
	change := args{"path": "f.txt", "content": "seven\n"}
	if res := ask(t, set, "write", change); !res.Error {
		t.Fatalf("written unseen: %s", res.Output)
	}
	ask(t, set, "read", args{"path": "f.txt", "offset": 7, "limit": 1})
	if res := ask(t, set, "write", change); res.Error {
		t.Fatalf("not written though shown: %s", res.Output)
	}
	sameText(t, ask(t, set, "read", args{"path": "f.txt"}).Output, "1\tseven\n")
}

func TestReadCancelled(t *testing.T) {
	t.Parallel()
	set := openSet(t, tools.Config{Root: plant(t, files{"f": "a\n"})})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := runTool(t, ctx, set, "read", args{"path": "f"}); !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v", err)
	}
}

// TestReadLinkToPipe: a pipe that no process writes to does not hang a read.
func TestReadLinkToPipe(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	mkfifo(t, filepath.Join(dir, "pipe"))
	must(t, os.Symlink("pipe", filepath.Join(dir, "link")))
	set := openSet(t, tools.Config{Root: dir})
	refused(t, ask(t, set, "read", args{"path": "link"}), "named pipe")
}

var (
	pageLine = regexp.MustCompile(`^([0-9]+)\t`)
	goOn     = regexp.MustCompile(`go on with offset=([0-9]+)\]\n`)
)

// FuzzRead pages through anything and gets all of it: every line once, in
// order, as it is up to what the notes say.
func FuzzRead(f *testing.F) {
	f.Add([]byte("a\nb\r\nc"), uint8(1))
	f.Add([]byte("\uFEFF\n\n"), uint8(2))
	f.Add([]byte(strings.Repeat("é", 1100)+"\r\n"), uint8(0))
	f.Add([]byte("\xff\xfe\x80\n\xe2\x82"), uint8(3))
	f.Add([]byte(strings.Repeat("\xff", 2300)+"\n"+strings.Repeat("€", 700)), uint8(1))
	var output []byte
	set := openSet(f, tools.Config{Root: f.TempDir(), Blob: func(context.Context, string) ([]byte, error) { return output, nil }})
	f.Fuzz(func(t *testing.T, data []byte, limit uint8) {
		output = data
		lines := strings.SplitAfter(string(data), "\n")
		if lines[len(lines)-1] == "" {
			lines = lines[:len(lines)-1]
		}
		next := 1
		for next <= len(lines) {
			a := args{"path": "blob:x", "offset": next}
			if limit > 0 {
				a["limit"] = limit
			}
			res := ask(t, set, "read", a)
			if res.Error {
				t.Fatalf("offset %d: %s", next, res.Output)
			}
			from := next
			for _, shown := range pageLines(t, res.Output, next) {
				if next > len(lines) {
					t.Fatalf("line %d of %d is shown", next, len(lines))
				}
				checkLine(t, next, lines[next-1], shown)
				next++
			}
			if next == from {
				t.Fatalf("offset %d shows nothing: %q", from, res.Output)
			}
			m := goOn.FindStringSubmatch(res.Output)
			if (m != nil) != (next <= len(lines)) || m != nil && m[1] != strconv.Itoa(next) {
				t.Fatalf("after line %d of %d: %q", next-1, len(lines), res.Output)
			}
		}
	})
}

// pageLines cuts a page into the texts of its lines, numbered from first. A
// line of a file may look like the number of the next one or like a note, but
// it has no newline.
func pageLines(t *testing.T, page string, first int) []string {
	t.Helper()
	var out []string
	for _, l := range strings.Split(strings.TrimSuffix(page, "\n"), "\n") {
		m := pageLine.FindStringSubmatch(l)
		if m == nil {
			break // the notes
		}
		if m[1] != strconv.Itoa(first+len(out)) {
			t.Fatalf("line %s where %d belongs", m[1], first+len(out))
		}
		out = append(out, l[len(m[0]):])
	}
	return out
}

// checkLine compares a line with how it is shown.
func checkLine(t *testing.T, number int, line, shown string) {
	t.Helper()
	newline := strings.HasSuffix(line, "\n")
	line = strings.TrimSuffix(line, "\n")
	if newline {
		line = strings.TrimSuffix(line, "\r")
	}
	if number == 1 {
		line = strings.TrimPrefix(line, "\uFEFF")
	}
	if len(line) <= 2000 {
		if want := string(bytes.ToValidUTF8([]byte(line), []byte("\uFFFD"))); shown != want {
			t.Fatalf("line %d: shown %q, is %q", number, shown, want)
		}
		return
	}
	i := strings.LastIndex(shown, "… [+")
	if i < 0 {
		t.Fatalf("line %d of %d bytes is not cut: %q", number, len(line), shown)
	}
	left, err := strconv.Atoi(strings.TrimSuffix(shown[i+len("… [+"):], " bytes]"))
	must(t, err)
	kept := len(line) - left
	if kept > 2000 || kept < 2000-utf8.UTFMax {
		t.Fatalf("line %d: %d bytes of %d are shown", number, kept, len(line))
	}
	if want := strings.ToValidUTF8(line[:kept], "\uFFFD"); shown[:i] != want {
		t.Fatalf("line %d: shown %q, is %q", number, shown[:i], want)
	}
	if utf8.ValidString(line) && !utf8.ValidString(line[:kept]) {
		t.Fatalf("line %d is cut inside a rune", number)
	}
}
