// Package amount writes sizes for people, the same wherever they are told.
//
// It must not know what is counted, or how a line looks.
package amount

import "fmt"

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

// Count writes 1 turn, 2 turns.
func Count(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
