package config

import "strings"

// Lookup is the value of a variable in an environment of "NAME=value" entries, ""
// for none. Of several entries of a name the last counts.
func Lookup(environ []string, name string) string {
	for i := len(environ) - 1; i >= 0; i-- {
		if key, value, ok := strings.Cut(environ[i], "="); ok && key == name {
			return value
		}
	}
	return ""
}
