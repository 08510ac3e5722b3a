// Package amount reads and writes sizes as people do, the same wherever they are
// told or asked for.
//
// It must not know what is counted, or how a line looks.
package amount

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Tokens writes a number of tokens: 950, 14.5k, 1.2M.
func Tokens(n int64) string {
	switch {
	case n < 1000:
		return fmt.Sprint(n)
	case n < 999_950:
		return fmt.Sprintf("%.1fk", float64(n)/1e3)
	}
	return fmt.Sprintf("%.1fM", float64(n)/1e6)
}

// Bytes writes a size: 999 B, 1.0 KB, 2.3 MB.
func Bytes(n int64) string {
	size, unit := float64(n), "B"
	for _, next := range []string{"KB", "MB", "GB", "TB"} {
		if size < 1000 {
			break
		}
		size, unit = size/1000, next
	}
	if unit == "B" {
		return fmt.Sprintf("%d B", n)
	}
	return fmt.Sprintf("%.1f %s", size, unit)
}

// Count writes 1 turn, 2 turns, 2 batches.
func Count(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	ending := "s"
	if strings.HasSuffix(noun, "ch") || strings.HasSuffix(noun, "sh") {
		ending = "es"
	}
	return fmt.Sprintf("%d %s%s", n, noun, ending)
}

// units are the units of a size, largest first, with how many bytes they have.
var units = []struct {
	name  string
	bytes int64
}{
	{"TiB", 1 << 40},
	{"GiB", 1 << 30},
	{"MiB", 1 << 20},
	{"KiB", 1 << 10},
	{"TB", 1e12},
	{"GB", 1e9},
	{"MB", 1e6},
	{"KB", 1e3},
	{"B", 1},
}

// errSize is what is wrong with a text that is no size. Who asked for it says
// what to write.
var errSize = errors.New("it is not a size: a whole number with a unit, like 512MiB or 2GB")

// ParseBytes reads a size: a whole number, of bytes or with one of the units B,
// KB, MB, GB, TB of a thousand and KiB, MiB, GiB, TiB of 1024, in any case, with
// or without a blank before it.
func ParseBytes(text string) (int64, error) {
	number, scale := strings.TrimSpace(text), int64(1)
	for _, u := range units {
		at := len(number) - len(u.name)
		if at > 0 && strings.EqualFold(number[at:], u.name) {
			number, scale = strings.TrimSpace(number[:at]), u.bytes
			break
		}
	}
	n, err := strconv.ParseUint(number, 10, 63)
	if err != nil || int64(n) > math.MaxInt64/scale {
		return 0, errSize
	}
	return int64(n) * scale, nil
}

// ExactBytes writes a size so that ParseBytes reads it: 512MiB, 4GiB, 1000.
func ExactBytes(n int64) string {
	for _, u := range units[:4] {
		if n != 0 && n%u.bytes == 0 {
			return fmt.Sprintf("%d%s", n/u.bytes, u.name)
		}
	}
	return strconv.FormatInt(n, 10)
}

// Duration writes a duration for a line: 120ms, 8.2s, 3m24s, 2h03m, 3d07h.
func Duration(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d < time.Second:
		return fmt.Sprintf("%dms", max(d, 0).Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%.1fs", d.Truncate(100*time.Millisecond).Seconds())
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", d/time.Minute, d%time.Minute/time.Second)
	}
	if d < 2*day {
		return fmt.Sprintf("%dh%02dm", d/time.Hour, d%time.Hour/time.Minute)
	}
	return fmt.Sprintf("%dd%02dh", d/day, d%day/time.Hour)
}

// Clock writes a duration as a running clock: 0:07, 12:03, 1:02:03.
func Clock(d time.Duration) string {
	d = max(d, 0)
	if d < time.Hour {
		return fmt.Sprintf("%d:%02d", d/time.Minute, d%time.Minute/time.Second)
	}
	return fmt.Sprintf("%d:%02d:%02d", d/time.Hour, d%time.Hour/time.Minute, d%time.Minute/time.Second)
}

// Cost writes what something cost in dollars, or that it is not known.
func Cost(usd float64, priced bool) string {
	switch {
	case priced:
		return fmt.Sprintf("$%.4f", usd)
	case usd > 0:
		return fmt.Sprintf("$%.4f + unpriced calls", usd)
	}
	return "unpriced"
}
