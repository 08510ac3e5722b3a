package batch

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/plan-engine/plan/config"
	"github.com/plan-engine/plan/internal/lazy"
)

const (
	maxListBytes     = 64 << 20 // bytes of a list of jobs
	maxRequestBytes  = 256 << 10
	maxProblemsShown = 50 // in one error
)

// List is a list of jobs as its author wrote it.
type List struct {
	Jobs     []Job
	defaults config.Config
}

// Source says where a list is from.
type Source struct {
	Name string // for people: a file's name
	Dir  string // absolute; paths of repositories are relative to it
}

// InvalidError is everything that is wrong with a list.
type InvalidError struct {
	Name     string
	Problems []string // each with its line
}

// Error lists it, one a line.
func (e *InvalidError) Error() string {
	problems := e.Problems[:min(len(e.Problems), maxProblemsShown)]
	text := fmt.Sprintf("%s: nothing was started, because of %d error(s) in it:\n  %s",
		e.Name, len(e.Problems), strings.Join(problems, "\n  "))
	if more := len(e.Problems) - len(problems); more > 0 {
		text += fmt.Sprintf("\n  … and %d more", more)
	}
	return text
}

// Read reads a list of jobs: YAML with a list under jobs, or one JSON object a
// line, which a name that ends in .jsonl or a first line that is a whole JSON
// object says. Everything that is wrong with it is told at once, as an
// [*InvalidError].
func Read(r io.Reader, from Source) (*List, error) {
	data, err := readList(r, from)
	if err != nil {
		return nil, err
	}
	p := &parser{from: from, ids: map[string]int{}}
	if strings.HasSuffix(from.Name, ".jsonl") || isJSONLines(data) {
		p.lines(data)
	} else {
		p.document(data)
	}
	if len(p.list.Jobs) == 0 && len(p.problems) == 0 {
		p.errorf(1, "there is no job in it; write jobs: and at least one entry with id, repo and request")
	}
	if len(p.problems) > 0 {
		return nil, &InvalidError{Name: from.Name, Problems: p.problems}
	}
	return &p.list, nil
}

func readList(r io.Reader, from Source) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxListBytes+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", from.Name, err)
	}
	if len(data) > maxListBytes {
		return nil, fmt.Errorf("read %s: it is larger than %d MiB", from.Name, maxListBytes>>20)
	}
	return data, nil
}

// ForRepos makes the list of one request to many repositories, one a line;
// empty lines and lines that begin with # do not count.
func ForRepos(r io.Reader, from Source, request string) (*List, error) {
	data, err := readList(r, from)
	if err != nil {
		return nil, err
	}
	p := &parser{from: from, ids: map[string]int{}}
	n := 0
	for line := range strings.Lines(string(data)) {
		n++
		repo := strings.TrimSpace(line)
		if repo == "" || strings.HasPrefix(repo, "#") {
			continue
		}
		where := strings.TrimRight(repo, "/")
		if !IsURL(repo) {
			where = filepath.Join(from.Dir, repo)
		}
		name := notInID().ReplaceAllString(strings.TrimSuffix(filepath.Base(where), ".git"), "-")
		id := strings.Trim(name, "-.")
		for k := 2; id == "" || p.ids[strings.ToLower(id)] > 0; k++ {
			id = strings.Trim(fmt.Sprintf("%s-%d", name, k), "-.")
		}
		p.add(rawJob{
			id:      id,
			repo:    repo,
			request: request,
			line:    n,
		})
	}
	if len(p.list.Jobs) == 0 && len(p.problems) == 0 {
		p.errorf(1, "it names no repository; write one path or URL a line")
	}
	if len(p.problems) > 0 {
		return nil, &InvalidError{Name: from.Name, Problems: p.problems}
	}
	return &p.list, nil
}

var (
	notInID = lazy.Regexp(`[^A-Za-z0-9._-]+`)
	validID = lazy.Regexp(`^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$`)
	scpLike = lazy.Regexp(`^[A-Za-z0-9._-]+@[A-Za-z0-9.-]+:`)
)

// isBranchPart reports whether git takes an id as a part of a branch's name.
func isBranchPart(id string) bool {
	return validID().MatchString(id) && !strings.Contains(id, "..") &&
		!strings.HasSuffix(id, ".") && !strings.HasSuffix(id, ".lock")
}

// isJSONLines tells JSON lines by their first.
func isJSONLines(data []byte) bool {
	first, _, _ := bytes.Cut(bytes.TrimSpace(data), []byte("\n"))
	return bytes.HasPrefix(first, []byte("{")) && json.Valid(first)
}

// parser collects jobs and what is wrong with them.
type parser struct {
	from     Source
	list     List
	problems []string
	ids      map[string]int // line of each id, in lower case: file systems may not tell cases apart
}

func (p *parser) errorf(line int, format string, args ...any) {
	p.problems = append(p.problems, fmt.Sprintf("line %d: ", line)+fmt.Sprintf(format, args...))
}

// lines reads one JSON object a line.
func (p *parser) lines(data []byte) {
	n := 0
	for line := range bytes.Lines(data) {
		n++
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		var v map[string]any
		dec := json.NewDecoder(bytes.NewReader(line))
		if err := dec.Decode(&v); err != nil {
			p.errorf(n, "it is not a JSON object: %v", err)
			continue
		}
		var node yaml.Node
		if err := node.Encode(v); err != nil {
			p.errorf(n, "%v", err)
			continue
		}
		setLine(&node, n)
		p.job(&node, entry{})
	}
}

// setLine says of a node and all in it that they stand on a line.
func setLine(node *yaml.Node, line int) {
	node.Line = line
	for _, c := range node.Content {
		setLine(c, line)
	}
}

// document reads YAML.
func (p *parser) document(data []byte) {
	var doc yaml.Node
	dec := yaml.NewDecoder(bytes.NewReader(data))
	if err := dec.Decode(&doc); err != nil {
		if !errors.Is(err, io.EOF) {
			p.problems = append(p.problems, strings.TrimPrefix(err.Error(), "yaml: "))
		}
		return
	}
	if err := dec.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		p.errorf(1, "there is more than one document in it; put all jobs under one jobs:")
	}
	root := doc.Content[0]
	if root.Kind == yaml.SequenceNode { // only jobs
		p.jobs(root, entry{})
		return
	}
	var defaults entry
	var jobs *yaml.Node
	p.mappingKeys(root, "the list", []string{"defaults", "jobs"}, func(key string, v *yaml.Node) {
		if key == "jobs" {
			jobs = v
			return
		}
		defaults = p.entry(v, "defaults", defaultKeys)
	})
	p.list.defaults = p.settings(defaults)
	if jobs != nil {
		p.jobs(jobs, defaults)
	}
}

func (p *parser) jobs(node *yaml.Node, defaults entry) {
	if node.Kind != yaml.SequenceNode {
		p.errorf(node.Line, "jobs is a list: begin each entry with a dash")
		return
	}
	for _, n := range node.Content {
		p.job(n, defaults)
	}
}

// job reads one job, over the defaults of the list.
func (p *parser) job(node *yaml.Node, defaults entry) {
	before := len(p.problems)
	e := p.entry(node, "a job", jobKeys)
	j := rawJob{
		id:          e.ID,
		repo:        cmp.Or(e.Repo, defaults.Repo),
		ref:         cmp.Or(e.Ref, defaults.Ref),
		request:     cmp.Or(e.Request, defaults.Request),
		vars:        map[string]string{},
		ownSettings: p.settings(e),
		line:        node.Line,
		priority:    cmp.Or(e.Priority, defaults.Priority),
		needs:       needsOf(e, defaults),
	}
	for _, vars := range []map[string]string{defaults.Vars, e.Vars} {
		for k, v := range vars {
			j.vars[k] = v
		}
	}
	if len(p.problems) == before {
		p.add(j)
	}
}

// rawJob is a job that was read and not checked yet.
type rawJob struct {
	id          string
	repo        string
	ref         string
	request     string
	vars        map[string]string
	ownSettings config.Config
	priority    int
	needs       []string
	line        int
}

// needsOf are the providers that a job needs: those of its own, else those of all.
func needsOf(e, defaults entry) []string {
	needs := e.Needs
	if needs == nil {
		needs = defaults.Needs
	}
	return slices.Compact(slices.Sorted(slices.Values(needs)))
}

// add checks a job and takes it into the list.
func (p *parser) add(r rawJob) {
	before := len(p.problems)
	switch {
	case r.id == "":
		p.errorf(r.line, "the job has no id; give it a short name of its own")
	case !isBranchPart(r.id):
		p.errorf(
			r.line,
			"id %q cannot be a part of a branch's name: use up to 100 letters, digits, dots, - and _",
			r.id,
		)
	case p.ids[strings.ToLower(r.id)] > 0:
		p.errorf(r.line, "id %q is that of the job on line %d already", r.id, p.ids[strings.ToLower(r.id)])
	default:
		p.ids[strings.ToLower(r.id)] = r.line
	}
	vars := maps.Clone(r.vars)
	if r.vars == nil {
		r.vars = map[string]string{}
	}
	for name, value := range map[string]string{"id": r.id, "repo": r.repo, "ref": r.ref} {
		if _, ok := r.vars[name]; !ok {
			r.vars[name] = value
		}
	}
	text, unknown := expandVars(r.request, r.vars)
	for _, name := range unknown {
		hint := didYouMean(name, sortedKeys(r.vars))
		p.errorf(r.line, "the request asks for {{%s}}, which is not among the job's vars%s", name, hint)
	}
	switch text = strings.TrimSpace(strings.ToValidUTF8(text, "\uFFFD")); {
	case text == "":
		p.errorf(r.line, "the job has no request; say what should change")
	case len(text) > maxRequestBytes:
		p.errorf(r.line, "the request is larger than %d KiB", maxRequestBytes>>10)
	}
	repo := p.repo(r)
	if strings.HasPrefix(r.ref, "-") {
		p.errorf(r.line, "ref %q cannot begin with a dash", r.ref)
	}
	if len(p.problems) == before {
		p.list.Jobs = append(p.list.Jobs, Job{
			ID:          r.id,
			Repo:        repo,
			Ref:         r.ref,
			Request:     text,
			Vars:        vars,
			Priority:    r.priority,
			Needs:       r.needs,
			ownSettings: r.ownSettings,
			Settings:    r.ownSettings,
			Line:        r.line,
		})
	}
}

// repo makes a path absolute, and checks a URL.
func (p *parser) repo(r rawJob) string {
	switch {
	case r.repo == "":
		p.errorf(r.line, "the job has no repo; name a path or a git URL")
		return ""
	case strings.HasPrefix(r.repo, "-"):
		p.errorf(r.line, "repo %q cannot begin with a dash", r.repo)
		return ""
	case !IsURL(r.repo):
		if filepath.IsAbs(r.repo) {
			return filepath.Clean(r.repo)
		}
		return filepath.Join(p.from.Dir, r.repo)
	}
	if u, err := url.Parse(r.repo); err == nil && u.User != nil {
		if _, secret := u.User.Password(); secret {
			p.errorf(r.line, "repo: the URL holds a password; leave that to git's credential helper")
		}
	}
	return r.repo
}

// IsURL tells what git clones from what is a directory here.
func IsURL(repo string) bool { return strings.Contains(repo, "://") || scpLike().MatchString(repo) }
