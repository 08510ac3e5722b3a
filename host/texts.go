package host

import (
	"fmt"
	"io"
	"strings"

	"github.com/plan-engine/plan/internal/hint"
)

// MaxRequest is how many bytes a request, or a plan that a person writes, may have.
const MaxRequest = 256 << 10

// ReadRequest is a request as a person typed or sent it, without what editors add.
// Example is a command line that has one.
func ReadRequest(text, example string) (string, error) {
	text = strings.TrimSpace(strings.TrimPrefix(strings.ToValidUTF8(text, "�"), "\ufeff"))
	switch {
	case text == "":
		return "", hint.Usage("the request is empty; say what is wanted, as in: %s", example)
	case len(text) > MaxRequest:
		return "", hint.Usage(
			"the request is larger than %d KiB; put long material into a file in the repository and name it",
			MaxRequest>>10,
		)
	}
	return text, nil
}

// ReadPlan reads a plan that a person wrote, which must not be empty. Name is what
// it is called in errors.
func ReadPlan(name string, from io.Reader) (string, error) {
	data, err := io.ReadAll(io.LimitReader(from, MaxRequest+1))
	if err == nil && len(data) > MaxRequest {
		err = fmt.Errorf("%s is larger than %d KiB", name, MaxRequest>>10)
	}
	if err != nil {
		return "", UnreadPlan(err)
	}
	text := strings.TrimSpace(strings.ToValidUTF8(string(data), "�"))
	if text == "" {
		return "", hint.New(
			fmt.Sprintf("the plan in %s is empty", name),
			"Write what to change and how to verify it.",
		)
	}
	return text, nil
}

// UnreadPlan says what to do where a plan cannot be read.
func UnreadPlan(err error) error {
	return hint.Wrap(
		fmt.Errorf("read the plan: %w", err),
		"Name a file with a plan, relative to where you are and not to -C, or - for standard input; "+
			"`plan show RUN --plan` prints one to start from.",
	)
}
