package host

import (
	"strconv"
	"strings"
	"time"

	"github.com/plan-engine/plan/internal/amount"
	"github.com/plan-engine/plan/internal/hint"
)

// Read reads how old and how large in the words of a command line: 90d, 12h, 500MB.
func (p *GCPolicy) Read(older, size string) (err error) {
	if p.Keep < 0 {
		return hint.Usage("--keep cannot be negative")
	}
	if older != "" {
		if p.OlderThan, err = daysOrDuration(older); err != nil || p.OlderThan <= 0 {
			return hint.Usage("--older-than %q: write a number with a unit, such as 90d or 12h", older)
		}
	}
	if size != "" {
		if p.MaxSize, err = amount.ParseBytes(size); err != nil || p.MaxSize <= 0 {
			return hint.Usage("--max-size %q: write a number with a unit, such as 500MB or 2GB", size)
		}
	}
	return nil
}

func daysOrDuration(s string) (time.Duration, error) {
	if days, ok := strings.CutSuffix(s, "d"); ok {
		n, err := strconv.ParseUint(days, 10, 16)
		return time.Duration(n) * 24 * time.Hour, err //nolint:wrapcheck // the caller says what to write
	}
	return time.ParseDuration(s) //nolint:wrapcheck // the caller says what to write
}
