// Package serveflags has the flags of `plan serve`, and what its help says.
package serveflags

import (
	"fmt"
	"io"
	"os/exec"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/plan-engine/plan/cmd/plan/runflags"
	"github.com/plan-engine/plan/face/web"
	"github.com/plan-engine/plan/internal/hint"
)

// Long is the help of the command.
const Long = `Serve shows pages on which runs are watched, decided, reviewed and begun, and answers
programs below /api/v1, whose openapi.json describes it. It prints an address with a
token: open it, or have --open do so. Runs that are begun there go on when the page
is closed; when the server ends they park.

It listens on this machine alone. Beyond it, it wants a certificate (--tls-cert,
--tls-key), or a proxy that speaks TLS in front of it (--behind-proxy). Runs may be begun
in the repositories that --repo, or repositories in [serve] of config.toml, name; without
any in the one that it is started in. See docs/page.md.`

// Example shows how the command is used.
const Example = `  plan serve --open
  plan serve --listen 127.0.0.1:7655 --repo ~/src/shop --check "make test" --max-cost 5
  plan serve --json                          prints the address and the token
  plan serve --listen 10.0.0.5:443 --tls-cert plan.pem --tls-key plan.key`

// Flags are those flags. Their zero value is ready to be registered.
type Flags struct {
	runflags.Flags
	options web.Options
	open    bool
}

// Register adds them to the command.
func (f *Flags) Register(cmd *cobra.Command) {
	f.Flags.Register(cmd)
	fl := cmd.Flags()
	fl.StringVar(&f.options.Place.Address, "listen", "127.0.0.1:0", "listen at this `ADDRESS`; port 0 is any free one")
	fl.StringVar(&f.options.Place.Cert, "tls-cert", "", "speak TLS with the certificate in `FILE`")
	fl.StringVar(&f.options.Place.Key, "tls-key", "", "the key of the certificate, in `FILE`")
	fl.StringVar(&f.options.Place.Proxy, "behind-proxy", "",
		"a proxy that speaks TLS stands before it, and browsers reach it at this `URL`, such as "+
			"https://plan.example.org")
	fl.StringArrayVar(&f.options.Repos, "repo", nil, "`DIR` of a repository in which runs may be begun (repeatable)")
	fl.IntVar(&f.options.Concurrency, "concurrency", 4, "drive at most `N` runs at the same time")
	fl.BoolVar(&f.open, "open", false, "open the page in a browser")
}

// Options reads the flags. Dir is the repository that the command was started in.
func (f *Flags) Options(cmd *cobra.Command, dir string) (web.Options, error) {
	o := f.options
	if o.Concurrency < 1 {
		return o, hint.Usage("--concurrency must be at least 1")
	}
	var err error
	o.Dir = dir
	o.Run, err = f.Flags.Options(cmd)
	return o, err
}

// Told tells people where the server is reached, and opens a browser there if that was
// asked for.
func (f *Flags) Told(s web.Served, note func(string)) func(io.Writer) error {
	if f.open {
		opener := "xdg-open"
		if runtime.GOOS == "darwin" {
			opener = "open"
		}
		browser := exec.Command(opener, s.Enter) //nolint:noctx // it may outlive the command
		if err := browser.Start(); err != nil {
			note(fmt.Sprintf("no browser could be opened: %v", err))
		} else {
			go func() { _ = browser.Wait() }()
		}
	}
	return func(w io.Writer) error {
		_, err := fmt.Fprintf(
			w,
			"%s\nIt lets in all who have it. Ctrl-C ends the server and parks its runs.\n",
			s.Enter,
		)
		return err
	}
}
