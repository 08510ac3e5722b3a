package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/plan-engine/plan/batch"
	"github.com/plan-engine/plan/face/render"
	"github.com/plan-engine/plan/memory"
)

// mostDiff bounds a diff in a report, in bytes.
const mostDiff = 64 << 10

func (a *app) batchReportCommand() *cobra.Command {
	format, file := "", ""
	cmd := &cobra.Command{
		Use:   "report [BATCH]",
		Short: "Tell what came of a batch, job by job",
		Long: `Report says of each job how it ended, what it changed, what the checks and the
reviewer said, what it cost, and of each that was not approved, why. Without
BATCH it takes the newest. The HTML page needs nothing beside itself.`,
		Example: `  plan batch report
  plan batch report 01JX --format html -o report.html
  plan batch report 01JX --format junit -o junit.xml`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if a.json && !cmd.Flags().Changed("format") {
				format = "json"
			}
			if !slices.Contains(batch.Formats(), format) {
				return usage("--format %q: the formats are %s", format, strings.Join(batch.Formats(), ", "))
			}
			return a.withDB(cmd, func(ctx context.Context, db *memory.DB) error {
				report, err := a.batchReport(ctx, db, strings.Join(args, ""))
				if err != nil {
					return err
				}
				var out bytes.Buffer
				if err := report.Write(&out, format); err != nil {
					return failed(err)
				}
				if file != "" && file != "-" {
					return failed(os.WriteFile(file, out.Bytes(), 0o644))
				}
				_, err = io.Copy(a.out, &out)
				return failed(render.UnlessReaderLeft(err))
			})
		},
	}
	cmd.Flags().StringVar(&format, "format", "text", "`FORMAT` text, markdown, json, junit or html")
	cmd.Flags().StringVarP(&file, "output", "o", "", "write it to `FILE`")
	return cmd
}

// batchReport collects what came of a batch.
func (a *app) batchReport(ctx context.Context, db *memory.DB, prefix string) (batch.Report, error) {
	b, err := findBatch(ctx, db, prefix)
	if err != nil {
		return batch.Report{}, err
	}
	jobs, err := db.Jobs(ctx, b.ID)
	if err != nil {
		return batch.Report{}, failed(err)
	}
	r := batch.Report{
		ID:      b.ID,
		State:   batchState(db, b),
		Name:    b.Name,
		Created: b.Created,
		Counts:  make(map[batch.JobState]int, len(b.Jobs)),
		CostUSD: b.CostUSD,
		Tokens:  b.Tokens,
	}
	for state, n := range b.Jobs {
		r.Counts[batch.JobState(state)] = n
	}
	_, publishes := db.BatchHolder(publishLock + b.ID)
	for _, j := range jobs {
		l, err := a.jobReport(ctx, db, j, publishes)
		if err != nil {
			return r, failed(err)
		}
		r.Jobs = append(r.Jobs, l)
	}
	return r, nil
}

// jobReport reads what came of one job from its run's journal.
func (a *app) jobReport(ctx context.Context, db *memory.DB, j memory.Job, publishes bool) (batch.JobReport, error) {
	s, err := showJob(j, publishes)
	if err != nil {
		return batch.JobReport{}, err
	}
	l := batch.JobReport{
		ID:        s.ID,
		State:     batch.JobState(s.State),
		Outcome:   s.Outcome,
		Parked:    s.Parked,
		Why:       s.Why,
		Run:       s.Run,
		Repo:      s.Repo,
		Ref:       s.Ref,
		Branch:    s.Branch,
		Request:   s.Request,
		Published: s.Published,
	}
	if s.Run == "" {
		return l, nil
	}
	t := &render.Tally{}
	run, err := foldRun(ctx, db, s.Run, t)
	if errors.Is(err, memory.ErrNoRun) || err == nil && run.Start == nil {
		l.Run = "" // it never began
		return l, nil
	}
	if err != nil {
		return l, err
	}
	l.CostUSD, l.Priced, l.Tokens, l.Seconds, l.Gaps = t.Cost, !t.Unpriced, t.Usage.Tokens(), t.Total.Seconds(), t.Gaps
	for _, c := range t.Checks {
		if c.Latest != nil {
			l.Checks = append(l.Checks, *c.Latest)
		}
	}
	if t.Verdict != nil {
		_, l.Verdict = render.VerdictWord(t.Verdict.Judgement)
		l.VerdictWhy = t.Verdict.Why
		l.Evidence, l.Notes, l.Open = t.Verdict.Evidence, t.Verdict.Notes, t.Verdict.Open
	}
	repo, from, to, err := endsOf(ctx, run)
	if err != nil {
		return l, nil //nolint:nilerr // a repository that is gone does not keep the report from being made
	}
	if l.Stat, err = repo.Stat(ctx, from, to); err == nil {
		l.Diff, _ = repo.Diff(ctx, from, to)
	}
	if len(l.Diff) > mostDiff {
		l.Diff = strings.ToValidUTF8(
			l.Diff[:mostDiff],
			"",
		) + "\n… cut; `plan diff " + string(
			l.Run,
		) + "` shows all of it\n"
	}
	return l, nil
}
