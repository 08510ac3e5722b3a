package permit

import (
	"path"
	"slices"
	"strings"
)

// name is the command's name without its folder.
func (p *Part) program() string {
	if len(p.argv) == 0 {
		return ""
	}
	return path.Base(p.argv[0].text)
}

// operands are the words that are no options.
func (p *Part) operands() []word {
	var out []word
	for i, w := range p.argv[1:] {
		if w.text == "--" {
			return append(out, p.argv[i+2:]...)
		}
		if !strings.HasPrefix(w.text, "-") || w.text == "-" {
			out = append(out, w)
		}
	}
	return out
}

// option is the value of an option that takes one, as -o file, -ofile,
// --long file or --long=file; nil if it is not there.
func (p *Part) option(names ...string) []word {
	var out []word
	for i, w := range p.argv[1:] {
		for _, name := range names {
			text, ok := strings.CutPrefix(w.text, name)
			switch {
			case !ok:
			case text == "" && i+2 < len(p.argv):
				out = append(out, p.argv[i+2])
			case strings.HasPrefix(name, "--") && strings.HasPrefix(text, "="):
				out = append(out, w.suffix(text[1:]))
			case !strings.HasPrefix(name, "--") && text != "":
				out = append(out, w.suffix(text))
			}
		}
	}
	return out
}

// suffix is the part of a word behind an option, which is known as far as the word.
func (w word) suffix(text string) word {
	if w.known {
		return value(text)
	}
	return unsaid(text)
}

// flag reports whether a short option is among the options, also in a group.
func (p *Part) flag(short string, long ...string) bool {
	for _, w := range p.argv[1:] {
		switch {
		case w.text == "--":
			return false
		case strings.HasPrefix(w.text, "--"):
			for _, l := range long {
				if w.text == l || strings.HasPrefix(w.text, l+"=") ||
					(len(w.text) > 4 && strings.HasPrefix(l, w.text)) {
					return true
				}
			}
		case strings.HasPrefix(w.text, "-") && short != "" && strings.ContainsAny(w.text[1:], short):
			return true
		case slices.Contains(long, w.text):
			return true // find's -delete and the like
		}
	}
	return false
}

// targets are the words that name what a well-known command writes.
func (p *Part) targets() []word {
	operands := p.operands()
	last := operands[max(len(operands)-1, 0):]
	switch p.program() {
	case "touch", "mkdir", "rmdir", "rm", "unlink", "shred", "truncate", "tee", "mkfifo", "mknod":
		return operands
	case "mv":
		return append(slices.Clone(operands), p.option("-t", "--target-directory")...)
	case "cp", "ln", "install", "rsync", "scp":
		return append(slices.Clone(last), p.option("-t", "--target-directory")...)
	case "chmod", "chown", "chgrp":
		return operands[min(1, len(operands)):]
	case "dd":
		for _, w := range operands {
			if text, ok := strings.CutPrefix(w.text, "of="); ok {
				return []word{w.suffix(text)}
			}
		}
	case "sed", "perl":
		if p.flag("i", "--in-place") && p.argv[0].known {
			return operands[min(1, len(operands)):]
		}
	case "curl":
		return p.option("-o", "--output", "--output-dir")
	case "wget":
		return p.option("-O", "--output-document", "-P", "--directory-prefix")
	case "tar":
		return p.option("-C", "--directory")
	case "unzip":
		return p.option("-d")
	case "find":
		return p.option("-fprint", "-fprintf", "-fls")
	case "sort":
		return p.option("-o", "--output")
	}
	return nil
}

// writesOnly reports whether all that the command does is to write paths that
// are known, so that a rule about paths can allow it.
func (p *Part) writesOnly() bool {
	if p.vague || len(p.writes) == 0 {
		return false
	}
	return p.Redirect || len(p.targets()) > 0
}

// fetches reports whether the command prints what it gets over the network.
func (p *Part) fetches() bool {
	return slices.Contains(
		[]string{"curl", "wget", "nc", "ncat", "socat", "fetch", "http", "https", "aria2c", "lynx"},
		p.program(),
	)
}
