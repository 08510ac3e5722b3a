// Command plan drives a change to a repository through Explore, Plan,
// Implement and Review. It is the roof of the module: it opens the doors,
// brings the packages together, and shows people what happens.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/cmd/plan/build"
	"github.com/plan-engine/plan/cmd/plan/signals"
	"github.com/plan-engine/plan/cmd/plan/terminal"
	"github.com/plan-engine/plan/config"
	"github.com/plan-engine/plan/face/render"
	"github.com/plan-engine/plan/face/tui"
	"github.com/plan-engine/plan/host"
	"github.com/plan-engine/plan/internal/hint"
	"github.com/plan-engine/plan/internal/profile"
	"github.com/plan-engine/plan/internal/sanitize"
	"github.com/plan-engine/plan/sandbox"
)

func main() {
	sandbox.Enter() // this may be the inside of a wall
	a := &app{
		in:      os.Stdin,
		out:     os.Stdout,
		err:     os.Stderr,
		environ: os.Environ(),
		process: true,
		now:     time.Now,
	}
	os.Exit(a.main(context.Background(), os.Args[1:]))
}

// app is the world as a command sees it.
type app struct {
	in       io.Reader
	out, err io.Writer
	environ  []string
	process  bool // environ is that of the process, which has no other user
	now      func() time.Time

	json  bool   // --json
	plain bool   // --plain
	dir   string // -C

	tell    func(note string) // where notes go while the terminal is drawn on; nil: standard error
	restore func()            // sets the terminal as it was; nil: nothing was drawn on it

	helpAll bool // --help-all: help shows what is rarely needed, too

	profiles profile.Profiles
	host     *host.Host // opened by the first command that needs the home
}

// exit is an error that carries the process's exit code. A nil err has been
// told already.
type exit struct {
	code int
	err  error
}

func (e *exit) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit %d", e.code)
	}
	return e.err.Error()
}

func (e *exit) Unwrap() error { return e.err }

// failed is an error before a run began.
func failed(err error) error {
	if err == nil {
		return nil
	}
	var ex *exit
	if errors.As(err, &ex) {
		return err
	}
	return &exit{code: host.ExitCode(err), err: err}
}

func usage(format string, args ...any) error {
	return &exit{code: plan.ExitUsage, err: hint.Usage(format, args...)}
}

// exitWith ends the process with a code, without further words.
func exitWith(code int) error {
	if code == plan.ExitOK {
		return nil
	}
	return &exit{code: code}
}

// main runs one command and returns the exit code.
func (a *app) main(ctx context.Context, args []string) int {
	a.host = a.newHost()
	signals.Suspend(a.host.Away)
	root := a.root() //nolint:contextcheck // commands get theirs from cobra
	for i, arg := range args {
		if arg == "--help-all" {
			a.helpAll = true
			args = append(append(slices.Clone(args[:i]), "--help"), args[i+1:]...)
		}
	}
	root.SetArgs(args)
	a.addCommands(root, args) //nolint:contextcheck // commands get theirs from cobra
	called, err := root.ExecuteContextC(ctx)
	err = errors.Join(err, failed(a.host.Close()))
	if left := failed(a.profiles.Stop()); err == nil {
		err = left
	}
	return a.ended(err, called.CommandPath())
}

// ended says what went wrong with a command, and is the code that it ends with.
func (a *app) ended(err error, called string) int {
	if err == nil {
		return plan.ExitOK
	}
	var ex *exit
	if !errors.As(err, &ex) { // cobra's own: a flag or an argument is wrong
		ex = &exit{code: plan.ExitUsage, err: err}
	}
	a.complain(ex, called)
	return ex.code
}

// newHost is the home that the environment names. It is opened when it is needed.
func (a *app) newHost() *host.Host {
	return host.New(host.Config{
		Environ: a.environ,
		Now:     a.now,
		Note:    a.note,
		Version: build.Version(),
	})
}

// complain says what went wrong, unless that was done already.
func (a *app) complain(ex *exit, called string) {
	if ex.err == nil {
		return
	}
	fmt.Fprintf(a.err, "plan: %s\n", render.SafeLine(ex.err.Error()))
	if advice := hint.Of(ex.err); advice != "" {
		fmt.Fprintf(a.err, "  %s\n", render.SafeLine(advice))
	}
	if ex.code == plan.ExitUsage {
		fmt.Fprintf(a.err, "  See `%s --help`.\n", called)
	}
}

// note tells people what they should know and can do without.
func (a *app) note(text string) {
	if a.tell != nil {
		a.tell(text)
		return
	}
	fmt.Fprintf(a.err, "plan: note: %s\n", render.SafeLine(text))
}

// forPeople is where text for people goes: standard output, unless that is for a
// program.
func (a *app) forPeople() io.Writer {
	if a.json {
		return a.err
	}
	return a.out
}

func (a *app) getenv(name string) string { return config.Lookup(a.environ, name) }

const about = `plan takes a repository and a request. It explores read-only, writes a
specific plan, implements it, and lets an independent reviewer that cannot
write run the result, until the verdict is DONE.

Every step is on disk before it happens, so a run survives any crash:
stop it with Ctrl-C or kill it, and go on with "plan resume".

A model is named provider/model, such as anthropic/claude-sonnet-4-5; a name
without a provider is a model of the default one. "plan models" shows what each
phase uses, "plan models --providers" which providers need nothing but a key.

Environment:
  PLAN_MODEL        the model of every phase
  OPENAI_BASE_URL   the server of the default provider, where it is not OpenAI's
  OPENAI_API_KEY    its key; other providers have variables of their own, such
                    as ANTHROPIC_API_KEY or OPENROUTER_API_KEY
  PLAN_HOME         where runs and config.toml are

Exit codes: 0 approved, planned or answered · 1 failed · 2 usage · 3 not approved
· 4 waiting for a person · 5 parked by a limit, a rate limit, a model server, or
a tree that changed under the run · 130 interrupted or cancelled`

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "plan",
		Short: "Plan, implement and review a change to a repository",
		Long:  about,
		Example: `  plan demo                                  see a whole run, no key needed
  plan run "Fix the flaky retry test"        in the repository you stand in
  plan run --check "make test" -             the request from standard input
  plan run --plan-only "Add a --json flag"   stop once there is a plan
  plan run --worktree "Fix issue 41"         in a tree of its own; plan apply brings it over
  plan ask "Who calls Close twice?"          an answer, and no change
  plan review --base main                    judge the change that is there, and change nothing
  plan resume                                go on with the newest unfinished run
  plan tell 01JX "Keep the old flag"         guidance, an answer, or what comes next
  plan show                                  what happened in the newest run here`,
		Version:       build.Version() + build.Commit(),
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.NoArgs,
		RunE:          func(cmd *cobra.Command, _ []string) error { return a.session(cmd, tui.Config{}) },
	}
	root.SetIn(a.in)
	root.SetOut(a.out)
	root.SetErr(a.err)
	root.PersistentFlags().StringVarP(&a.dir, "directory", "C", ".", "work in the repository at `DIR`")
	root.PersistentFlags().BoolVar(&a.json, "json", false,
		"machine output on standard output; people's text goes to standard error")
	root.PersistentFlags().BoolVar(&a.plain, "plain", false, "lines of plain text on a terminal, for screen readers")
	a.profiles.Register(root.PersistentFlags())
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		return errors.Join(failed(a.profiles.Start()), a.standClear(cmd.Context()))
	}
	root.CompletionOptions.HiddenDefaultCmd = false
	return root
}

// outward is the environment of programs that the person reads and writes with, as it is to
// be now: trees may have come to be worked on since the start.
func (a *app) outward(ctx context.Context) []string { return a.host.Clear(ctx, a.dir) }

// standClear has this process find no program in trees that runs work on, where their
// commands could have put it. They themselves get the environment as it was.
func (a *app) standClear(ctx context.Context) error {
	a.host = a.host.At(a.dir)
	if !a.process {
		return nil
	}
	os.Clearenv()
	for _, entry := range a.outward(ctx) {
		name, value, _ := strings.Cut(entry, "=")
		if err := os.Setenv(name, value); err != nil {
			return failed(err)
		}
	}
	return nil
}

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Say which version this is",
		Example: `  plan version --json`,
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			facts := map[string]string{"version": build.Version(), "commit": strings.Trim(build.Commit(), " ()")}
			return a.view(facts, build.Write)
		},
	}
}

// document writes one JSON document to standard output.
func (a *app) document(v any) error {
	data, err := plan.MarshalCompact(v)
	if err != nil {
		return failed(fmt.Errorf("encode the answer: %w", err))
	}
	_, err = fmt.Fprintf(a.out, "%s\n", sanitize.JSON(data))
	return failed(err)
}

// answer writes what a command has to say: the document with --json, else the
// text for people.
func (a *app) answer(document any, text func(io.Writer) error) error {
	if a.json {
		return a.document(document)
	}
	return failed(text(a.out))
}

// view is the same for a text that may be long: a reader that leaves before its end
// is not an error.
func (a *app) view(document any, text func(io.Writer) error) error {
	return a.answer(document, func(w io.Writer) error { return render.UnlessReaderLeft(text(w)) })
}

// viewing is how text for people is laid out on standard output.
func (a *app) viewing() render.Options {
	opts := render.Options{Now: a.now}
	if f, ok := a.out.(*os.File); ok {
		opts, _ = render.OptionsFor(f, a.getenv)
	}
	return opts
}

// terminal asks the person, where there is one.
func (a *app) terminal() terminal.Terminal {
	return terminal.Terminal{
		In:      a.in,
		Out:     a.out,
		Err:     a.err,
		Environ: a.outward,
	}
}

// interactive says whether there is a person to ask.
func (a *app) interactive() bool {
	in, ok := a.in.(*os.File)
	return ok && term.IsTerminal(int(in.Fd())) && a.onTerminal() && !a.json
}

// onTerminal says whether standard output is a terminal.
func (a *app) onTerminal() bool {
	f, ok := a.out.(*os.File)
	if !ok {
		return false
	}
	_, tty := render.OptionsFor(f, a.getenv)
	return tty
}
