package nats

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	natsgo "github.com/nats-io/nats.go"

	"github.com/plan-engine/plan/batch"
)

const (
	publisherSubject = "plan.publisher." // and its id
	publisherAnswer  = 2 * time.Second
)

// ErrClaimed says that another process has begun to publish a job.
var ErrClaimed = errors.New("another process publishes the job")

// Publisher publishes changes of jobs. Whoever asks finds out whether it is there.
type Publisher struct {
	store *Store
	id    string
	end   func()
}

// NewPublisher makes one, with an id that no other has or had.
func (s *Store) NewPublisher(id string) (*Publisher, error) {
	sub, err := s.conn.Subscribe(publisherSubject+id, func(m *natsgo.Msg) { _ = m.Respond(nil) })
	if err == nil {
		err = s.conn.Flush() // from here on it is found
	}
	if err != nil {
		return nil, fmt.Errorf("begin to publish: %w", err)
	}
	return &Publisher{
		store: s,
		id:    id,
		end:   func() { _ = sub.Unsubscribe() }, // the connection ends with the process
	}, nil
}

// Close says that it is gone.
func (p *Publisher) Close() { p.end() }

// Claim has this publisher alone publish a job that stands as it was read. Known is
// written over what was known then; a job that has changed meanwhile is [ErrClaimed].
func (p *Publisher) Claim(ctx context.Context, of string, j Job, known json.RawMessage) error {
	return p.write(ctx, of, j, known, func(now *Job) bool {
		return now.State == batch.JobDone && now.Publisher == j.Publisher &&
			string(now.Published) == string(j.Published)
	})
}

// Record writes what is known of a publication that this publisher has claimed. One that
// another has claimed since is left as it is: [ErrClaimed].
func (p *Publisher) Record(ctx context.Context, of string, j Job, known json.RawMessage) error {
	return p.write(ctx, of, j, known, func(now *Job) bool { return now.Publisher == p.id })
}

func (p *Publisher) write(
	ctx context.Context,
	of string,
	j Job,
	known json.RawMessage,
	may func(*Job) bool,
) error {
	_, written, err := p.store.change(ctx, jobKey(of, j.Place), func(now *Job) bool {
		if !may(now) {
			return false
		}
		now.Publisher = p.id
		now.Published = known
		return true
	})
	if err == nil && !written {
		err = ErrClaimed
	}
	return err
}

// IsPublishing says whether who has claimed the publication of a job is there. One that
// does not answer, though its connection is not known to be broken, is.
func (s *Store) IsPublishing(ctx context.Context, j Job) bool {
	if j.Publisher == "" {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, publisherAnswer)
	defer cancel()
	_, err := s.conn.RequestWithContext(ctx, publisherSubject+j.Publisher, nil)
	return !errors.Is(err, natsgo.ErrNoResponders)
}
