package anthropic

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// Bounds on names, in bytes.
const (
	longestID   = 64  // of a call
	longestName = 128 // of a tool
	digits      = 12  // of what stands for the rest of an id
)

// plain reports whether a name is made of what the wire takes in names.
func plain(name string) bool {
	return name != "" && !strings.ContainsFunc(name, isForbidden)
}

func isForbidden(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_' && r != '-'
}

// cleaned puts a line in the place of what the wire does not take.
func cleaned(name string) string {
	return strings.Map(func(r rune) rune {
		if isForbidden(r) {
			return '_'
		}
		return r
	}, name)
}

// callID is the id of a call as the wire takes it. Ids of other wires have other
// letters in them, and two that differ must not become one.
func callID(id string) string {
	if plain(id) && len(id) <= longestID {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	name := cleaned(id)
	if most := longestID - digits - 1; len(name) > most {
		name = name[:most]
	}
	return name + "_" + hex.EncodeToString(sum[:])[:digits]
}

// toolName is the name of a tool as the wire takes it in what was said. A model
// may have called a tool that there is not.
func toolName(name string) string {
	if name = cleaned(name); len(name) > longestName {
		name = name[:longestName]
	}
	if name == "" {
		return "unnamed"
	}
	return name
}
