package batches

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/plan-engine/plan/batch"
	"github.com/plan-engine/plan/engine"
	"github.com/plan-engine/plan/host"
	"github.com/plan-engine/plan/internal/lazy"
	"github.com/plan-engine/plan/internal/oneline"
	"github.com/plan-engine/plan/internal/scratch"
	"github.com/plan-engine/plan/memory"
	"github.com/plan-engine/plan/sandbox"
)

// publishJob runs the command for one job. What is on disk before and after it
// says how far it got; an error means that this could not be written.
func (b *Batches) publishJob(
	ctx context.Context,
	db *memory.DB,
	j memory.Job,
	run *engine.Run,
	how Publish,
) (*batch.Publication, error) {
	p := &batch.Publication{
		State:    batch.Publishing,
		Began:    b.host.Now().UTC(),
		ExitCode: -1,
	}
	record := func() error {
		data, err := json.Marshal(p)
		if err != nil {
			return fmt.Errorf("encode what was published: %w", err)
		}
		return db.RecordPublished(ctx, j.Batch, j.ID, data)
	}
	refuse := refusal(p, record)
	if _, err := b.commitOnBranch(ctx, run); err != nil {
		return refuse(err)
	}
	place, err := b.findPublishPlace(ctx, db, j, run)
	if err != nil {
		return refuse(err)
	}
	defer place.temp.Close() //nolint:errcheck // a copy of what the journal has
	return b.runPublish(ctx, p, place, how, record)
}

// refusal says of a publication that its command was not started, and records it.
func refusal(p *batch.Publication, record func() error) func(error) (*batch.Publication, error) {
	return func(err error) (*batch.Publication, error) {
		p.State = batch.PublishFailed
		p.Why = "the command was not started: " + host.FirstLine(err.Error())
		return p, record()
	}
}

// runPublish runs the command in a place that is ready. That it does is recorded before.
func (b *Batches) runPublish(
	ctx context.Context,
	p *batch.Publication,
	place publishPlace,
	how Publish,
	record func() error,
) (*batch.Publication, error) {
	refuse := refusal(p, record)
	p.Commit = place.commit
	shell := sandbox.Config{
		Env:     b.host.UserEnv(),
		Own:     true,
		Set:     place.env,
		Timeout: publishTimeout,
		Now:     b.host.Now,
	}
	sealedPlace, left, err := b.publishFrom(ctx, place, how, shell)
	if err != nil {
		return refuse(err)
	}
	defer sealedPlace.Close() //nolint:errcheck // a copy of what git has
	p.HooksLeft = left
	if err := record(); err != nil {
		return p, err
	}
	res, err := sealedPlace.Shell.Run(ctx, sandbox.Command{Line: how.Command, Dir: sealedPlace.Dir})
	if err != nil {
		return refuse(err)
	}
	judgePublication(p, res, b.host.UserRedactor()(strings.TrimSpace(string(res.Output))))
	return p, record()
}

// judgePublication fills in what came of a publish command.
func judgePublication(p *batch.Publication, res sandbox.Result, output string) {
	p.Output, _ = sandbox.Cut([]byte(output), maxPublishShown)
	p.ExitCode = res.ExitCode
	p.Seconds = res.Duration.Seconds()
	last := lastLine(p.Output)
	switch {
	case res.TimedOut:
		p.State = batch.PublishUnknown
		p.Why = fmt.Sprintf(
			"the command was killed after %s; see whether it has done its work, then publish again with --retry",
			publishTimeout)
	case res.ExitCode == 0:
		p.State = batch.Published
		p.URL = batch.LastURL(output)
	case last == "":
		p.State = batch.PublishFailed
		p.Why = fmt.Sprintf("the command ended with %d and said nothing", res.ExitCode)
	default:
		p.State = batch.PublishFailed
		p.Why = fmt.Sprintf("the command ended with %d: %s", res.ExitCode, last)
	}
}

// lastLine is the last line of an output that says something.
func lastLine(text string) string {
	text = strings.TrimRight(text, " \t\n")
	return strings.TrimSpace(text[strings.LastIndexByte(text, '\n')+1:])
}

// publishPlace is where a publish command runs, and what it is told.
type publishPlace struct {
	dir    string
	origin string          // the tree before all work
	began  time.Time       // when the work began
	temp   *scratch.Folder // holds the text for people
	commit string
	env    []string
}

func (b *Batches) findPublishPlace(
	ctx context.Context,
	db *memory.DB,
	stored memory.Job,
	run *engine.Run,
) (p publishPlace, err error) {
	if stored.Damage != nil {
		return p, stored.Damage
	}
	var spec batch.Job
	if err = json.Unmarshal(stored.Spec, &spec); err != nil {
		return p, fmt.Errorf("read job %s: %w", stored.ID, err)
	}
	j, err := readJob(stored, true)
	if err != nil {
		return p, err
	}
	l, err := b.reportJob(ctx, db, j)
	if err != nil {
		return p, err
	}
	change, err := b.host.ChangeOf(ctx, run)
	if err != nil {
		return p, err
	}
	if p.commit, err = change.Repo.Commit(ctx, l.Branch, false); err != nil {
		return p, err
	}
	base := spec.Ref
	if base == "" {
		if base, err = change.Repo.Branch(ctx); err != nil {
			return p, err
		}
	}
	if p.dir, err = b.host.WorkFolder(ctx, run); err != nil {
		return p, err
	}
	p.origin, p.began = change.From, beganAt(run.ID)
	body, err := p.writeBody(batch.PublishBody(run.Start.Request, l.Checks, l.Verdict, run.ID))
	if err != nil {
		return p, err
	}
	p.env = publishEnv(map[string]string{
		"BATCH":     stored.Batch,
		"JOB":       stored.ID,
		"RUN":       string(run.ID),
		"REPO":      spec.Repo,
		"BASE":      base,
		"BRANCH":    l.Branch,
		"COMMIT":    p.commit,
		"TITLE":     oneline.Cut(host.FirstLine(run.Start.Request), host.MaxTitle),
		"BODY_FILE": body,
	}, spec.Vars)
	return p, nil
}

// writeBody writes the text for people to a file of its own.
func (p *publishPlace) writeBody(text string) (file string, err error) {
	if p.temp, err = scratch.New("", scratch.Publish); err != nil {
		return "", fmt.Errorf("make room for the text: %w", err)
	}
	file = filepath.Join(p.temp.Dir, "body.md")
	if err = os.WriteFile(file, []byte(text), 0o600); err != nil {
		_ = p.temp.Close() // the error says that there is no room
		return "", fmt.Errorf("write the text: %w", err)
	}
	return file, nil
}

var unfitForEnv = lazy.Regexp(`[^A-Za-z0-9_]+`)

// publishEnv makes environment variables of values that may come from anywhere. A
// shell never reads them as code.
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
