package loop

import (
	"fmt"
	"strings"

	"github.com/plan-engine/plan"
)

// recordCutInput says that a server cuts what it is sent, once a conversation.
func (l *Loop) recordCutInput(sent, reported int64) {
	if l.complained {
		return
	}
	l.complained = true
	l.record(plan.Adjusted{
		Model: l.cfg.Name,
		Part:  plan.PartContext,
		Why: fmt.Sprintf(
			"the server read %s of about %s tokens: raise its window (Ollama: OLLAMA_CONTEXT_LENGTH), or set "+
				"[models.%s] window",
			thousands(reported),
			thousands(sent),
			tomlKey(l.cfg.Name),
		),
	})
}

// thousands writes a number with a comma before every third digit.
func thousands(n int64) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%s,%03d", thousands(n/1000), n%1000)
}

// tomlKey is a name as it stands in the head of a table.
func tomlKey(name string) string {
	plain := func(r rune) bool {
		return r == '-' || r == '_' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
	}
	if strings.TrimFunc(name, plain) == "" && name != "" {
		return name
	}
	return fmt.Sprintf("%q", name)
}
