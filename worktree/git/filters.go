package git

import (
	"path/filepath"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/plan-engine/plan/internal/lazy"
)

// textPrograms run nothing here of the text that they are given, whatever it is: most only
// change it, ssh has another machine do so. What the words behind sed tell is looked at.
// Programs that can run what they read are more than anyone can list (m4, sqlite3, awk, …),
// so these are listed instead.
var textPrograms = strings.Fields(
	"[ base64 cat clang-format cmp column comm cut dos2unix echo expand false fmt fold gofmt gpg gunzip gzip head " +
		"iconv indent jq nl od paste printf rev rustfmt sed ssh tac tail test tr true unexpand uniq unix2dos wc xz " +
		"xzcat zcat zstd",
)

// replaces is an option or a program of sed's that can only put texts in the place of
// others.
var replaces = lazy.Regexp(`^(-[nErzsu]*e?|[sy]/([^/\\\n]|\\.)*/([^/\\\n]|\\.)*/[gIp0-9]*)$`)

// fed reports whether a setting of that name is a command that git hands files of the
// tree to: one that can run its input would run them.
func fed(name string) bool {
	section, rest, _ := strings.Cut(name, ".")
	last := rest[strings.LastIndexByte(rest, '.')+1:]
	return slices.Contains([]string{"filter", "merge", "diff"}, section) && slices.Contains(commands, last)
}

// filters reports whether a command is made of textPrograms alone, and of programs of the
// user's own that are named by their path.
func (g *guard) filters(command string) bool {
	file, err := syntax.NewParser().Parse(strings.NewReader(command), "")
	if err != nil {
		return false
	}
	does := true
	syntax.Walk(file, func(node syntax.Node) bool {
		if call, ok := node.(*syntax.CallExpr); ok && len(call.Args) > 0 {
			does = does && g.transforms(call.Args)
		}
		return does
	})
	return does
}

func (g *guard) transforms(args []*syntax.Word) bool {
	name, known := literal(args[0])
	base := name
	if strings.Contains(name, "/") {
		path := name
		if !filepath.IsAbs(path) {
			path = filepath.Join(g.root, path)
		}
		real := resolved(path)
		base = filepath.Base(real)
		system := func(dir string) bool { return resolved(dir) == filepath.Dir(real) }
		if !slices.ContainsFunc(filepath.SplitList(valueOf(g.plain.env, "PATH")), system) {
			return known && !interprets(base)
		}
	}
	if base == "sed" {
		for _, arg := range args[1:] {
			text, ok := literal(arg)
			known = known && ok && replaces().MatchString(text)
		}
	}
	return known && slices.Contains(textPrograms, base)
}

// literal is the text of a word, if nothing in it is only known when it is run.
func literal(word *syntax.Word) (text string, known bool) {
	var out strings.Builder
	for _, part := range word.Parts {
		switch part := part.(type) {
		case *syntax.Lit:
			out.WriteString(part.Value)
		case *syntax.SglQuoted:
			out.WriteString(part.Value)
		case *syntax.DblQuoted:
			inner, ok := literal(&syntax.Word{Parts: part.Parts})
			if !ok {
				return "", false
			}
			out.WriteString(inner)
		default:
			return "", false
		}
	}
	return out.String(), true
}
