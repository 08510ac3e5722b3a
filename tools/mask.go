package tools

import (
	"errors"
	"regexp"
	"strings"

	"github.com/plan-engine/plan/internal/userinfo"
)

// addressMark is what a model reads where an address has credentials.
const addressMark = "://" + userinfo.Mark + "@"

// unmask makes an edit fit a file of which the model has read addresses without their
// credentials: the marks in old are taken for what stands there, and those in new for
// the same, in order.
func unmask(text, old, new string) (string, string, error) {
	if !strings.Contains(old, addressMark) || strings.Contains(text, old) {
		return old, new, nil
	}
	var pattern strings.Builder
	for i, part := range strings.Split(old, addressMark) {
		if i > 0 {
			pattern.WriteString(`://([^\s/"'<>` + "`" + `]*)@`)
		}
		pattern.WriteString(regexp.QuoteMeta(part))
	}
	expression, err := regexp.Compile(pattern.String())
	if err != nil {
		return old, new, nil //nolint:nilerr // too large: it is not found
	}
	found := expression.FindAllStringSubmatch(text, -1)
	if len(found) == 0 {
		return old, new, nil
	}
	for _, other := range found[1:] {
		if other[0] != found[0][0] {
			return "", "", errors.New("old_string fits several places whose addresses differ in what you are not shown; " +
				"nothing was changed. Add lines around it until it is unique")
		}
	}
	for _, hidden := range found[0][1:] {
		new = strings.Replace(new, addressMark, "://"+hidden+"@", 1)
	}
	return found[0][0], new, nil
}
