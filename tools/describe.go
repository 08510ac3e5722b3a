package tools

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/plan-engine/plan/loop"
)

// Purpose is what a tool is for. What offers tools chooses them by purpose, so
// that a new tool reaches everything that it is meant for.
type Purpose string

// The purposes of the built-in tools.
const (
	Inspect  Purpose = "inspect"  // looks at the tree and changes nothing
	Modify   Purpose = "modify"   // changes files
	Execute  Purpose = "execute"  // runs commands
	Remember Purpose = "remember" // keeps a fact for later runs
	Recall   Purpose = "recall"   // searches what earlier runs left
	Skill    Purpose = "skill"    // loads a skill
	Ask      Purpose = "ask"      // puts a question to a person
	Prune    Purpose = "prune"    // makes room in the conversation
	Replan   Purpose = "replan"   // gives the plan up for another one
	Outside  Purpose = "outside"  // finds and calls tools that come from outside
)

// builtin is one tool as it describes itself. It stands in the tool's own file;
// permissions, phases and faces ask it instead of keeping lists of tools.
type builtin struct {
	info    loop.Info // without the schema, which is reflected when the tool is made
	purpose Purpose
	// describe reads a call's arguments; dir is where the tool works, or "".
	describe func(dir string, args []byte) Call
	// open makes the tool for a set; nil where the set lacks what the tool needs.
	open func(s *Set, info loop.Info) loop.Tool
}

// builtins are the tools in the order in which they are offered: first those that every
// phase has, so that the lists of all phases begin alike, and a server that keeps
// beginnings of requests has read them. A run keeps the order that it began with.
func builtins() []builtin {
	return []builtin{
		readTool(),
		grepTool(),
		globTool(),
		listDirTool(),
		symbolsTool(),
		recallTool(),
		bashTool(),
		pruneTool(),
		skillTool(),
		findToolsTool(),
		useToolTool(),
		writeTool(),
		editTool(),
		applyPatchTool(),
		rememberTool(),
		replanTool(),
		askTool(),
	}
}

// all is builtins, made when the first tool is asked for.
var all = sync.OnceValue(builtins)

// Names lists the built-in tools in the order in which they are offered; with
// purposes, only those that are for one of them.
func Names(purposes ...Purpose) []string {
	var names []string
	for _, b := range all() {
		if len(purposes) == 0 {
			names = append(names, b.info.Name)
		}
		for _, p := range purposes {
			if b.purpose == p {
				names = append(names, b.info.Name)
			}
		}
	}
	return names
}

// PurposeOf is what a built-in tool is for, "" for a tool that is none.
func PurposeOf(name string) Purpose {
	for _, b := range all() {
		if b.info.Name == name {
			return b.purpose
		}
	}
	return ""
}

// Call is what a tool says of one of its calls, from the arguments alone.
type Call struct {
	// Paths are the files and folders that the call names and Command is the
	// command line that it runs: what rules judge.
	Paths   []string
	Command string
	// Mentions are texts of a call that could be paths, of a tool whose arguments
	// are not known. Untold says that they do not tell which files it changes,
	// should it change any.
	Mentions []string
	Untold   bool
	// Title tells a person what the call is about and Detail stands behind it:
	// which lines, where. IsPath says that the end of the title matters most.
	Title  string
	Detail string
	IsPath bool
	// Preview is what the call would do, as a person can judge it: a diff against
	// the file as it stands, a patch, a command and where it runs. Nil: the
	// arguments say it all.
	Preview func() string
}

// Describe says what a call is about. Dir is where the tool works; "" will do
// where only Title and Detail are wanted. Tools that are not built in are
// described by what their arguments are called.
func Describe(name string, args []byte, dir string) Call {
	for _, b := range all() {
		if b.info.Name == name {
			return b.describe(dir, args)
		}
	}
	return describeUnknown(dir, args)
}

// described makes a description of typed arguments one of a call's bytes.
// Arguments of the wrong type count as left out, and what is no object is shown
// as it is.
func described[A any](describe func(dir string, args A) Call) func(string, []byte) Call {
	return func(dir string, raw []byte) Call {
		var args A
		var wrongType *json.UnmarshalTypeError
		err := json.Unmarshal(raw, &args)
		if err != nil && !errors.As(err, &wrongType) || !bytes.HasPrefix(bytes.TrimSpace(raw), []byte("{")) {
			return Call{Title: string(raw)}
		}
		return describe(dir, args)
	}
}

// describePath describes a call that is about one file or folder.
func describePath(path string) Call {
	c := Call{
		Title:  path,
		IsPath: true,
	}
	if path != "" {
		c.Paths = []string{path}
	}
	return c
}

// unknownArgs are arguments that say by their names what they are.
type unknownArgs struct {
	Path       string  `json:"path"`
	Command    string  `json:"command"`
	Patch      string  `json:"patch"`
	Content    *string `json:"content"`
	OldString  *string `json:"old_string"`
	NewString  string  `json:"new_string"`
	ReplaceAll bool    `json:"replace_all"`
}

// describeUnknown describes a call of a tool that comes from elsewhere, to the
// safe side: an argument that has the name of a path is judged as one.
func describeUnknown(dir string, raw []byte) Call {
	var a unknownArgs
	_ = json.Unmarshal(raw, &a) // arguments of another type are not those that are meant
	c := describePath(a.Path)
	c.Command, c.Untold = a.Command, a.Path == "" && a.Command == ""
	if a.Patch != "" {
		files, err := patchFiles(a.Patch)
		c.Paths, c.Untold = append(c.Paths, files...), err != nil
	}
	c.Mentions = textsIn(raw)
	switch {
	case a.Command != "":
		c.Preview = func() string { return previewCommand(dir, a.Command) }
	case a.Patch != "":
		c.Preview = func() string { return a.Patch }
	case a.Path != "" && a.Content != nil:
		c.Preview = func() string { return previewContent(dir, a.Path, *a.Content) }
	case a.Path != "" && a.OldString != nil:
		edit := editArgs{
			Path:       a.Path,
			OldString:  *a.OldString,
			NewString:  a.NewString,
			ReplaceAll: a.ReplaceAll,
		}
		c.Preview = func() string { return previewEdit(dir, edit) }
	}
	c.Title, c.IsPath = unknownTitle(raw)
	return c
}

// Bounds of the texts in a call of an unknown tool that may be paths.
const (
	mostMentions   = 256
	longestMention = 4096
)

// textsIn are the texts of one line in arguments, at any depth.
func textsIn(raw []byte) []string {
	var schema any
	if json.Unmarshal(raw, &schema) != nil {
		return nil
	}
	var out []string
	var look func(v any)
	look = func(v any) {
		switch v := v.(type) {
		case string:
			if v != "" && len(v) <= longestMention && !strings.Contains(v, "\n") && len(out) < mostMentions {
				out = append(out, v)
			}
		case []any:
			for _, each := range v {
				look(each)
			}
		case map[string]any:
			for _, key := range slices.Sorted(maps.Keys(v)) {
				look(v[key])
			}
		}
	}
	look(schema)
	return out
}

// unknownTitle is the argument that tells most about a call of an unknown tool.
func unknownTitle(raw []byte) (title string, isPath bool) {
	var fields map[string]any
	if err := json.Unmarshal(raw, &fields); err != nil {
		return string(raw), false
	}
	for _, key := range []string{"path", "command", "pattern", "query", "url", "question", "text", "task", "name"} {
		if s, ok := fields[key].(string); ok && s != "" {
			return s, key == "path"
		}
	}
	if len(fields) == 0 {
		return "", false
	}
	return string(raw), false
}

// spec is the name and the words of a tool; its schema follows from its
// arguments.
func spec(name, doc string) loop.Spec {
	return loop.Spec{
		Name:        name,
		Description: strings.TrimSpace(doc),
	}
}
