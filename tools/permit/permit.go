// Package permit decides which calls of tools may run: allow, ask or deny, by
// rules about the tool, the paths and the command.
//
// A command line is taken apart first, so that every command in it is judged
// by itself, whatever it is wrapped in; see [Commands]. What cannot be told
// apart is asked about.
//
// The package must not know where rules are kept, who is asked or how: it is
// given rules and says what they mean for a call. It is policy, not a wall: a
// program that a command starts can do what it likes, and only the sandbox
// stops it.
package permit

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/plan-engine/plan"
)

// Action is what a rule says about a call.
type Action string

// The actions, from the loosest to the tightest.
const (
	Allow Action = "allow"
	Ask   Action = "ask"
	Deny  Action = "deny"
)

// Rule says what may be done. A field that is empty fits everything; one of
// Tool, Path and Command must be set.
//
// Patterns are read to the safe side: an allow must fit the whole of what it
// allows, an ask or a deny fits as soon as a part of it does.
type Rule struct {
	// Tool is the name of a tool, or a pattern of names.
	Tool string
	// Path is a pattern for paths, relative to the tree or absolute, with *, ?,
	// [ ], { } and **; "~" is the home directory. One without a slash fits the
	// name in any folder, "./name" only at the top.
	Path string
	// Command is a pattern for one command of a command line, in which * stands
	// for any text. An ask or a deny fits every command that begins with it.
	Command string
	Action  Action
	// Reason is told to the person who is asked, and to the model.
	Reason string
}

// Check says what is wrong with a rule.
func (r Rule) Check() error {
	switch {
	case !slices.Contains([]Action{Allow, Ask, Deny}, r.Action):
		return fmt.Errorf("action = %q must be one of allow, ask, deny", r.Action)
	case r.Tool == "" && r.Path == "" && r.Command == "":
		return fmt.Errorf("a rule needs a tool, a path or a command")
	case !validGlob(r.Tool):
		return fmt.Errorf("tool = %q is not a pattern that can be read", r.Tool)
	case !validGlob(r.Path):
		return fmt.Errorf("path = %q is not a pattern that can be read", r.Path)
	}
	return nil
}

// String is the rule as a person would say it.
func (r Rule) String() string {
	var parts []string
	for _, f := range [][2]string{{"tool", r.Tool}, {"path", r.Path}, {"command", r.Command}} {
		if f[1] != "" {
			parts = append(parts, fmt.Sprintf("%s %q", f[0], f[1]))
		}
	}
	return strings.Join(append([]string{string(r.Action)}, parts...), " ")
}

// Layer is the rules of one source. Of those that fit, the last one counts.
type Layer struct {
	Name  string // for people: "your config.toml"
	Rules []Rule
	// Tightens says that what it allows counts for nothing outside the layer.
	Tightens bool
}

// Place says where calls work.
type Place struct {
	Root string // absolute: the tree
	Home string // absolute, or ""
	Temp string // absolute, or "": a folder that counts as inside
	// OwnTemp reports whether commands have a Temp of their own, so that what
	// lies beside the tree in the real one is not there. Nil: they have not.
	OwnTemp func() bool
	// Changed lists the files of the tree that a command line runs, or that say what it
	// runs, and that are not what they were when the rules were given. An allow for a
	// command does not count while there are any. Nil: there are none.
	Changed func(line string) []string

	also string // a tree that Root is a copy of, "" if it is none
}

// Policy is rules in force. Its methods are safe for concurrent use.
type Policy struct {
	place  Place
	layers []Layer

	mu     sync.Mutex
	grants []Rule
}

// New makes a policy. Layers that do not tighten are read one after the other
// like one, over what is asked by default; of the others each may only make
// the answer tighter.
func New(place Place, layers ...Layer) (*Policy, error) {
	for _, l := range layers {
		for _, r := range l.Rules {
			if err := r.Check(); err != nil {
				return nil, fmt.Errorf("%s: %w", l.Name, err)
			}
		}
	}
	place.Root = resolved(place.Root)
	if place.Temp != "" {
		place.Temp = resolved(place.Temp)
	}
	return &Policy{place: place, layers: layers}, nil
}

// Call is a call to be judged.
type Call struct {
	Tool    string
	Command string   // of a tool that runs a command line
	Paths   []string // that the call names, relative to the tree or absolute
	// Dir is where the call works; "" is the tree. Paths in it are judged as if
	// it were the tree, which it is a copy of.
	Dir string
	// Mentions are further texts of the call that may be paths. Only rules about
	// paths that ask or deny are about them.
	Mentions []string
	// Untold says that the call changes files and that it cannot be told which. It
	// is asked about where a rule about paths asks or denies.
	Untold bool
	// Foreign says that the tool comes from outside and may change something: it is asked
	// about unless a rule allows it by name.
	Foreign bool
}

// Ruling is what the rules say about a call.
type Ruling struct {
	Action Action
	Rule   string // which rule says so; "" if none does
	Reason string // in words
	// Grant is what a person's yes would allow from now on, set with Ask.
	Grant plan.Grant
}

// Grant lets calls pass that would be asked about, in this run. It lifts no
// deny.
func (p *Policy) Grant(g plan.Grant) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.grants = append(p.grants, Rule{
		Tool:    g.Tool,
		Path:    g.Path,
		Command: g.Command,
		Action:  Allow,
	})
}

// granted reports whether a person said yes to all of this before.
func (p *Policy) granted(s subject) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.ContainsFunc(p.grants, func(r Rule) bool { return s.fits(r) == yes })
}

// Judge says whether a call may run. Of several things that it does, the one
// that is judged tightest counts.
func (p *Policy) Judge(c Call) Ruling {
	worst := Ruling{Action: Allow}
	subjects := p.subjects(c)
	changed := sync.OnceValue(func() []string { return p.changed(c) })
	for _, s := range subjects {
		s.changed = changed
		r := p.judge(s)
		if r.Action == Ask && p.granted(s) {
			continue
		}
		if tighter(r.Action, worst.Action) {
			worst = r
			worst.Reason += p.outdated(s)
		}
	}
	if worst.Action == Ask {
		worst.Grant = p.grantFor(c)
	}
	return worst
}

// Withholds reports whether a file that is relative to dir must not be read by a call that
// does not name it, as a search of a folder does.
func (p *Policy) Withholds(dir, path string) bool {
	return p.Judge(Call{Tool: "grep", Paths: []string{path}, Dir: dir}).Action != Allow
}

// Denies reports whether rules deny that a file, relative to dir, is read. Those that may
// only tighten have no say: a repository without trust keeps nothing from a reviewer
// of its change.
func (p *Policy) Denies(dir, path string) bool {
	trusted := &Policy{
		place:  p.place,
		layers: slices.DeleteFunc(slices.Clone(p.layers), func(l Layer) bool { return l.Tightens }),
	}
	return trusted.Judge(Call{Tool: "read", Paths: []string{path}, Dir: dir}).Action == Deny
}

// changed are the files that a call runs and that rules were not given for.
func (p *Policy) changed(c Call) []string {
	if p.place.Changed == nil || c.Command == "" {
		return nil
	}
	return p.place.Changed(c.Command)
}

// judge is Judge for one thing that a call does.
func (p *Policy) judge(s subject) Ruling {
	worst := Ruling{Action: Allow}
	if why := s.hazard(); why != "" {
		worst = Ruling{
			Action: Ask,
			Rule:   "default",
			Reason: why,
		}
	}
	for _, l := range p.layers {
		if r, fits := l.last(s); !l.Tightens && (fits == yes || fits == maybe && tighter(r.Action, worst.Action)) {
			worst = r
		}
	}
	for _, l := range p.layers {
		if r, fits := l.last(s); fits != no && l.Tightens && tighter(r.Action, worst.Action) {
			worst = r
		}
	}
	return worst
}

// last is what the last rule says that fits. Where a rule after it asks or denies
// and it cannot be told whether it fits, the answer is at least to ask; maybe
// says that there is no other.
func (l Layer) last(s subject) (Ruling, answer) {
	var doubt *Rule
	for _, r := range slices.Backward(l.Rules) {
		fits := s.fits(r)
		if fits == maybe && doubt == nil {
			doubt = &r
		}
		if fits != yes || s.outgrew(r) {
			continue
		}
		if doubt != nil && r.Action == Allow {
			return l.doubts(s, *doubt), yes
		}
		return l.says(s, r), yes
	}
	if doubt != nil {
		return l.doubts(s, *doubt), maybe
	}
	return Ruling{}, no
}

func (l Layer) says(s subject, r Rule) Ruling {
	reason := r.Reason
	if reason == "" {
		reason = fmt.Sprintf("%s says: %s", l.Name, r)
	}
	return Ruling{
		Action: r.Action,
		Rule:   fmt.Sprintf("%s: %s", l.Name, r),
		Reason: s.about(reason),
	}
}

func (l Layer) doubts(s subject, r Rule) Ruling {
	reason := "it cannot be told beforehand whether a rule is about it: " + l.says(s, r).Rule
	return Ruling{
		Action: Ask,
		Rule:   fmt.Sprintf("%s: %s", l.Name, r),
		Reason: s.about(reason),
	}
}

func tighter(a, b Action) bool { return rank(a) > rank(b) }

func rank(a Action) int { return slices.Index([]Action{Allow, Ask, Deny}, a) }

// grantFor is the narrowest rule that lets the very same call pass.
func (p *Policy) grantFor(c Call) plan.Grant {
	switch {
	case c.Foreign:
		return plan.Grant{Tool: c.Tool}
	case c.Command != "":
		return plan.Grant{Tool: c.Tool, Command: quoteCommand(strings.TrimSpace(c.Command))}
	case len(c.Paths) == 1:
		place := p.at(c.Dir)
		path := quoteGlob(place.show(place.abs("", c.Paths[0])))
		if !strings.Contains(path, "/") {
			path = "./" + path
		}
		return plan.Grant{Tool: c.Tool, Path: path}
	case len(c.Paths) > 1:
		return plan.Grant{} // one rule cannot say it
	}
	return plan.Grant{Tool: c.Tool}
}

// outdated says which allow would have counted had nothing changed that the call runs.
func (p *Policy) outdated(s subject) string {
	for _, l := range p.layers {
		for _, r := range slices.Backward(l.Rules) {
			if !l.Tightens && s.fits(r) == yes && s.outgrew(r) {
				return fmt.Sprintf("; %s does not count here: it was given for what %s held when the run began",
					r, strings.Join(s.changed(), ", "))
			}
		}
	}
	return ""
}

// at is the place of a call that works in dir.
func (p *Policy) at(dir string) Place {
	place := p.place
	if dir != "" {
		if place.Root = resolved(dir); place.Root != p.place.Root {
			place.also = p.place.Root
		}
	}
	holds := place.Temp != "" && (within(place.Temp, p.place.Root) || within(place.Temp, place.Root))
	if holds && (place.OwnTemp == nil || !place.OwnTemp()) {
		place.Temp = "" // what lies beside the tree, or its copy, is not scratch space
	}
	return place
}
