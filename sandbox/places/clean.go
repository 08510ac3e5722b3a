package places

import (
	"encoding/xml"
	"path"
	"slices"
	"strings"

	"github.com/plan-engine/plan/internal/lazy"
	"github.com/plan-engine/plan/internal/userinfo"
)

// style is how a settings file is written.
type style int

const (
	styleINI        style = iota // [section], key = value; what is indented goes on
	styleGit                     // [section "name"], key = value; a backslash goes on
	styleTOML                    // [section.name], key = value; what is no key goes on
	styleProperties              // key = value; a backslash goes on
	styleYAML                    // key: value; what is indented, or an entry, goes on
	styleXML                     // the keys are the ways to elements
)

// looksSecret is what a value holds that is a key, or says how to get one; also a name
// and a password before a host without a scheme, as tools take it for a proxy.
var looksSecret = lazy.Regexp(`(?i)\b(?:bearer|basic|token|password|passwd|secret)\b[\s"':=]+\S|` +
	`\b(?:gh[pousr]_|github_pat_|glpat-|xox[abeoprs]-|sk-|AKIA|ASIA|npm_|pypi-|hf_|eyJ)[A-Za-z0-9_-]{8,}|` +
	`(?:^|[\s"'=>])[^\s/"'=:@<>]+:[^\s/"'@<>]+@[\w\[]`)

// clean is a settings file with nothing but the keys that are known to be harmless,
// and without credentials in their addresses.
func (s settings) clean(text string) string {
	if s.style == styleXML {
		return s.cleanXML(text)
	}
	var out strings.Builder
	section, allowed, open := "", true, false
	for line := range strings.Lines(text) {
		trimmed := strings.TrimSpace(line)
		name, isHeader := header(line)
		switch {
		case open || s.goesOn(line, trimmed):
		case trimmed == "", trimmed == "---":
			allowed = true
		case trimmed[0] == '#', trimmed[0] == ';':
			continue // people put what they do not use any more behind it
		case isHeader && s.hasSections():
			section, allowed = name, true
		default:
			allowed = s.allows(section, trimmed)
		}
		open = (s.style == styleGit || s.style == styleProperties) && strings.HasSuffix(trimmed, `\`)
		if allowed && !looksSecret().MatchString(line) {
			out.WriteString(userinfo.Strip(line))
		}
	}
	return out.String()
}

func (s settings) hasSections() bool {
	return s.style == styleINI || s.style == styleGit || s.style == styleTOML
}

// goesOn reports whether a line belongs to the value of the one before it.
func (s settings) goesOn(line, trimmed string) bool {
	indented := line[0] == ' ' || line[0] == '\t'
	switch s.style {
	case styleINI:
		return indented && trimmed != ""
	case styleYAML:
		return trimmed != "" && trimmed != "---" && (indented || trimmed[0] == '-')
	case styleTOML:
		return trimmed != "" && strings.ContainsRune(`"'])}`, rune(trimmed[0])) && !strings.Contains(trimmed, "=")
	}
	return false
}

// allows reports whether a line sets a key that is known to be harmless.
func (s settings) allows(section, line string) bool {
	mark := "="
	if s.style == styleYAML {
		mark = ": "
		line += " "
		if strings.HasPrefix(line, ":") { // a symbol of Ruby's
			section, line = ":", line[1:]
		}
	}
	key, _, _ := strings.Cut(line, mark)
	key = strings.ToLower(strings.Trim(strings.TrimSpace(key), `"'`))
	if section == ":" {
		key = section + key
	} else if section != "" {
		key = section + "." + key
	}
	key = strings.ReplaceAll(key, "/", "_")
	return slices.ContainsFunc(s.keys, func(pattern string) bool {
		ok, _ := path.Match(pattern, key) // the patterns are fine
		return ok
	})
}

// header is the name of a section whose line this is: without what git names in it.
func header(line string) (string, bool) {
	line = strings.TrimSpace(line)
	if !strings.HasPrefix(line, "[") || !strings.Contains(line, "]") {
		return "", false
	}
	name, _, _ := strings.Cut(strings.Trim(line, "[]"), "]")
	name, _, _ = strings.Cut(name, ` "`)
	return strings.ToLower(strings.ReplaceAll(strings.TrimSpace(name), `"`, "")), true
}

// cleanXML keeps the elements that are known to be harmless. A text that cannot be
// read is left out whole.
func (s settings) cleanXML(text string) string {
	in := xml.NewDecoder(strings.NewReader(text))
	in.Strict = false
	var out strings.Builder
	var way []string
	for {
		from := in.InputOffset()
		token, err := in.RawToken()
		if err != nil {
			if len(way) > 0 || in.InputOffset() < int64(len(text)) {
				return ""
			}
			return out.String()
		}
		if start, ok := token.(xml.StartElement); ok {
			way = append(way, strings.ToLower(start.Name.Local))
		}
		_, isComment := token.(xml.Comment)
		raw := text[from:in.InputOffset()]
		if !isComment && s.allowsElement(way) && !looksSecret().MatchString(raw) {
			out.WriteString(userinfo.Strip(raw))
		}
		if _, ok := token.(xml.EndElement); ok && len(way) > 0 {
			way = way[:len(way)-1]
		}
	}
}

// allowsElement reports whether an element is harmless, or leads to one that is.
func (s settings) allowsElement(way []string) bool {
	at := strings.Join(way, "/")
	return at == "" || slices.ContainsFunc(s.keys, func(key string) bool {
		return at == key || strings.HasPrefix(at, key+"/") || strings.HasPrefix(key, at+"/")
	})
}
