package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
)

// program is one of those that are run by turns.
type program struct {
	argv  []string
	env   []string
	fresh string // removed before each run, "" for nothing
	want  []int  // exit codes
}

const floorFiles = 320 // in the repository that is read

// planned is plan, stopping once there is a plan, in a home that stays.
func (b *bench) planned(repo, home string, flags ...string) program {
	argv := append([]string{b.plan, "-C", repo, "run", "--plan-only", "--max-turns", "2000"}, flags...)
	return program{
		argv: append(argv, "Add a header to every file"),
		env:  []string{"PLAN_HOME=" + home},
		want: []int{0},
	}
}

// bareFloor is the floor; with a file, each message is durable.
func (b *bench) bareFloor(repo, file string) program {
	argv := []string{b.floor, "-dir", repo}
	if file != "" {
		argv = append(argv, "-db", file)
	}
	return program{argv: argv, want: []int{0}}
}

// withGitFloor is a program that first asks git what plan asks it, at the same times.
func (b *bench) withGitFloor(repo string, prog program) program {
	const script = `cd "$0" && git rev-parse --show-toplevel HEAD 'HEAD^{tree}' >/dev/null || exit
git status --porcelain=v2 --branch -z --untracked-files=all >/dev/null & git ls-files -s -v -c -o -m --exclude-standard -z >/dev/null && wait &&
git update-ref refs/plan/bench "$(git -c user.name=b -c user.email=b@example.com commit-tree 'HEAD^{tree}' -p HEAD -m bench)" && cd - >/dev/null && exec "$@"`
	prog.argv = append([]string{"sh", "-c", script, repo}, prog.argv...)
	return prog
}

// rounds runs the programs by turns, A B C A B C, and returns what each did. A
// round before them is not counted: it fills caches and makes databases.
func (b *bench) play(ctx context.Context, turns int, programs ...program) ([][]sample, error) {
	p := player{
		self:     b.self,
		scenario: explorationScript(turns, 1),
		env:      b.env,
	}
	out := make([][]sample, len(programs))
	for round := range b.rounds + 1 {
		for i, prog := range programs {
			if prog.fresh != "" {
				if err := os.RemoveAll(prog.fresh); err != nil {
					return nil, fmt.Errorf("start anew: %w", err)
				}
			}
			s, err := p.play(ctx, b.work, prog.env, prog.argv, prog.want...)
			if err != nil {
				return nil, err
			}
			if round > 0 {
				out[i] = append(out[i], s)
			}
		}
	}
	return out, nil
}

// repo is the repository that all programs read, made when it is first asked for.
func (b *bench) repo(ctx context.Context) (string, error) {
	dir := filepath.Join(b.work, "repo")
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	return dir, makeRepo(ctx, dir, floorFiles)
}

// startSamples are samples of one turn of a phase and one of the next, with nothing to do.
type startSamples struct {
	plan, planNewHome   []sample // with a home that is there, and with a new one
	floor               []sample // which keeps nothing
	durable, durableNew []sample // the floor with a database that is there, and with a new one
	raw                 []sample // the floor without openai-go
	withGit             []sample // the floor with the questions that plan asks git
}

// starts measures what it takes until the first request, and the least of runs.
func (b *bench) starts(ctx context.Context) ([]figure, error) {
	s, err := b.playStarts(ctx)
	if err != nil {
		return nil, err
	}
	return append(s.times(), s.sizes()...), nil
}

func (b *bench) playStarts(ctx context.Context) (startSamples, error) {
	repo, err := b.repo(ctx)
	if err != nil {
		return startSamples{}, err
	}
	newHome, newDB := filepath.Join(b.work, "new"), filepath.Join(b.work, "newdb")
	old, fresh := b.planned(repo, filepath.Join(b.work, "old")), b.planned(repo, newHome)
	fresh.fresh = newHome
	db := b.bareFloor(repo, filepath.Join(b.work, "old.db"))
	dbFresh := b.bareFloor(repo, filepath.Join(newDB, "floor.db"))
	dbFresh.argv = append([]string{"sh", "-c", `mkdir -p "$0" && exec "$@"`, newDB}, dbFresh.argv...)
	dbFresh.fresh = newDB
	raw := b.bareFloor(repo, "")
	raw.argv = append(raw.argv, "-raw")
	got, err := b.play(ctx, 0, old, fresh, b.bareFloor(repo, ""), db, dbFresh, raw, b.withGitFloor(repo, db))
	if err != nil {
		return startSamples{}, err
	}
	return startSamples{
		plan:        got[0],
		planNewHome: got[1],
		floor:       got[2],
		durable:     got[3],
		durableNew:  got[4],
		raw:         got[5],
		withGit:     got[6],
	}, nil
}

// starting bounds how soon plan can send its first request.
const starting = "git, which is a process for each of its answers, five of them, four one after another, and the " +
	"start of a program of 60 MiB, about 5 ms; the floor asks git nothing, and the row that has it do so is " +
	"the goal that can be reached. docs/profiling.md has the start in pieces"

func (s startSamples) times() []figure {
	return []figure{
		{
			what:      "start to first request, database there",
			unit:      "ms",
			ours:      medianOf(s.plan, sample.started),
			base:      medianOf(s.durable, sample.started),
			baseline:  "durable floor",
			mostRatio: 2,
			bound:     starting,
		},
		{
			what:      "start to first request, new database",
			unit:      "ms",
			ours:      medianOf(s.planNewHome, sample.started),
			base:      medianOf(s.durableNew, sample.started),
			baseline:  "durable floor, new file",
			mostRatio: 3,
			bound:     starting + "; and the making of the tables",
		},
		{
			what:     "start to first request, not durable",
			unit:     "ms",
			ours:     medianOf(s.plan, sample.started),
			base:     medianOf(s.floor, sample.started),
			baseline: "floor",
		},
		{
			what:      "start to first request, database there",
			unit:      "ms",
			ours:      medianOf(s.plan, sample.started),
			base:      medianOf(s.withGit, sample.started),
			baseline:  "the same questions to git, then the durable floor",
			mostRatio: 2,
			bound:     starting,
		},
		{
			what:     "start to first request, openai-go",
			about:    "floor",
			unit:     "ms",
			ours:     medianOf(s.floor, sample.started),
			base:     medianOf(s.raw, sample.started),
			baseline: "raw HTTP",
		},
		{
			what:      "whole process, two phases of one turn",
			unit:      "ms",
			ours:      medianOf(s.plan, sample.total),
			base:      medianOf(s.durable, sample.total),
			baseline:  "durable floor",
			mostRatio: 2,
			bound:     starting,
		},
	}
}

// mapped bounds the memory that plan can do with.
const mapped = "the size of the program file: some 27 MiB of its pages are touched or lie beside those that are, " +
	"which are the file's own and shared; half are code, most of the rest the tables that Go keeps of types " +
	"and functions. The next row is what the process itself takes"

func (s startSamples) sizes() []figure {
	return []figure{
		{
			what:     "peak memory, two phases of one turn",
			unit:     "MiB",
			ours:     medianOf(s.plan, sample.peakMiB),
			base:     medianOf(s.floor, sample.peakMiB),
			baseline: "floor",
			mostOurs: 32,
			bound:    mapped,
		},
		{
			what:     "of it, what is no page of a file",
			unit:     "MiB",
			ours:     medianOf(s.plan, sample.ownMemory),
			base:     medianOf(s.floor, sample.ownMemory),
			baseline: "floor",
		},
		{
			what:     "bytes of the first request",
			unit:     "KiB",
			ours:     medianOf(s.plan, sample.kib),
			base:     medianOf(s.floor, sample.kib),
			baseline: "floor",
			mostOurs: 12,
		},
	}
}

// turnCost is what a turn with one read costs: the difference of 100 and 20.
func (b *bench) turnCost(ctx context.Context) ([]figure, error) {
	repo, err := b.repo(ctx)
	if err != nil {
		return nil, err
	}
	programs := []program{
		b.planned(repo, filepath.Join(b.work, "old")),
		b.bareFloor(repo, filepath.Join(b.work, "old.db")),
		b.bareFloor(repo, ""),
		b.bareFloor(repo, ""),
	}
	programs[3].argv = append(programs[3].argv, "-raw")
	few, err := b.play(ctx, 20, programs...)
	if err != nil {
		return nil, err
	}
	many, err := b.play(ctx, 100, programs...)
	if err != nil {
		return nil, err
	}
	per := make([]float64, len(programs))
	for i := range programs {
		per[i] = (medianOf(many[i], sample.total) - medianOf(few[i], sample.total)) / 80
	}
	return []figure{
		{
			what:      "one more turn with a read, durable",
			unit:      "ms",
			ours:      per[0],
			base:      per[1],
			baseline:  "durable floor's turn (two commits)",
			mostRatio: 1.3,
			bound: "what a turn records beside its two messages: intents, usage, request and their hashes, and " +
				"the encoding of each for the disk and for the wire",
		},
		{
			what:     "one more turn with a read",
			unit:     "ms",
			ours:     per[0],
			base:     per[2],
			baseline: "floor's turn",
		},
		{
			what:     "one more turn with a read, openai-go",
			about:    "floor",
			unit:     "ms",
			ours:     per[2],
			base:     per[3],
			baseline: "raw HTTP's turn",
		},
		{
			what:     "peak memory, 100 turns",
			unit:     "MiB",
			ours:     medianOf(many[0], sample.peakMiB),
			base:     medianOf(many[2], sample.peakMiB),
			baseline: "floor",
		},
	}, nil
}

// walls runs commands by turns and returns the median of each in ms.
func (b *bench) walls(ctx context.Context, commands ...[]string) ([]float64, error) {
	p := player{self: b.self, env: b.env}
	times := make([][]float64, len(commands))
	for range b.rounds {
		for i, argv := range commands {
			launched, err := p.launch(ctx, b.work, nil, argv)
			if err != nil {
				return nil, err
			}
			times[i] = append(times[i], milliseconds(launched.Wall))
		}
	}
	out := make([]float64, len(commands))
	for i := range times {
		out[i] = median(times[i])
	}
	return out, nil
}
