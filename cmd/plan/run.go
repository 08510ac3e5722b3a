package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/config"
	"github.com/plan-engine/plan/engine"
	"github.com/plan-engine/plan/face/render"
	"github.com/plan-engine/plan/memory"
	"github.com/plan-engine/plan/phases"
	"github.com/plan-engine/plan/worktree"
)

func (a *app) runCommand() *cobra.Command {
	var flags runFlags
	var opts startOptions
	var resumeID string
	var latest bool
	cmd := &cobra.Command{
		Use:   "run [REQUEST|-]",
		Short: "Explore, plan, implement and review a change",
		Long: `Run takes a request through Explore, Plan, Implement and Review in the
repository you stand in, or the one that -C names.

The request is the argument, or standard input with "-". Ctrl-C once parks the
run where it stands; twice kills it. Either way "plan resume" goes on.`,
		Example: `  plan run "Make the cache safe for concurrent use"
  plan run --check "go test ./..." --max-cost 2 "Fix issue 41"
  plan run --model openai/gpt-5 --phase-model review=anthropic/claude-sonnet-4-5 "Add pagination to /users"
  git diff main | plan run --plan-only -`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			given, err := flags.said(cmd)
			if err != nil {
				return err
			}
			if resumeID != "" || latest {
				if len(args) > 0 {
					return usage("--resume goes on with a run and takes no request")
				}
				given.here = cmd.Flag("directory").Changed
				return a.resume(cmd.Context(), resumeID, given)
			}
			if cmd.Flags().Changed("worktree") {
				given.Worktree = &opts.worktree
			}
			if opts.request, err = a.request(args); err != nil {
				return err
			}
			return a.start(cmd.Context(), opts, given)
		},
	}
	flags.register(cmd)
	cmd.Flags().StringVar(
		&opts.title,
		"title",
		"",
		"what to call the run in lists: `TEXT` (default: the request's first line)",
	)
	cmd.Flags().BoolVar(&opts.planOnly, "plan-only", false, "stop once there is a plan")
	cmd.Flags().StringVar(
		&opts.planFile,
		"from-plan",
		"",
		"implement the plan in `FILE` (- for standard input), without Explore and Plan",
	)
	cmd.Flags().StringVar(
		&opts.contextFile,
		"context",
		"",
		"start Explore from the conversation in `FILE`: a JSON array of messages, or plain text",
	)
	cmd.Flags().StringVar(&resumeID, "resume", "", "go on with run `ID` instead of starting one")
	cmd.Flags().BoolVar(&latest, "resume-latest", false, "go on with the newest run that is not final")
	cmd.Flags().BoolVar(
		&opts.worktree,
		"worktree",
		false,
		"work in a tree of its own, made from this one as it is; plan apply brings the result over",
	)
	cmd.Flags().BoolVar(
		&opts.auto,
		"auto",
		false,
		"leave Explore and Plan out where the request does not speak of broad work; says which way it takes, and why",
	)
	cmd.MarkFlagsMutuallyExclusive("plan-only", "from-plan", "auto")
	cmd.MarkFlagsMutuallyExclusive("auto", "approve-plan")
	cmd.MarkFlagsMutuallyExclusive("auto", "critique")
	cmd.MarkFlagsMutuallyExclusive("resume", "resume-latest")
	return cmd
}

// startOptions are what a new run is started with, beside the settings.
type startOptions struct {
	id          plan.RunID
	job         string // of a batch
	request     string
	title       string
	planOnly    bool
	planFile    string
	auto        bool
	contextFile string
	// checksByFlag says that the required checks come from the command line.
	checksByFlag bool
	// worktree gives the run a work tree of its own; it is made from source,
	// which is the user's, and stands on branch.
	worktree bool
	source   *worktree.Repo
	branch   string
	// sibling is a plan that was approved for another repository's job.
	sibling string
	// base is the commit that a job of a batch begins at; "" is what the user's
	// tree holds.
	base string
}

// request reads the request from the arguments or from standard input.
func (a *app) request(args []string) (string, error) {
	text := strings.Join(args, " ")
	if len(args) == 1 && args[0] == "-" {
		data, err := io.ReadAll(io.LimitReader(a.in, maxRequest+1))
		if err != nil {
			return "", failed(fmt.Errorf("read the request from standard input: %w", err))
		}
		text = string(data)
	}
	text = strings.TrimSpace(strings.TrimPrefix(strings.ToValidUTF8(text, "�"), "\ufeff"))
	switch {
	case text == "":
		return "", usage("the request is empty; say what should change, as in: plan run \"Fix the flaky retry test\"")
	case len(text) > maxRequest:
		return "", usage(
			"the request is larger than %d KiB; put long material into a file in the repository and name it",
			maxRequest>>10,
		)
	}
	return text, nil
}

const maxRequest = 256 << 10

// start begins a run and drives it.
func (a *app) start(ctx context.Context, opts startOptions, flags said) (err error) {
	db, paths, err := a.openHouse(ctx, &opts)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, failed(db.Close())) }()
	cfg, err := a.settings(opts.source.Root(), flags.Config)
	if err != nil {
		return err
	}
	if err := keepApart(paths.Home, opts.source.Root()); err != nil {
		return failed(err)
	}
	w, err := a.openWorkshop(ctx, flags.over(cfg), flags, opts.source, opts.source.Root(), db, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, failed(w.close())) }()
	opts.id = newRunID(a.now)
	leave, err := a.settle(ctx, w, &opts)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, leave()) }()
	opts.checksByFlag = len(flags.Checks.Required) > 0
	return a.begin(ctx, w, opts, flags)
}

// openHouse opens the database and the repository at the same time: the one is
// work for this process, the other for git.
func (a *app) openHouse(ctx context.Context, opts *startOptions) (db *memory.DB, paths config.Paths, err error) {
	var opened errgroup.Group
	opened.Go(func() (err error) {
		opts.source, err = openRepo(ctx, a.dir)
		return err
	})
	db, paths, err = a.openDB(ctx)
	if wrong := opened.Wait(); wrong != nil {
		if err == nil {
			_ = db.Close() // nothing was done with it
		}
		return nil, paths, wrong //nolint:wrapcheck // openRepo's
	}
	return db, paths, err
}

// begin writes the first events of a run and drives it.
func (a *app) begin(ctx context.Context, w *workshop, opts startOptions, flags said) (err error) {
	mat, err := a.readMaterial(w, opts)
	if err != nil {
		return failed(err)
	}
	// From here on something is kept, and whoever interrupts must not leave it.
	ctx, stop := a.stoppable(ctx, w.cfg.Timeout.Duration)
	defer stop(nil)
	around := w.lookAround(ctx, opts)
	defer func() {
		if err != nil && errors.Is(context.Cause(ctx), engine.ErrInterrupted) {
			if _, no := w.db.Run(context.WithoutCancel(ctx), opts.id); errors.Is(no, memory.ErrNoRun) {
				err = errInterrupted()
			}
		}
	}()
	defer func() {
		if err != nil {
			err = errors.Join(err, w.unbegin(ctx, opts, around))
		}
	}()
	if w.writer, err = w.db.Own(ctx, opts.id); err != nil {
		return failed(err)
	}
	defer func() { err = errors.Join(err, failed(w.writer.Close())) }()
	b, err := w.prepare(ctx, a, opts, mat, around)
	if err != nil {
		return failed(err)
	}
	ph, err := w.newPhases(b.kit, b.start.Base, b.instructions)
	if err != nil {
		return failed(err)
	}
	return a.drive(ctx, w, driving{
		id:           opts.id,
		base:         b.start.Base,
		view:         b.start.View,
		stop:         stop,
		phases:       ph,
		run:          &engine.Run{},
		tally:        &render.Tally{},
		planOnly:     opts.planOnly,
		checksByFlag: opts.checksByFlag,
		context:      mat.context,
		first:        b.first,
		said:         flags,
		begin: func(ctx context.Context, e *engine.Engine) error {
			return e.Begin(ctx, opts.id, opts.job, b.start, b.given, b.blobs)
		},
	})
}

// unbegin takes back what was kept for a run, if it did not begin.
func (w *workshop) unbegin(ctx context.Context, opts startOptions, around func() (found, error)) error {
	ctx = context.WithoutCancel(ctx)
	f, _ := around()
	if _, err := w.db.Run(ctx, opts.id); !errors.Is(err, memory.ErrNoRun) {
		return nil
	}
	if kept, err := opts.source.Kept(ctx, opts.id); f.first == nil && (err != nil || len(kept) == 0) {
		return nil // git may have been stopped when it had kept it, and before it said so
	}
	return failed(opts.source.Forget(ctx, opts.id, engine.LabelStart))
}

// errInterrupted says that a run never began.
func errInterrupted() error {
	return &exit{code: plan.ExitInterrupted, err: errors.New("interrupted before the run began; nothing was done")}
}

func newRunID(now func() time.Time) plan.RunID {
	return plan.RunID(ulid.MustNew(ulid.Timestamp(now()), ulid.DefaultEntropy()).String())
}

// keepApart has git ignore a home that lies in the work tree: the journal of a
// run must not be part of its change.
func keepApart(home, root string) error {
	if rel, err := filepath.Rel(root, home); err != nil || !filepath.IsLocal(rel) {
		return nil
	}
	file := filepath.Join(home, ".gitignore")
	if _, err := os.Lstat(file); err == nil {
		return nil
	}
	if err := os.WriteFile(file, []byte("*\n"), 0o600); err != nil {
		return fmt.Errorf("keep the home out of the repository it lies in: %w", err)
	}
	return nil
}

// beginning is what the first events of a run are made of.
type beginning struct {
	found
	start plan.RunStart
	given *plan.PlanDoc
	kit   phases.Kit
	blobs []plan.Blob
}

// material is what a person brings along to a run.
type material struct {
	plan    string
	context []plan.Message
}

// readMaterial reads it before anything is kept for the run: on standard input a
// person may take long over it, and may give up, which ends this process at once.
func (a *app) readMaterial(w *workshop, opts startOptions) (m material, err error) {
	if opts.contextFile != "" {
		if m.context, err = readContext(opts.contextFile, w.redact); err != nil {
			return m, err
		}
	}
	if opts.planFile != "" {
		m.plan, err = a.readText(opts.planFile)
	}
	return m, err
}

// prepare collects what a run is started with. Around waits for what git says.
func (w *workshop) prepare(
	ctx context.Context,
	a *app,
	opts startOptions,
	mat material,
	around func() (found, error),
) (b beginning, err error) {
	if b.kit, err = w.newKit(); err != nil {
		return b, err
	}
	if w.learn.offers(ctx, opts.request) {
		b.kit = b.kit.WithSkills()
	}
	kit, err := b.kit.Encode()
	if err != nil {
		return b, err
	}
	b.blobs = []plan.Blob{kit}
	b.start = plan.RunStart{
		Request: w.redact(opts.request),
		Title:   w.redact(oneLine(opts.title)),
		Sibling: w.redact(opts.sibling),
		Models:  modelsOf(w.cfg),
		Config:  w.startConfig(opts),
		Kit:     kit.Hash,
		Version: version(),
		View:    plan.ViewSnapshot,
	}
	if b.found, err = around(); err != nil {
		return b, err
	}
	w.surveyTree(opts, b.standing, &b.start)
	a.noteSubmodules(b.start.DirtySubmodules)
	if opts.contextFile != "" {
		blob, err := contextBlob(mat.context)
		if err != nil {
			return b, err
		}
		b.start.Context = blob.Hash
		b.blobs = append(b.blobs, blob)
	}
	if opts.auto {
		b.start.Way, b.given = a.chooseWay(b.start.Request, b.start.Base)
	}
	if opts.planFile != "" {
		b.given, err = w.readPlan(ctx, mat.plan, b.start.Base)
	}
	return b, err
}

// stored is the configuration as a run keeps it.
type stored struct {
	config.Config
	PlanOnly     bool `json:"plan_only,omitempty"`
	ChecksByFlag bool `json:"checks_by_flag,omitempty"`
}

func (w *workshop) startConfig(opts startOptions) json.RawMessage {
	cfg := w.cfg
	cfg.Publish, cfg.PublishInterval = "", config.Of(0) // none of a run's business
	data, err := plan.MarshalCompact(stored{
		Config:       cfg.Public(),
		PlanOnly:     opts.planOnly,
		ChecksByFlag: opts.checksByFlag,
	})
	if err != nil {
		return json.RawMessage("{}") // the settings are plain data; this cannot happen
	}
	return data
}

// chooseWay decides between the direct way and the four phases, and says so.
func (a *app) chooseWay(request, base string) (string, *plan.PlanDoc) {
	c := phases.Candidate(request)
	way, given := "phased: "+c.Why(), (*plan.PlanDoc)(nil)
	if !c.Phased {
		doc := phases.DirectPlan()
		doc.Base = base
		way, given = "direct: "+c.Why(), &doc
	}
	fmt.Fprintf(a.err, "plan: auto: %s\n", render.SafeLine(way))
	return way, given
}

// findRun finds a run by a prefix of its id.
func findRun(ctx context.Context, db *memory.DB, prefix string) (plan.RunID, error) {
	id, err := db.Resolve(ctx, prefix)
	var many *memory.AmbiguousError
	switch {
	case errors.Is(err, memory.ErrNoRun):
		err = &hinted{err, "`plan list` shows all runs; any beginning of an id that fits only one run will do."}
	case errors.As(err, &many):
		err = &hinted{err, "`plan list` says which is which."}
	}
	return id, failed(err)
}
