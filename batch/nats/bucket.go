package nats

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Names that JetStream gives to what buckets are made of.
const (
	bucketStream  = "KV_"
	bucketSubject = "$KV."
)

// catchUpTime is how long a change may take to come before a bucket is listed anew: its
// server may have been another one, or gone, in between.
const catchUpTime = time.Second

// bucket is a key-value bucket, and the stream that it is made of.
type bucket struct {
	jetstream.KeyValue

	stream jetstream.Stream
}

// bindBucket finds a bucket, which is there.
func (s *Store) bindBucket(ctx context.Context, name string) (b bucket, err error) {
	if b.KeyValue, err = s.js.KeyValue(ctx, name); err == nil {
		b.stream, err = s.js.Stream(ctx, bucketStream+name)
	}
	return b, err //nolint:wrapcheck // Open says what was done
}

// createBucket makes a bucket. In a cluster it is read where it is written alone: another
// server may not have the latest yet, and a worker would take its own job for lost.
func (s *Store) createBucket(ctx context.Context, name string, replicas int) error {
	_, err := s.js.CreateOrUpdateKeyValue(ctx, jetstream.KeyValueConfig{
		Bucket:   name,
		Storage:  jetstream.FileStorage,
		Replicas: replicas,
	})
	if err != nil || replicas == 1 {
		return err //nolint:wrapcheck // Open says what was done
	}
	stream, err := s.js.Stream(ctx, bucketStream+name)
	if err != nil {
		return err //nolint:wrapcheck // Open says what was done
	}
	cfg := stream.CachedInfo().Config
	cfg.AllowDirect = false
	_, err = s.js.UpdateStream(ctx, cfg)
	return err //nolint:wrapcheck // Open says what was done
}

// last is the revision of the last write to keys that fit a pattern, as the server has it that
// writes; 0 where there is none. It may be one that says that its key was deleted.
func (b bucket) last(ctx context.Context, pattern string) (revision uint64, err error) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	err = retry(ctx, func(ctx context.Context) error {
		msg, err := b.stream.GetLastMsgForSubject(ctx, bucketSubject+b.Bucket()+"."+pattern)
		if err == nil {
			revision = msg.Sequence
		}
		return err //nolint:wrapcheck // the caller says what was read
	})
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return 0, nil
	}
	return revision, err
}

// watch lists what keys have that fit a pattern, and what they are given from then on, until ctx
// ends. A cluster lists nothing for the seconds in which it elects who decides what does it.
func (b bucket) watch(ctx context.Context, pattern string) (watcher jetstream.KeyWatcher, err error) {
	ask, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	err = retry(ask, func(ask context.Context) error {
		watched, end := context.WithCancel(ctx)
		inTime := context.AfterFunc(ask, end)
		watcher, err = b.Watch(watched, pattern)
		if !inTime() || err != nil {
			end()
			return cmp.Or(err, context.Cause(ask))
		}
		context.AfterFunc(ctx, end) // frees it
		return nil
	})
	return watcher, err //nolint:wrapcheck // the caller says what was read
}

// erase removes keys that fit a pattern, with what says that they were there.
func (b bucket) erase(ctx context.Context, pattern string, options ...jetstream.StreamPurgeOpt) error {
	options = append(options, jetstream.WithPurgeSubject(bucketSubject+b.Bucket()+"."+pattern))
	return b.stream.Purge(ctx, options...) //nolint:wrapcheck // the caller says what was removed
}

// each reads all values whose keys fit a pattern, with all that was written before it was asked.
func (b bucket) each(ctx context.Context, pattern string, take func(jetstream.KeyValueEntry) error) error {
	for {
		last, err := b.last(ctx, pattern)
		if err != nil {
			return fmt.Errorf("list what is in the queue: %w", err)
		}
		entries, whole, err := b.list(ctx, pattern, last)
		if err != nil {
			return fmt.Errorf("list what is in the queue: %w", err)
		}
		if !whole { // what was the last is gone by now
			continue
		}
		for _, entry := range entries {
			if entry.Operation() != jetstream.KeyValuePut {
				continue
			}
			if err := take(entry); err != nil {
				return err
			}
		}
		return nil
	}
}

// list reads what keys have that fit a pattern, until it has the write of a revision or a later
// one: which server of a cluster lists them is not told, and it may be behind the others. False
// says that it did not come to that.
func (b bucket) list(
	ctx context.Context,
	pattern string,
	upTo uint64,
) (entries map[string]jetstream.KeyValueEntry, whole bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	watch, err := b.watch(ctx, pattern)
	if err != nil {
		return nil, false, err
	}
	defer watch.Stop() //nolint:errcheck // it is only read from
	entries = map[string]jetstream.KeyValueEntry{}
	latest := uint64(0)
	var late <-chan time.Time // once all has come that the server has
	for !whole || latest < upTo {
		select {
		case entry, open := <-watch.Updates():
			switch {
			case !open:
				return nil, false, nil
			case entry == nil:
				whole = true
				late = time.After(catchUpTime)
			default:
				entries[entry.Key()] = entry
				latest = max(latest, entry.Revision())
			}
		case <-late:
			return nil, false, nil
		case <-ctx.Done():
			return nil, false, context.Cause(ctx)
		}
	}
	return entries, true, nil
}
