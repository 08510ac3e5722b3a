// Package nats keeps the jobs of batches in NATS JetStream, so that workers on
// several machines take them from one queue.
//
// What a job is and how far it has got is a record in a key-value bucket; that it
// is to be done is a message in a work-queue stream. A worker that is given the
// message takes the job by writing its lease into the record, and keeps the message
// from being given to others for as long as it works. The record is only ever
// written over the revision that was read: of two workers that believe they have a
// job, one changes it and the other finds out. So a message may come twice, or late,
// or for a job that has ended, and nothing happens twice.
//
// This package alone knows NATS. It must not know runs, homes or terminals.
package nats

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	natsgo "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/batch"
)

const (
	workStream    = "PLAN_WORK"
	workSubject   = "plan.work." // and what [lane] says
	wakeSubject   = "plan.wake"  // says that there is new work
	batchBucket   = "plan_batches"
	jobBucket     = "plan_jobs"
	resultBucket  = "plan_results"
	defaultLease  = 30 * time.Second
	answerTime    = 3 * publishTimeout // for which a record is asked for
	defaultPoll   = time.Second
	pingInterval  = 10 * time.Second
	maxDeliveries = 5
	maxStory      = 20
	maxResult     = 256 << 10 // bytes of a result in its job's record
	patchObject   = "patch."  // and the job, and the lease: its change
)

// Config says how a queue is reached and what it promises.
type Config struct {
	URL   string // nats://host:port, or several with commas
	Token string // "" for none
	Name  string // of this client, as the server shows it

	// NKeyFile has the seed of an nkey that proves this client; "" for none. CAFile has
	// the certificates that the server's is checked with; "" for the system's.
	NKeyFile string
	CAFile   string

	// Lease is how long a worker may be silent before its job is given to another.
	// Who first makes the queue decides. Default: 30 seconds.
	Lease time.Duration

	// Patience is how long an append to a journal waits for a queue that does not answer.
	// Default: 30 seconds.
	Patience time.Duration

	// Deliveries is how often a job is given out whose worker does not come back,
	// before it is a dead letter. Default: 5.
	Deliveries int

	// Now is the clock. Default: time.Now.
	Now func() time.Time
}

// Store is the batches of one JetStream. It is safe for concurrent use.
type Store struct {
	cfg     Config
	conn    *natsgo.Conn
	js      jetstream.JetStream
	stream  jetstream.Stream
	batches bucket
	jobs    bucket
	results jetstream.ObjectStore // those that are too large for their job's record
	journal jetstream.Stream
	large   jetstream.ObjectStore // parts of journals
}

// Open connects to a JetStream, and makes there what is missing. The connection is
// made again by itself whenever it breaks.
func Open(ctx context.Context, cfg Config) (*Store, error) {
	if cfg.Lease <= 0 {
		cfg.Lease = defaultLease
	}
	if cfg.Patience <= 0 {
		cfg.Patience = defaultLease
	}
	if cfg.Deliveries <= 0 {
		cfg.Deliveries = maxDeliveries
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	options := []natsgo.Option{
		natsgo.Name(cfg.Name),
		natsgo.MaxReconnects(-1),
		natsgo.PingInterval(pingInterval), // else a cut of the network is found out after minutes
		natsgo.ReconnectWait(defaultPoll),
		natsgo.ReconnectBufSize(-1), // nothing is sent late that was given up as not sent
		// By itself the client writes to the terminal what who asks next finds out.
		natsgo.ErrorHandler(func(*natsgo.Conn, *natsgo.Subscription, error) {}),
	}
	if cfg.Token != "" {
		options = append(options, natsgo.Token(cfg.Token))
	}
	if cfg.CAFile != "" {
		options = append(options, natsgo.RootCAs(cfg.CAFile))
	}
	if cfg.NKeyFile != "" {
		key, err := natsgo.NkeyOptionFromSeed(cfg.NKeyFile)
		if err != nil {
			return nil, fmt.Errorf("read the nkey: %w", err)
		}
		options = append(options, key)
	}
	conn, err := natsgo.Connect(cfg.URL, options...)
	if err != nil {
		return nil, fmt.Errorf("reach the queue at %s: %w", withoutToken(cfg.URL), err)
	}
	s := &Store{cfg: cfg, conn: conn}
	if err := s.prepare(ctx); err != nil {
		conn.Close()
		return nil, fmt.Errorf("open the queue at %s: %w", withoutToken(cfg.URL), err)
	}
	return s, nil
}

// withoutToken is a URL as it may be shown.
func withoutToken(url string) string {
	if scheme, rest, ok := strings.Cut(url, "://"); ok {
		return scheme + "://" + rest[strings.LastIndexByte(rest, '@')+1:]
	}
	return url[strings.LastIndexByte(url, '@')+1:]
}

// Close ends the connection. What is leased is given to others once its lease ends.
func (s *Store) Close() { s.conn.Close() }

// Batch is a batch as the queue keeps it.
type Batch struct {
	ID       string          `json:"id"`
	Digest   string          `json:"digest"` // of the jobs
	Name     string          `json:"name"`   // where the jobs were read from
	Settings json.RawMessage `json:"settings,omitempty"`
	Created  time.Time       `json:"created"`
	Jobs     int             `json:"jobs"`
	Complete bool            `json:"complete"` // all jobs are in the queue

	// Order grows with each batch that the queue takes: clocks of who adds one may be off.
	Order uint64 `json:"order,omitempty"`

	Removing bool `json:"removing,omitempty"`
}

// Job is a job as the queue keeps it.
type Job struct {
	batch.Entry

	State  batch.JobState  `json:"state"`
	Parked plan.ParkReason `json:"parked,omitempty"` // why, where it is
	Run    plan.RunID      `json:"run,omitempty"`
	Worker string          `json:"worker,omitempty"` // whose home has the run
	Result json.RawMessage `json:"result,omitempty"`

	// Large names the object that has the result, where it does not fit here. See
	// [Store.Result].
	Large string `json:"large,omitempty"`

	// Patch names the object that has the change. See [Store.Patch].
	Patch string `json:"patch,omitempty"`

	// Published is how far the change was published, and Publisher who has claimed to.
	Published json.RawMessage `json:"published,omitempty"`
	Publisher string          `json:"publisher,omitempty"`

	// Letters are what people decided about what the run was parked with. It reads them
	// when it goes on.
	Letters []json.RawMessage `json:"letters,omitempty"`

	// Decided is the last of them that it has read.
	Decided json.RawMessage `json:"decided,omitempty"`

	Started time.Time `json:"started,omitzero"`
	Ended   time.Time `json:"ended,omitzero"`

	// Story is what happened to the job that its result does not tell, the latest last.
	Story []Note `json:"story,omitempty"`

	// Dead says that the job was given out too often without an answer.
	Dead bool `json:"dead,omitempty"`

	Lost    int    `json:"lost,omitempty"`    // workers that did not come back
	Message int    `json:"message"`           // number of the message that counts
	Lease   *Lease `json:"lease,omitempty"`   // nil while no worker has it
	Settled string `json:"settled,omitempty"` // id of the lease under which the state was written

	revision uint64    // that was read, where it was listed
	written  time.Time // by the server's clock, where it was listed
}

// Lease is a worker's right to a job.
type Lease struct {
	ID     string    `json:"id"`
	Worker string    `json:"worker"`
	Seq    uint64    `json:"seq"` // of the message in the stream
	Since  time.Time `json:"since"`
}

// Note is one line of a job's story.
type Note struct {
	Time   time.Time `json:"time"`
	Worker string    `json:"worker,omitempty"`
	What   string    `json:"what"`
}

// final says that nothing is left to do about the job, unless it is asked for again.
func (j *Job) final() bool {
	return j.State == batch.JobDone || j.State == batch.JobFailed || j.State == batch.JobCancelled
}

// requeue makes the job one that is to be given out again, by a message of its own.
func (j *Job) requeue(now time.Time) {
	j.tell(now, "", "queued again; it was "+string(j.State))
	j.State = batch.JobQueued
	j.Parked = ""
	j.Ended = time.Time{}
	j.Dead = false
	j.Lost = 0
	j.Settled = ""
	j.Message++
}

func (j *Job) tell(now time.Time, worker, what string) {
	j.Story = append(j.Story, Note{
		Time:   now.UTC(),
		Worker: worker,
		What:   what,
	})
	if extra := len(j.Story) - maxStory; extra > 0 {
		j.Story = j.Story[extra:]
	}
}

// message is what stands in the stream of work.
type message struct {
	Batch   string `json:"batch"`
	Place   int    `json:"place"`
	Message int    `json:"message"`
}

func (m message) key() string { return jobKey(m.Batch, m.Place) }

func jobKey(batch string, place int) string { return fmt.Sprintf("%s.%d", batch, place) }

// readJob reads a job and the revision over which it can be written.
func (s *Store) readJob(ctx context.Context, key string) (Job, uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	var entry jetstream.KeyValueEntry
	err := retry(ctx, func(ctx context.Context) (err error) {
		entry, err = s.jobs.Get(ctx, key)
		return err //nolint:wrapcheck // says below what was read
	})
	if err != nil {
		return Job{}, 0, fmt.Errorf("read job %s: %w", key, err)
	}
	var j Job
	if err := json.Unmarshal(entry.Value(), &j); err != nil {
		return Job{}, 0, fmt.Errorf("read job %s: %w", key, err)
	}
	return j, entry.Revision(), nil
}

// writeJob writes a job over the revision that was read. One that was changed since
// is [errChanged].
func (s *Store) writeJob(ctx context.Context, key string, j Job, over uint64) (uint64, error) {
	data, err := json.Marshal(j)
	if err != nil {
		return 0, fmt.Errorf("encode job %s: %w", key, err)
	}
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	revision, tries := uint64(0), 0
	err = retry(ctx, func(ctx context.Context) (err error) {
		tries++
		revision, err = s.jobs.Update(ctx, key, data, over)
		if tries > 1 && isConflict(err) { // with the request whose answer did not come, perhaps
			if stored, failed := s.jobs.Get(ctx, key); failed == nil && bytes.Equal(stored.Value(), data) {
				revision, err = stored.Revision(), nil
			}
		}
		return err //nolint:wrapcheck // says below what was written
	})
	if isConflict(err) {
		return 0, errChanged
	}
	if err != nil {
		return 0, fmt.Errorf("write job %s: %w", key, err)
	}
	return revision, nil
}

// errChanged says that a record was written by another process since it was read.
var errChanged = errors.New("the job was changed meanwhile")

func isConflict(err error) bool {
	var refused *jetstream.APIError
	return errors.Is(err, jetstream.ErrKeyExists) || errors.Is(err, jetstream.ErrKeyRevisionMismatch) ||
		errors.As(err, &refused) && refused.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence
}

// change reads a job, changes it and writes it, again where another process was
// faster, until the change says that there is nothing to do.
func (s *Store) change(ctx context.Context, key string, edit func(*Job) bool) (Job, bool, error) {
	for {
		j, revision, err := s.readJob(ctx, key)
		if err != nil || !edit(&j) {
			return j, false, err
		}
		_, err = s.writeJob(ctx, key, j, revision)
		if !errors.Is(err, errChanged) {
			return j, err == nil, err
		}
	}
}
