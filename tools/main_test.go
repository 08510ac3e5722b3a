package tools_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if how := os.Getenv(serverEnv); how != "" { // this program stands in for a language server
		serveLanguage(how)
		return
	}
	goleak.VerifyTestMain(m)
}
