package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// content is what a file holds.
type content struct {
	calls []*recorded
	// whole is how many bytes of the file are whole lines. What follows was
	// cut off in line torn (from 1; 0 = nothing follows).
	whole int
	torn  int
}

// recorded is a call of a file.
type recorded struct {
	entry
	line  int // from 1
	place place
	taken bool
}

// errNoRecording is a file that something else was written to.
var errNoRecording = errors.New("it is not a recording")

// parse reads a file. Only its last line may be cut off; a file that is cut
// off in its first line holds nothing.
func parse(data []byte) (content, error) {
	first, rest, ended := bytes.Cut(data, []byte("\n"))
	if !ended && strings.HasPrefix(headerLine, string(first)) {
		return content{torn: 1}, nil
	}
	if err := checkHeader(first); err != nil {
		return content{}, err
	}
	c := content{whole: len(data) - len(rest)}
	for line := 2; len(rest) > 0; line++ {
		text, after, ended := bytes.Cut(rest, []byte("\n"))
		r, err := parseLine(text, line)
		switch {
		case err != nil && ended:
			return content{}, fmt.Errorf("line %d: %w", line, err)
		case err != nil:
			c.torn = line
			return c, nil
		}
		c.calls = append(c.calls, r)
		c.whole = len(data) - len(after)
		rest = after
	}
	return c, nil
}

func checkHeader(line []byte) error {
	var header struct {
		Format *int `json:"plan_recording"`
	}
	switch err := json.Unmarshal(line, &header); {
	case err != nil, header.Format == nil, *header.Format < 1:
		return errNoRecording
	case *header.Format > format:
		return fmt.Errorf(
			"it has format %d and this program reads no format after %d: use a newer version",
			*header.Format,
			format,
		)
	}
	return nil
}

// parseLine reads one call and everything in it, so that what a file holds is
// known to be sound before it is played.
func parseLine(text []byte, line int) (*recorded, error) {
	r := &recorded{line: line}
	if err := json.Unmarshal(text, &r.entry); err != nil {
		return nil, fmt.Errorf("it is not a recorded call: %w", err)
	}
	var request bytes.Buffer
	if err := json.Compact(&request, r.Request); err != nil || request.Bytes()[0] != '{' {
		return nil, errors.New("it holds no request")
	}
	r.Request = request.Bytes()
	var err error
	if r.place, err = placeOf(r.Request); err != nil {
		return nil, fmt.Errorf("its request cannot be read: %w", err)
	}
	if string(r.Answer) == "null" {
		r.Answer = nil
	}
	endings := 0
	for _, is := range []bool{r.Answer != nil, r.Error != nil, r.Cancelled != "", r.Failed != ""} {
		if is {
			endings++
		}
	}
	if endings != 1 {
		return nil, fmt.Errorf("it holds %d of answer, error, cancelled and failed, not one of them", endings)
	}
	if r.Answer != nil {
		if _, err := r.answer(); err != nil {
			return nil, err
		}
	}
	return r, nil
}
