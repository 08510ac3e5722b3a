package permit

import (
	"path"
	"slices"
	"strings"
)

// name is the command's name without its folder.
func (p *Part) name() string {
	if len(p.argv) == 0 {
		return ""
	}
	return path.Base(p.argv[0].text)
}

// names are the texts that an ask or a deny is compared with: the command as it
// is written, with its bare name, and without git's own options.
func (p *Part) names() []string {
	out := []string{p.Text}
	if p.Redirect || len(p.argv) == 0 {
		return out
	}
	bare := slices.Clone(p.argv)
	bare[0].text = p.name()
	out = append(out, joined(bare))
	if p.name() == "git" {
		sub, args := gitCommand(p.argv)
		out = append(out, strings.TrimSpace("git "+joined(append([]word{sub}, args...))))
	}
	return out
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
			value, ok := strings.CutPrefix(w.text, name)
			switch {
			case !ok:
			case value == "" && i+2 < len(p.argv):
				out = append(out, p.argv[i+2])
			case strings.HasPrefix(name, "--") && strings.HasPrefix(value, "="):
				out = append(out, word{text: value[1:], known: w.known})
			case !strings.HasPrefix(name, "--") && value != "":
				out = append(out, word{text: value, known: w.known})
			}
		}
	}
	return out
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

// see finds the paths that the command names, and those that it writes as far
// as its kind is known.
func (p *Part) see(r *reader) {
	for _, w := range p.argv[1:] {
		text := w.text
		if _, value, ok := strings.Cut(text, "="); ok {
			text = value
		}
		if abs, ok := r.path(word{text: text, known: w.known}); ok && text != "" {
			p.paths = append(p.paths, abs)
		}
	}
	for _, w := range p.targets() {
		p.write(r, w)
	}
}

// write notes a path that is written.
func (p *Part) write(r *reader, w word) {
	abs, ok := r.path(w)
	if !ok {
		p.vague = true
		return
	}
	p.paths = append(p.paths, abs)
	p.writes = append(p.writes, abs)
}

// targets are the words that name what a well-known command writes.
func (p *Part) targets() []word {
	all := p.operands()
	last := all[max(len(all)-1, 0):]
	switch p.name() {
	case "touch", "mkdir", "rmdir", "rm", "unlink", "shred", "truncate", "tee", "mkfifo", "mknod":
		return all
	case "mv":
		return append(slices.Clone(all), p.option("-t", "--target-directory")...)
	case "cp", "ln", "install", "rsync", "scp":
		return append(slices.Clone(last), p.option("-t", "--target-directory")...)
	case "chmod", "chown", "chgrp":
		return all[min(1, len(all)):]
	case "dd":
		for _, w := range all {
			if value, ok := strings.CutPrefix(w.text, "of="); ok {
				return []word{{text: value, known: w.known}}
			}
		}
	case "sed", "perl":
		if p.flag("i", "--in-place") && p.argv[0].known {
			return all[min(1, len(all)):]
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
		p.name(),
	)
}
