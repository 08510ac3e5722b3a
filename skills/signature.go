package skills

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
)

// Signature names the kind of a task: its three longest content words, sorted.
// Length counts bytes, and of words of the same length the first ones are
// taken. It is empty for a text without content words.
func Signature(text string) string {
	words := Words(text)
	slices.SortStableFunc(words, func(a, b string) int { return len(b) - len(a) })
	words = words[:min(len(words), 3)]
	slices.Sort(words)
	return strings.Join(words, "-")
}

// maxName is the longest name that the Agent Skills format allows, in bytes.
const maxName = 64

// FolderName turns a signature into the name of a skill and of its folder: of
// a-z, 0-9 and single hyphens, at most 64 bytes. What had to be changed or cut
// for that is told apart by a short hash at the end. It is empty for an empty
// signature.
func FolderName(signature string) string {
	if signature == "" {
		return ""
	}
	var b strings.Builder
	for _, r := range signature {
		switch {
		case 'a' <= r && r <= 'z', '0' <= r && r <= '9':
			b.WriteRune(r)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
	}
	name := strings.Trim(b.String(), "-")
	if name == signature && len(name) <= maxName {
		return name
	}
	sum := sha256.Sum256([]byte(signature))
	tail := hex.EncodeToString(sum[:4])
	name = strings.Trim(name[:min(len(name), maxName-len(tail)-1)], "-")
	if name == "" {
		return "task-" + tail
	}
	return name + "-" + tail
}
