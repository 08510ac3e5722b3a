package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"github.com/plan-engine/plan/internal/lazy"
	"github.com/plan-engine/plan/model/wire"
)

// maxFile bounds a settings file, in bytes.
const maxFile = 64 << 10

// readOwn reads the user's own file. Every key in it must be known.
func readOwn(path string, wires []wire.Kind) (Config, error) {
	var cfg Config
	data, err := readFile(path)
	if err != nil {
		return cfg, err
	}
	extra, err := decode(path, data, &cfg)
	if err != nil {
		return cfg, err
	}
	var errs []error
	for _, u := range extra {
		errs = append(errs, fmt.Errorf("%s:%d: %s is not a setting%s", path, u.line, u.name(), didYouMean(u.key)))
	}
	if len(errs) > 0 {
		return cfg, fmt.Errorf("read the settings: %w", errors.Join(errs...))
	}
	return cfg, checkFile(path, data, cfg, wires)
}

// readFile reads a settings file; one that is not there is empty.
func readFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read the settings: %w; make it readable or move it away", err)
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("read the settings: %s is not a regular file; move it away", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read the settings: %w; make it readable or move it away", err)
	}
	defer func() { _ = f.Close() }() // only read from
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read the settings: %s: %w", path, err)
	case len(data) > maxFile:
		return nil, fmt.Errorf("read the settings: %s is larger than %d KiB; make it smaller", path, maxFile>>10)
	}
	return bytes.TrimPrefix(data, []byte("\ufeff")), nil
}

// unknown is a key that nothing was found for.
type unknown struct {
	key  []string
	line int
}

func (u unknown) name() string {
	parts := slices.Clone(u.key)
	for i, part := range parts {
		if !bareKey().MatchString(part) {
			parts[i] = fmt.Sprintf("%q", part)
		}
	}
	return strings.Join(parts, ".")
}

var bareKey = lazy.Regexp(`^[A-Za-z0-9_-]+$`)

// decode reads TOML into v and returns the keys that v has no field for.
func decode(path string, data []byte, v any) ([]unknown, error) {
	err := toml.NewDecoder(bytes.NewReader(data)).DisallowUnknownFields().Decode(v)
	var strict *toml.StrictMissingError
	var bad *toml.DecodeError
	switch {
	case err == nil:
		return nil, nil
	case errors.As(err, &strict):
		var out []unknown
		for _, e := range strict.Errors {
			line, _ := e.Position()
			out = append(out, unknown{key: slices.Clone(e.Key()), line: line})
		}
		return out, nil
	case errors.As(err, &bad):
		line, column := bad.Position()
		return nil, fmt.Errorf("read the settings: %s:%d:%d: %s", path, line, column, inPlainWords(bad))
	}
	// The decoder gives no place to what a Duration refuses of a number.
	for _, p := range places(data) {
		if p.number && isDuration(p.key) {
			return nil, fmt.Errorf("read the settings: %s:%d: %s: %w", path, p.line, strings.Join(p.key, "."), err)
		}
	}
	return nil, fmt.Errorf("read the settings: %s: %w", path, err)
}

// mismatch is what the decoder says of a value of the wrong type.
var mismatch = lazy.Regexp(`^toml: cannot decode TOML (.+?) into .* of type (\S+)$`)

// inPlainWords names the key and leaves the program's types out.
func inPlainWords(e *toml.DecodeError) string {
	key := strings.Join(e.Key(), ".")
	if m := mismatch().FindStringSubmatch(e.Error()); m != nil {
		want, ok := map[string]string{
			"int": "a whole number", "int64": "a whole number", "float64": "a number", "bool": "true or false",
			"string": "a string", "[]string": "a list of strings", "config.Duration": `a duration like "10m"`,
		}[m[2]]
		if ok {
			return fmt.Sprintf("%s must be %s, and here is a TOML %s", key, want, m[1])
		}
		return fmt.Sprintf("%s cannot be a TOML %s", key, m[1])
	}
	text := strings.TrimPrefix(e.Error(), "toml: ")
	if key == "" || strings.Contains(text, key) {
		return text
	}
	return key + ": " + text
}

// checkFile checks the values of a file and says where the wrong ones stand.
func checkFile(path string, data []byte, cfg Config, wires []wire.Kind) error {
	problems := faults(cfg, wires)
	if len(problems) == 0 {
		return nil
	}
	var errs []error
	for _, f := range problems {
		at := path
		if n := lineOf(data, f.key, f.nth); n > 0 {
			at = fmt.Sprintf("%s:%d", path, n)
		}
		errs = append(errs, fmt.Errorf("%s: %w", at, f))
	}
	return fmt.Errorf("read the settings: %w", errors.Join(errs...))
}

// lineOf is the line of a key: the last one that names it, or the nth table of
// that name. It is 0 where there is none.
func lineOf(data []byte, key string, nth int) int {
	line := 0
	for _, p := range places(data) {
		if !strings.EqualFold(strings.Join(p.key, "."), key) {
			continue
		}
		line = p.line
		if nth--; nth == 0 {
			break
		}
	}
	return line
}
