package userinfo_test

import (
	"testing"

	"github.com/plan-engine/plan/internal/userinfo"
)

func TestRedact(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"https://user:token@host/x":                 "https://[redacted]@host/x",
		"url = https://ghp_abc123def@github.com/x":  "url = https://[redacted]@github.com/x",
		"https://0123456789abcdef@o1.sentry.io/1":   "https://[redacted]@o1.sentry.io/1",
		"postgres://u:p@h:5432/db and git://a:b@c":  "postgres://[redacted]@h:5432/db and git://[redacted]@c",
		"https://u:p@ss:w#?rd@host/x":               "https://[redacted]@host/x",
		"redis://:secret@host":                      "redis://[redacted]@host",
		"HTTPS://oauth2:tok@host":                   "HTTPS://[redacted]@host",
		"git+https://x-access-token:abc@github.com": "git+https://[redacted]@github.com",
		"https://${USER}:literal@host":              "https://[redacted]@host",
		"https://git@github.com/x":                  "",
		"ssh://git@github.com/x":                    "",
		"git@github.com:x/y":                        "",
		"https://user:${PASSWORD}@host":             "",
		"https://user:$PASSWORD@host":               "",
		"https://{user}:{password}@host":            "",
		"https://[redacted]@host":                   "",
		"https://bob:«secret X»@host":               "",
		"https://host/a@b and mail me@here":         "",
		"see https://host, or me@here":              "",
		"":                                          "",
	} {
		if want == "" {
			want = text
		}
		if got := userinfo.Redact(text); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
	if got := userinfo.Strip("a https://u:p@h/x ssh://git@h"); got != "a https://h/x ssh://git@h" {
		t.Error(got)
	}
}
