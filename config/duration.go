package config

import (
	"fmt"
	"time"
)

// Duration is a time span that is written like "90s" or "1h30m".
type Duration struct{ time.Duration }

// Of makes a Duration.
func Of(d time.Duration) Duration { return Duration{d} }

// MarshalText writes the form that UnmarshalText reads.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads a number with a unit, or several.
func (d *Duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	if err != nil {
		return fmt.Errorf("%q is not a duration: write a number with a unit, like \"90s\" or \"10m\"", text)
	}
	d.Duration = v
	return nil
}
