package config

import (
	"fmt"

	"github.com/plan-engine/plan/internal/amount"
)

// Size is a number of bytes that is written like "512MiB" or "4GiB".
type Size int64

// smallestSize is less than any command can do with.
const smallestSize = 16 << 20

// MarshalText writes the form that UnmarshalText reads.
func (s Size) MarshalText() ([]byte, error) { return []byte(amount.ExactBytes(int64(s))), nil }

// UnmarshalText reads a whole number with a unit, or of bytes.
func (s *Size) UnmarshalText(text []byte) error {
	v, err := amount.ParseBytes(string(text))
	if err != nil || v != 0 && v < smallestSize {
		return fmt.Errorf(
			"%q is not a size: write a whole number with a unit, like \"512MiB\" or \"4GiB\", of at least 16MiB",
			text,
		)
	}
	*s = Size(v)
	return nil
}
