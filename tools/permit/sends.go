package permit

import (
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
)

// outwardVerbs are the subcommands with which programs send something to others, whatever
// the program is.
var outwardVerbs = strings.Fields("deploy publish push release submit unpublish upload yank")

// getters are programs that get what an address names, and send nothing but where they
// are told so, which is looked for by itself.
var getters = slices.Concat(haveVerbs, shells, strings.Fields(
	"aria2c bundle bunx composer corepack deno fetch git lynx node npx nuget open perl php pipx python python3 ruby "+
		"rustup sdk uvx xdg-open"))

// sends says why a command is asked about that sends something to others, and of which
// nothing else is known. There are more such programs than anyone can list: what counts
// is that it is told to send, or which other machine it is told of.
func (p *Part) sends() string {
	name := p.program()
	if len(p.argv) < 2 {
		return ""
	}
	if fetches(name) {
		if place := p.elsewhereNamed(); p.uploads(name) && place != "" {
			return fmt.Sprintf("%s: it sends something to %s", short(p.Text), place)
		}
		return ""
	}
	if task := p.task(name); task != "" {
		return fmt.Sprintf("%s: the task %q may send something to others", short(p.Text), task)
	}
	_, wraps := wrappers[name]
	_, judged := publishers[name]
	if _, ok := sometimes[name]; ok || judged || wraps || p.quiet || slices.Contains(runNothing, name) {
		return ""
	}
	for i, w := range p.operands() {
		if i > 1 {
			break
		}
		if slices.Contains(outwardVerbs, w.text) {
			return fmt.Sprintf("%s: it may send something to others", short(p.Text))
		}
	}
	if place := p.elsewhereNamed(); place != "" && !slices.Contains(getters, name) {
		return fmt.Sprintf("%s: what it does at %s cannot be told", short(p.Text), place)
	}
	return ""
}

// fetches reports whether a program takes bare addresses, and sends what its options say.
func fetches(name string) bool { return name == "curl" || name == "wget" }

// uploads reports whether a program that gets files is told to send something.
func (p *Part) uploads(name string) bool {
	if name == "wget" {
		return len(p.option("--post-data", "--post-file", "--body-data", "--body-file", "--method")) > 0
	}
	method := func(w word) bool { return !w.known || !slices.Contains([]string{"GET", "HEAD", "OPTIONS"}, w.text) }
	return slices.ContainsFunc(p.option("-X", "--request"), method) || p.flag("", "--json") ||
		!p.flag("G", "--get") && len(p.option("-d", "--data", "--data-raw", "--data-binary", "--data-ascii",
			"--data-urlencode", "-F", "--form", "--form-string", "-T", "--upload-file")) > 0
}

// elsewhereNamed is the first other machine that a word names, "" for none.
func (p *Part) elsewhereNamed() string {
	for _, w := range p.argv[1:] {
		text := w.text
		if strings.HasPrefix(text, "-") {
			_, text, _ = strings.Cut(text, "=")
		}
		if host := hostOf(text, fetches(p.program())); host != "" {
			return host
		}
	}
	return ""
}

// hostOf is the other machine that a word names with an address, "" for none. Where bare
// is set, an address may lack its scheme.
func hostOf(text string, bare bool) string {
	_, rest, ok := strings.Cut(text, "://")
	switch before, at, isAt := strings.Cut(text, "@"); {
	case ok:
		text = "x://" + rest
	case isAt && before != "" && !strings.ContainsAny(before, "/:= ") && strings.Contains(at, ":"): // user@host:path
		text = "x://" + at[:strings.IndexByte(at, ':')]
	case bare && !strings.ContainsAny(text, " {}@") && strings.Contains(text, "."):
		text = "x://" + text
	default:
		return ""
	}
	u, err := url.Parse(text)
	if err != nil {
		return "another machine"
	}
	host := u.Hostname()
	if ip := net.ParseIP(host); host == "localhost" || ip != nil && (ip.IsLoopback() || ip.IsUnspecified()) {
		return ""
	}
	return host
}
