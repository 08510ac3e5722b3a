package sandbox_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/plan-engine/plan/sandbox"
)

// Where tools keep keys below a folder that is shown is a secret, too.
func TestSecretsBelowWhatIsShown(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	for _, name := range []string{
		".local/share/gem/credentials", ".local/share/uv/credentials/credentials.toml", ".gem/credentials", ".cargo/credentials.toml",
		".local/share/foo/auth.json",
	} {
		path := filepath.Join(home, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		found := sandbox.Secrets([]string{"HOME=" + home})
		if !slices.Contains(found, path) && !slices.Contains(found, filepath.Dir(path)) {
			t.Errorf("%s is none of %s", name, found)
		}
	}
}
