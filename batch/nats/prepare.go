package nats

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"
)

// clusterReplicas is how many servers of a cluster keep each write.
const clusterReplicas = 3

// prepare finds what the queue is made of, or makes it.
func (s *Store) prepare(ctx context.Context) (err error) {
	if s.js, err = jetstream.New(s.conn); err != nil {
		return err //nolint:wrapcheck // Open says what was done
	}
	s.stream, err = s.js.Stream(ctx, workStream)
	if err == nil {
		err = s.bind(ctx)
	}
	if !errors.Is(err, jetstream.ErrStreamNotFound) && !errors.Is(err, jetstream.ErrBucketNotFound) {
		return err
	}
	if s.conn.ConnectedClusterName() != "" {
		err = s.create(ctx, clusterReplicas)
		if !tooFewServers(err) {
			return errors.Join(err, s.bind(ctx))
		}
	}
	return errors.Join(s.create(ctx, 1), s.bind(ctx))
}

// tooFewServers reports whether a cluster is too small for what it was asked to keep.
func tooFewServers(err error) bool {
	const noPeers, notClustered = 10005, 10074 // codes of NATS
	var refused *jetstream.APIError
	return errors.As(err, &refused) && (refused.ErrorCode == noPeers || refused.ErrorCode == notClustered)
}

// create makes the streams and buckets. That of the work is the last: where it is, all is.
func (s *Store) create(ctx context.Context, replicas int) error {
	for _, name := range []string{batchBucket, jobBucket} {
		if err := s.createBucket(ctx, name, replicas); err != nil {
			return err
		}
	}
	_, err := s.js.CreateOrUpdateObjectStore(ctx, jetstream.ObjectStoreConfig{
		Bucket:   resultBucket,
		Storage:  jetstream.FileStorage,
		Replicas: replicas,
	})
	if err != nil {
		return err //nolint:wrapcheck // Open says what was done
	}
	if err := s.createJournals(ctx, replicas); err != nil {
		return err
	}
	s.stream, err = s.js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{
		Name:      workStream,
		Subjects:  []string{workSubject + ">"},
		Retention: jetstream.WorkQueuePolicy,
		Storage:   jetstream.FileStorage,
		Replicas:  replicas,
	})
	return err //nolint:wrapcheck // Open says what was done
}

// bind finds the buckets, which are there.
func (s *Store) bind(ctx context.Context) (err error) {
	if s.batches, err = s.bindBucket(ctx, batchBucket); err != nil {
		return err
	}
	if s.jobs, err = s.bindBucket(ctx, jobBucket); err != nil {
		return err
	}
	if s.results, err = s.js.ObjectStore(ctx, resultBucket); err != nil {
		return err //nolint:wrapcheck // Open says what was done
	}
	if s.journal, err = s.js.Stream(ctx, journalStream); err != nil {
		return err //nolint:wrapcheck // Open says what was done
	}
	s.large, err = s.js.ObjectStore(ctx, partBucket)
	return err //nolint:wrapcheck // Open says what was done
}

// Left is how many messages say that there is a job to be done.
func (s *Store) Left(ctx context.Context) (uint64, error) {
	info, err := s.stream.Info(ctx)
	if err != nil {
		return 0, fmt.Errorf("look at what is left in the queue: %w", err)
	}
	return info.State.Msgs, nil
}
