package permit

import (
	"slices"
	"strings"
)

// Bounds of how far the words of a command are looked at as commands.
const (
	mostWords    = 512
	mostSuffixes = 24
)

// names are the texts that an ask or a deny is compared with: the command as it
// is written and as it is run, with its bare name, and without git's own
// options. Where the program is not known to run nothing, each rest of its words
// may be a command that it is given to run.
func (p *Part) names() []string {
	out := []string{p.Text}
	if p.Redirect || len(p.argv) == 0 {
		return out
	}
	argv := p.argv[:min(len(p.argv), mostWords)]
	out = append(append(out, namesOf(argv)...), p.inner...)
	for _, rest := range p.rests() {
		out = append(out, namesOf(rest)...)
	}
	return out
}

// rests are the ends of the words that may be commands.
func (p *Part) rests() [][]word {
	name := p.program()
	if p.quiet || name == "git" || slices.Contains(runNothing, name) || len(p.argv) < 2 {
		return nil
	}
	var out [][]word
	verb := slices.Contains(haveVerbs, name)
	for i, w := range p.argv[1:min(len(p.argv), mostSuffixes)] {
		switch {
		case strings.HasPrefix(w.text, "-"):
		case verb:
			verb = false
		default:
			out = append(out, p.argv[i+1:min(len(p.argv), mostWords)])
		}
	}
	return out
}

// runNothing are programs that run no command which is among their words.
var runNothing = slices.Concat(wordsOnly, strings.Fields(
	"alias awk base64 cat cd chmod chown chgrp cksum clear cmp column comm cp curl cut dd df diff du egrep export "+
		"false fgrep file fmt fold gawk git gofmt grep gunzip gzip head hexdump hostname id install jq kill less ln "+
		"local ls md5sum mkdir mktemp more mv nl od paste patch pgrep popd ps pushd read readlink realpath rev rg "+
		"rm rmdir sed sha1sum sha256sum shasum sort split stat strings sum tac tail tee touch tr tree truncate "+
		"type umask uname uniq unlink unset unzip wc wget whereis which whoami xxd yq"))

// haveVerbs are programs whose first word is a verb of their own.
var haveVerbs = strings.Fields(
	"apk apt apt-get brew bun cargo conda docker gem gh glab go gradle helm hg kubectl make mvn npm pip pip3 pnpm " +
		"podman poetry rustup snap svn systemctl uv yarn yum dnf")

// namesOf are the texts that one command is known by.
func namesOf(argv []word) []string {
	out := []string{meant(argv)}
	bare := slices.Clone(argv)
	bare[0].text = pathBase(bare[0].text)
	out = append(out, meant(bare))
	bare[0].text = strings.ToLower(bare[0].text)
	out = append(out, meant(bare))
	if sub, ok := strings.CutPrefix(bare[0].text, "git-"); ok {
		bare = append([]word{value("git"), value(sub)}, bare[1:]...)
	}
	if bare[0].text == "git" {
		return append(out, gitNames(bare)...)
	}
	return append(out, meant(withoutOptions(bare, false)), meant(withoutOptions(bare, true)))
}

// withoutOptions are the words that are no options; with values, an option takes
// the word behind it along. Which of them do is known to the program alone.
func withoutOptions(argv []word, values bool) []word {
	out := slices.Clone(argv[:1])
	for i := 1; i < len(argv); i++ {
		switch {
		case !strings.HasPrefix(argv[i].text, "-"):
			out = append(out, argv[i])
		case values && !strings.Contains(argv[i].text, "=") &&
			i+1 < len(argv) && !strings.HasPrefix(argv[i+1].text, "-"):
			i++
		}
	}
	return out
}

// gitNames are the texts that a command of git is known by: without git's own
// options, and by what commands do that are called otherwise.
func gitNames(argv []word) []string {
	sub, args := gitCommand(argv)
	text := func(words ...word) string { return strings.TrimSpace("git " + meant(words)) }
	out := []string{text(append([]word{sub}, args...)...)}
	if same, ok := gitSynonyms[sub.text]; ok {
		out = append(out, text(append([]word{value(same)}, args...)...))
	}
	if !slices.Contains(gitOwn, sub.text) {
		for i := range args[:min(len(args), mostSuffixes)] {
			out = append(out, text(args[i:]...))
		}
	}
	return out
}

// gitSynonyms are subcommands that do what another one does.
var gitSynonyms = map[string]string{
	"send-pack": "push",
	"http-push": "push",
	"stage":     "add",
	"annotate":  "blame",
}

// gitOwn are the subcommands of git that are what they are called. Any other may
// be an alias, or a program that hands its words on.
var gitOwn = strings.Fields(
	"add am annotate apply archive bisect blame branch bundle cat-file check-attr check-ignore checkout cherry " +
		"cherry-pick clean clone commit commit-tree config count-objects describe diff diff-files diff-index " +
		"diff-tree difftool fetch filter-branch for-each-ref format-patch fsck gc grep hash-object help http-push " +
		"index-pack init interpret-trailers log ls-files ls-remote ls-tree merge merge-base merge-file merge-tree " +
		"mergetool mktree mv name-rev notes pack-objects pack-refs prune pull push range-diff read-tree rebase " +
		"reflog remote repack replace rerere reset restore rev-list rev-parse revert rm send-email send-pack " +
		"shortlog show show-ref sparse-checkout stage stash status stripspace submodule switch symbolic-ref tag " +
		"unpack-objects update-index update-ref var verify-commit verify-pack verify-tag version whatchanged " +
		"worktree write-tree")

// isAlias reports whether a command of git may be an alias of the settings.
func (p *Part) isAlias() bool {
	if p.program() != "git" {
		return false
	}
	sub, _ := gitCommand(p.argv)
	return sub.text != "" && sub.text != "subtree" && !slices.Contains(gitOwn, sub.text)
}

// shapes are patterns for what the command may be, where some of its words are
// not known; nil where all are.
func (p *Part) shapes() []string {
	if p.Redirect || len(p.argv) == 0 {
		return nil
	}
	var out []string
	if !known(p.argv) {
		out = append(out, shapeOf(p.argv))
		if bare := slices.Clone(p.argv); bare[0].known {
			bare[0].shape = quoteCommand(p.program())
			out = append(out, shapeOf(bare))
		}
		if p.program() == "git" {
			sub, args := gitCommand(p.argv)
			out = append(out, shapeOf(append([]word{value("git"), sub}, args...)))
		}
	}
	for _, rest := range p.rests() {
		if !known(rest) && rest[0].known {
			out = append(out, shapeOf(rest))
		}
	}
	if p.isAlias() {
		out = append(out, "git *")
	}
	return out
}

func known(argv []word) bool {
	return !slices.ContainsFunc(argv, func(w word) bool { return !w.known })
}

// shapeOf is the pattern of a command. A word that may be none takes the blank
// before it with it.
func shapeOf(argv []word) string {
	var b strings.Builder
	for i, w := range argv[:min(len(argv), mostWords)] {
		shape := w.shape
		if !w.known && shape == "" {
			shape = "*"
		}
		if i > 0 && (shape != "*" || !w.split) {
			b.WriteByte(' ')
		}
		b.WriteString(shape)
	}
	return b.String()
}

// meet reports whether there is a text that fits both patterns, in which * is any
// text and a backslash quotes.
func meet(a, b string) bool {
	as, bs := marks(a), marks(b)
	// row[j] says that what is left of a from i on meets bs[j:].
	row := make([]bool, len(bs)+1)
	for i := len(as); i >= 0; i-- {
		next := make([]bool, len(bs)+1)
		for j := len(bs); j >= 0; j-- {
			aStar, bStar := i < len(as) && as[i] == star, j < len(bs) && bs[j] == star
			switch {
			case i == len(as) && j == len(bs):
				next[j] = true
			case aStar && bStar:
				next[j] = row[j] || next[j+1]
			case aStar:
				next[j] = row[j] || (j < len(bs) && next[j+1])
			case bStar:
				next[j] = next[j+1] || (i < len(as) && row[j])
			case i < len(as) && j < len(bs):
				next[j] = as[i] == bs[j] && row[j+1]
			}
		}
		row = next
	}
	return row[0]
}

// star stands for any text among the marks of a pattern.
const star = -1

func marks(pattern string) []int {
	var out []int
	for i := 0; i < len(pattern) && len(out) < 4096; i++ {
		switch {
		case pattern[i] == '\\' && i+1 < len(pattern):
			i++
			out = append(out, int(pattern[i]))
		case pattern[i] == '*':
			out = append(out, star)
		default:
			out = append(out, int(pattern[i]))
		}
	}
	return out
}
