package memory

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/plan-engine/plan"
)

// JobState is how far a job of a batch has got.
type JobState string

// The states of a job. Done, failed and cancelled are final until another try
// is asked for.
const (
	JobQueued    JobState = "queued"
	JobRunning   JobState = "running"
	JobDone      JobState = "done"   // approved, or planned where that was all
	JobFailed    JobState = "failed" // came to an end that is not approval
	JobParked    JobState = "parked" // stopped before its end, and can go on
	JobCancelled JobState = "cancelled"
)

// Final says that a job in this state has come to its end.
func (s JobState) Final() bool { return s == JobDone || s == JobFailed || s == JobCancelled }

// ErrNoBatch says that no such batch is stored.
var ErrNoBatch = errors.New("no such batch")

// Batch is a queue of jobs.
type Batch struct {
	ID        string
	Digest    string // of the jobs
	Name      string // where the jobs were read from
	Settings  json.RawMessage
	MaxStarts int // jobs that may be started; 0 means all
	Created   time.Time
	Updated   time.Time
	Jobs      map[JobState]int // how many jobs are in each state
	CostUSD   float64          // of the jobs' present runs
	Tokens    int64            // of the jobs' present runs, input and output
	// Damage says that the row is not what was written; Settings are left out then.
	Damage error
}

// Job is one entry of a batch.
type Job struct {
	Batch, ID string
	Place     int // in the list that it came from, from 0
	Turn      int // place among the jobs of its repository, from 0
	Priority  int // higher goes first
	State     JobState
	Run       plan.RunID // "" before the first start
	Started   time.Time  // zero before the first start
	Ended     time.Time  // zero while there is something left to do
	Spec      json.RawMessage
	Result    json.RawMessage // nil before there is one
	Published json.RawMessage // nil for a job that was never to be published
	// Damage says that the row is not what was written; Spec, Result and Published are
	// left out then.
	Damage error
}

// AddBatch stores a batch with its jobs, all or nothing. The states of the jobs
// are set to queued.
func (db *DB) AddBatch(ctx context.Context, b Batch, jobs []Job) error {
	now := db.now().UnixNano()
	return db.wrapError("add a batch to", db.inTx(ctx, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, `INSERT INTO batches (id, digest, name, settings, most, created, updated)
			VALUES (?,?,?,?,?,?,?)`, b.ID, b.Digest, b.Name,
			string(nullIfEmpty(b.Settings)), b.MaxStarts, now, now); err != nil {
			return fmt.Errorf("batch %s: %w", b.ID, err)
		}
		insert, err := tx.PrepareContext(ctx, `INSERT INTO batch_jobs
			(batch, id, place, turn, priority, state, run, started, ended, spec, result)
			VALUES (?,?,?,?,?,?,'',0,0,?,'null')`)
		if err != nil {
			return err //nolint:wrapcheck // AddBatch says what was done
		}
		defer insert.Close() //nolint:errcheck // the transaction closes it
		for _, j := range jobs {
			_, err := insert.ExecContext(ctx, b.ID, j.ID, j.Place, j.Turn, j.Priority,
				string(JobQueued), string(nullIfEmpty(j.Spec)))
			if err != nil {
				return fmt.Errorf("job %s: %w", j.ID, err)
			}
		}
		return nil
	}))
}

func nullIfEmpty(data json.RawMessage) json.RawMessage {
	if len(data) == 0 {
		return json.RawMessage("null")
	}
	return data
}

const jobColumns = `batch, id, place, turn, priority, state, run, started, ended, spec, result, published`

// selectJobs reads jobs, and of each whether it is what was written.
var selectJobs = "SELECT " + jobColumns + ", " +
	provenIn("batch_jobs", strings.Split(jobColumns, ", ")...) + " FROM batch_jobs"

func (db *DB) scanJob(scan func(...any) error) (Job, error) {
	var j Job
	var whole bool
	var started, ended int64
	var spec, result, published string
	err := scan(
		&j.Batch,
		&j.ID,
		&j.Place,
		&j.Turn,
		&j.Priority,
		&j.State,
		&j.Run,
		&started,
		&ended,
		&spec,
		&result,
		&published,
		&whole,
	)
	if err == nil && !whole {
		j.Damage = db.rowError("read a job in", "batch_jobs", j.Batch+" "+j.ID)
		spec, result, published = "", "null", "null"
	}
	if started != 0 {
		j.Started = fromNanos(started)
	}
	if ended != 0 {
		j.Ended = fromNanos(ended)
	}
	if spec != "" {
		j.Spec = json.RawMessage(spec)
	}
	if result != "null" {
		j.Result = json.RawMessage(result)
	}
	if published != "null" {
		j.Published = json.RawMessage(published)
	}
	return j, err
}

// ClaimJob takes the next job of a batch that is queued, in one statement, so
// that no two workers get the same one: the highest priority first, and among
// equals one of each repository in turn. A job that was never started gets run
// as its run. It reports false where nothing is to be taken, which is also so
// once as many jobs were started as the batch may start. With only, no other job
// is taken.
func (db *DB) ClaimJob(ctx context.Context, batch string, run plan.RunID, only string) (Job, bool, error) {
	now := db.now().UnixNano()
	var j Job
	err := db.inTx(ctx, func(tx *sql.Tx) (err error) {
		var id string
		err = tx.QueryRowContext(ctx, `UPDATE batch_jobs SET state = 'running', ended = 0,
			started = CASE started WHEN 0 THEN ? ELSE started END, run = CASE run WHEN '' THEN ? ELSE run END
		WHERE batch = ? AND id = (
			SELECT id FROM batch_jobs AS j WHERE batch = ? AND state = 'queued' AND ? IN ('', id) AND (started > 0
				OR (SELECT most FROM batches WHERE id = j.batch) = 0
				OR (SELECT count(*) FROM batch_jobs AS k WHERE k.batch = j.batch AND k.started > 0) <
				   (SELECT most FROM batches WHERE id = j.batch))
			ORDER BY priority DESC, started = 0, turn, place LIMIT 1)
		RETURNING id`, now, string(run), batch, batch, only).Scan(&id)
		if err == nil {
			j, err = db.scanJob(tx.QueryRowContext(ctx, selectJobs+" WHERE batch = ? AND id = ?", batch, id).Scan)
		}
		return err
	})
	if errors.Is(err, sql.ErrNoRows) {
		return Job{}, false, nil
	}
	return j, err == nil, db.wrapError("take a job from", err)
}

// RecordJobResult records where a running job has got to. A job that is not running
// any more, because it was cancelled, stays as it is.
func (db *DB) RecordJobResult(ctx context.Context, batch, id string, state JobState, result json.RawMessage) error {
	now := db.now().UnixNano()
	ended := int64(0)
	if state.Final() {
		ended = now
	}
	return db.wrapError("settle a job in", db.inTx(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `UPDATE batch_jobs SET state = ?, ended = ?, result = ?
			WHERE batch = ? AND id = ? AND state = 'running'`,
			string(state), ended, string(nullIfEmpty(result)), batch, id)
		if err != nil {
			return err //nolint:wrapcheck // RecordJobResult says what was done
		}
		_, err = tx.ExecContext(ctx, "UPDATE batches SET updated = ? WHERE id = ?", now, batch)
		return err //nolint:wrapcheck // RecordJobResult says what was done
	}))
}

// SetJobStates moves the jobs of a batch that are in one of the states from to
// another state, and returns how many. With ids it moves only those. With anew
// they forget their run and their result, and begin from the start.
func (db *DB) SetJobStates(
	ctx context.Context,
	batch string,
	to JobState,
	from []JobState,
	ids []string,
	anew bool,
) (int64, error) {
	set := "state = ?, ended = 0"
	args := []any{string(to)}
	if to == JobCancelled {
		set = "state = ?, ended = ?"
		args = append(args, db.now().UnixNano())
	}
	if anew {
		set += ", run = '', result = 'null', published = 'null'"
	}
	query := "UPDATE batch_jobs SET " + set + " WHERE batch = ? AND state IN (" + placeholders(len(from)) + ")"
	args = append(args, batch)
	for _, s := range from {
		args = append(args, string(s))
	}
	if len(ids) > 0 {
		query += " AND id IN (" + placeholders(len(ids)) + ")"
		for _, id := range ids {
			args = append(args, id)
		}
	}
	res, err := db.write.exec(ctx, query, args...)
	if err != nil {
		return 0, db.wrapError("move jobs in", err)
	}
	n, err := res.RowsAffected()
	return n, db.wrapError("move jobs in", err)
}

// RecordPublished keeps how far the change of a job was published. It is on disk
// when this returns.
func (db *DB) RecordPublished(ctx context.Context, batch, id string, how json.RawMessage) error {
	_, err := db.write.exec(
		ctx,
		"UPDATE batch_jobs SET published = ? WHERE batch = ? AND id = ?",
		string(nullIfEmpty(how)),
		batch,
		id,
	)
	return db.wrapError("record what was published in", err)
}

// ChangeBatch replaces what a batch is driven with, and how many of its jobs
// may be started (0: all).
func (db *DB) ChangeBatch(ctx context.Context, batch string, settings json.RawMessage, most int) error {
	_, err := db.write.exec(ctx, "UPDATE batches SET settings = ?, most = ?, updated = ? WHERE id = ?",
		string(nullIfEmpty(settings)), most, db.now().UnixNano(), batch)
	return db.wrapError("change a batch in", err)
}

// OwnBatch takes a batch for this process, until the returned function is
// called or the process dies. Another process that has it is a [*HeldError].
func (db *DB) OwnBatch(ctx context.Context, batch string) (release func() error, err error) {
	lock, err := db.lockRun(ctx, plan.RunID(batchLock+batch))
	if err != nil {
		return nil, err
	}
	return lock.Close, nil
}

// BatchHolder says which process drives a batch right now, if any.
func (db *DB) BatchHolder(batch string) (*HeldError, bool) {
	return db.Holder(plan.RunID(batchLock + batch))
}

// batchLock begins the names of the lock files of batches.
const batchLock = "batch-"
