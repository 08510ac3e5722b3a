// Package manual writes the pages of the manual, one for each command, from what the
// commands say of themselves.
//
// It must not know which commands there are.
package manual

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Source is what the pages say about where they come from.
type Source struct {
	Version string
	Date    time.Time
}

// Write writes the page of a command, and of all below it that are in the help, into a
// folder, which is made if it is not there.
func Write(dir string, cmd *cobra.Command, from Source) error {
	const readable = 0o755
	if err := os.MkdirAll(dir, readable); err != nil {
		return fmt.Errorf("make the folder for the manual: %w", err)
	}
	const forAll = 0o644
	name := filepath.Join(dir, nameOf(cmd)+".1")
	if err := os.WriteFile(name, []byte(Page(cmd, from)), forAll); err != nil {
		return fmt.Errorf("write a page of the manual: %w", err)
	}
	for _, below := range documented(cmd) {
		if err := Write(dir, below, from); err != nil {
			return err
		}
	}
	return nil
}

// documented are the commands below one that are in its help and have a page. What cobra
// adds itself has none.
func documented(cmd *cobra.Command) []*cobra.Command {
	return slices.DeleteFunc(slices.Clone(cmd.Commands()), func(c *cobra.Command) bool {
		return c.Hidden || c.Name() == "help" || c.Name() == "completion"
	})
}

func nameOf(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

// Page is the page of a command, for man.
func Page(cmd *cobra.Command, from Source) string {
	var p page
	p.line(fmt.Sprintf(".TH %q 1 %q %q %q", strings.ToUpper(nameOf(cmd)), from.Date.UTC().Format(time.DateOnly),
		"plan "+from.Version, "plan"))
	p.section("NAME")
	p.text(nameOf(cmd) + " - " + cmd.Short)
	p.section("SYNOPSIS")
	p.line(bold(cmd.CommandPath()) + plainly(strings.TrimPrefix(cmd.UseLine(), cmd.CommandPath())))
	if len(documented(cmd)) > 0 {
		p.line(".br")
		p.line(bold(cmd.CommandPath()) + plainly(" COMMAND …"))
	}
	p.section("DESCRIPTION")
	long := cmd.Long
	if long == "" {
		long = cmd.Short + "."
	}
	p.paragraphs(long)
	if below := documented(cmd); len(below) > 0 {
		p.section("COMMANDS")
		for _, c := range below {
			p.item(bold(c.Name()), c.Short)
		}
	}
	p.flags("OPTIONS", cmd.NonInheritedFlags())
	p.flags("GLOBAL OPTIONS", cmd.InheritedFlags())
	if cmd.Example != "" {
		p.section("EXAMPLES")
		p.asItIs(cmd.Example)
	}
	var see []string
	if cmd.HasParent() {
		see = append(see, nameOf(cmd.Parent())+"(1)")
	}
	for _, c := range documented(cmd) {
		see = append(see, nameOf(c)+"(1)")
	}
	if len(see) > 0 {
		p.section("SEE ALSO")
		p.text(strings.Join(see, ", "))
	}
	return p.String()
}

// page is a page that is being written.
type page struct{ strings.Builder }

func (p *page) line(text string) { p.WriteString(text + "\n") }

func (p *page) section(name string) { p.line(".SH " + name) }

// text writes lines that are filled as the reader's terminal is wide.
func (p *page) text(text string) {
	for line := range strings.Lines(text) {
		p.line(plainly(strings.TrimSpace(line)))
	}
}

// asItIs writes lines that stay as they are.
func (p *page) asItIs(text string) {
	p.line(".nf")
	for line := range strings.Lines(text) {
		p.line(plainly(strings.TrimRight(line, "\n")))
	}
	p.line(".fi")
}

// paragraphs writes a help text. A paragraph with lines that are set in is a list, or an
// example, and stays as it is.
func (p *page) paragraphs(text string) {
	for i, part := range strings.Split(strings.TrimSpace(text), "\n\n") {
		if i > 0 {
			p.line(".PP")
		}
		if strings.Contains("\n"+part, "\n ") {
			p.asItIs(part)
		} else {
			p.text(part)
		}
	}
}

// item writes something and what is said of it.
func (p *page) item(name, text string) {
	p.line(".TP")
	p.line(name)
	p.text(text)
}

func (p *page) flags(title string, flags *pflag.FlagSet) {
	if !flags.HasAvailableFlags() {
		return
	}
	p.section(title)
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Deprecated != "" {
			return
		}
		value, usage := pflag.UnquoteUsage(f)
		name := bold("--" + f.Name)
		if f.Shorthand != "" {
			name = bold("-"+f.Shorthand) + ", " + name
		}
		if value != "" {
			name += ` \fI` + plainly(value) + `\fR`
		}
		if !slices.Contains([]string{"", "0", "0s", "false", "[]"}, f.DefValue) {
			usage += fmt.Sprintf(" (default %s)", f.DefValue)
		}
		p.item(name, usage)
	})
}

func bold(text string) string { return `\fB` + plainly(text) + `\fR` }

// plainly is a text of which man takes nothing for a request of its own.
func plainly(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text)
	if strings.HasPrefix(text, ".") || strings.HasPrefix(text, "'") {
		text = `\&` + text
	}
	return text
}
