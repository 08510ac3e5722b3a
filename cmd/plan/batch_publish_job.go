package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/plan-engine/plan/batch"
	"github.com/plan-engine/plan/config"
	"github.com/plan-engine/plan/engine"
	"github.com/plan-engine/plan/internal/lazy"
	"github.com/plan-engine/plan/memory"
	"github.com/plan-engine/plan/sandbox"
)

// publishJob runs the command for one job. What is on disk before and after it
// says how far it got; an error means that this could not be written.
func (a *app) publishJob(
	ctx context.Context,
	db *memory.DB,
	j memory.Job,
	run *engine.Run,
	how publishing,
) (*batch.Publication, error) {
	p := &batch.Publication{
		State:    batch.Publishing,
		Began:    a.now().UTC(),
		ExitCode: -1,
	}
	record := func() error {
		data, err := json.Marshal(p)
		if err != nil {
			return fmt.Errorf("encode what was published: %w", err)
		}
		return db.RecordPublished(ctx, j.Batch, j.ID, data)
	}
	refuse := func(err error) (*batch.Publication, error) {
		p.State, p.Why = batch.PublishFailed, "the command was not started: "+oneLine(err.Error())
		return p, record()
	}
	if _, err := a.commitJob(ctx, db, run); err != nil {
		return refuse(err)
	}
	place, err := a.publishPlace(ctx, db, j, run)
	if err != nil {
		return refuse(err)
	}
	defer os.RemoveAll(place.temp) //nolint:errcheck // a copy of what the journal has
	p.Commit = place.commit
	own := a.ownSettings()
	shell, err := sandbox.New(sandbox.Config{
		Env:     own.ForChildren(a.environ),
		Own:     true,
		Set:     place.env,
		Timeout: publishLimit,
		Now:     a.now,
	})
	if err != nil {
		return refuse(err)
	}
	if err := record(); err != nil {
		return p, err
	}
	res, err := shell.Run(ctx, sandbox.Command{Line: how.command, Dir: place.dir})
	if err != nil {
		return refuse(err)
	}
	output := config.Redactor(own.Secrets(a.environ))(strings.TrimSpace(string(res.Output)))
	p.Output, _ = sandbox.Cut([]byte(output), publishShown)
	p.ExitCode, p.Seconds = res.ExitCode, res.Duration.Seconds()
	switch last := lastLine(p.Output); {
	case res.TimedOut:
		p.State, p.Why = batch.PublishUnknown, fmt.Sprintf(
			"the command was killed after %s; see whether it has done its work, then publish again with --retry",
			publishLimit,
		)
	case res.ExitCode == 0:
		p.State, p.URL = batch.Published, batch.LastURL(output)
	case last == "":
		p.State, p.Why = batch.PublishFailed, fmt.Sprintf("the command ended with %d and said nothing", res.ExitCode)
	default:
		p.State, p.Why = batch.PublishFailed, fmt.Sprintf("the command ended with %d: %s", res.ExitCode, last)
	}
	return p, record()
}

// lastLine is the last line of an output that says something.
func lastLine(text string) string {
	text = strings.TrimRight(text, " \t\n")
	return strings.TrimSpace(text[strings.LastIndexByte(text, '\n')+1:])
}

// publishPlace is where a publish command runs, and what it is told.
type publishPlace struct {
	dir, temp, commit string
	env               []string
}

func (a *app) publishPlace(
	ctx context.Context,
	db *memory.DB,
	j memory.Job,
	run *engine.Run,
) (p publishPlace, err error) {
	l, err := a.jobReport(ctx, db, j, true)
	if err != nil {
		return p, err
	}
	repo, _, _, err := endsOf(ctx, run)
	if err != nil {
		return p, err
	}
	if p.commit, err = repo.Commit(ctx, l.Branch, false); err != nil {
		return p, err
	}
	if p.dir = run.Start.Repo; isDir(run.Start.Worktree) {
		p.dir = run.Start.Worktree
	}
	if p.temp, err = os.MkdirTemp("", "plan-publish-"); err != nil {
		return p, fmt.Errorf("make room for the text: %w", err)
	}
	defer func() {
		if err != nil {
			_ = os.RemoveAll(p.temp)
		}
	}()
	body := filepath.Join(p.temp, "body.md")
	if err = os.WriteFile(body, []byte(batch.PublishBody(run.Start.Request, l.Checks, l.Verdict, run.ID)), 0o600); err != nil {
		return p, fmt.Errorf("write the text: %w", err)
	}
	var spec batch.Job
	if err = json.Unmarshal(j.Spec, &spec); err != nil {
		return p, fmt.Errorf("read job %s: %w", j.ID, err)
	}
	base := spec.Ref
	if base == "" {
		if base, err = repo.Branch(ctx); err != nil {
			return p, err
		}
	}
	p.env = publishEnv(map[string]string{
		"BATCH": j.Batch, "JOB": j.ID, "RUN": string(run.ID), "REPO": spec.Repo, "BASE": base, "BRANCH": l.Branch,
		"COMMIT": p.commit, "TITLE": cutRunes(oneLine(run.Start.Request), mostTitle), "BODY_FILE": body,
	}, spec.Vars)
	return p, nil
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return path != "" && err == nil && info.IsDir()
}

var unfitForEnv = lazy.Regexp(`[^A-Za-z0-9_]+`)

// publishEnv makes environment variables of values that somebody else may have
// written. A shell never reads them as code.
func publishEnv(known, vars map[string]string) []string {
	var env []string
	set := func(name, value string) {
		env = append(env, "PLAN_"+name+"="+strings.ReplaceAll(value, "\x00", ""))
	}
	for name, value := range vars {
		set("VAR_"+strings.ToUpper(unfitForEnv().ReplaceAllString(name, "_")), value)
	}
	for name, value := range known {
		set(name, value)
	}
	slices.Sort(env)
	return env
}

// publicationOf reads how far a job was published. Without a process that
// publishes, one that is under way was cut off.
func publicationOf(j memory.Job, underWay bool) (*batch.Publication, error) {
	if j.Published == nil {
		return nil, nil
	}
	p := &batch.Publication{}
	if err := json.Unmarshal(j.Published, p); err != nil {
		return nil, fmt.Errorf("read how job %s was published: %w", j.ID, err)
	}
	if !underWay {
		p.MarkInterrupted()
	}
	return p, nil
}
