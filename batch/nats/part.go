package nats

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/klauspost/compress/s2"

	"github.com/plan-engine/plan"
)

// Part is one message of a run's journal: what one append added to it, with the git
// objects that this speaks of, or a letter to the run, or that a worker has taken the
// run up, which says nothing but whose it is.
type Part struct {
	ID     string `json:"id,omitempty"`     // by which who wrote it knows it again
	Epoch  uint64 `json:"epoch,omitempty"`  // of the lease under which it was written
	Worker string `json:"worker,omitempty"` // who wrote it

	Events []json.RawMessage `json:"events,omitempty"`
	Blobs  [][]byte          `json:"blobs,omitempty"`
	Refs   map[string]string `json:"refs,omitempty"`   // snapshots that are kept from here on
	Bundle []byte            `json:"bundle,omitempty"` // what they are made of
	Took   []uint64          `json:"took,omitempty"`   // letters that were taken, by their place

	Letter *Letter `json:"letter,omitempty"`

	// Object names the object that has the part, where it is too large for a message.
	Object string `json:"object,omitempty"`

	Place uint64 `json:"-"` // in the stream
}

// pack is a part as it is sent. What is too large for a message becomes an object first.
func (s *Store) pack(ctx context.Context, run plan.RunID, p Part) ([]byte, error) {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false) // events stay as they are, byte for byte
	if err := enc.Encode(p); err != nil {
		return nil, fmt.Errorf("encode a part of run %s: %w", run, err)
	}
	data := s2.EncodeBetter(nil, text.Bytes())
	if len(data) <= min(maxPart, int(s.conn.MaxPayload()/2)) {
		return data, nil
	}
	object := string(run) + "." + p.ID
	if _, err := s.large.PutBytes(ctx, object, data); err != nil {
		return nil, fmt.Errorf("keep a part of run %s: %w", run, err)
	}
	return s.pack(ctx, run, Part{
		ID:     p.ID,
		Epoch:  p.Epoch,
		Worker: p.Worker,
		Object: object,
	})
}

// maxUnpacked bounds a part, in bytes: one that claims to hold more is damaged.
const maxUnpacked = 1 << 30

func (s *Store) unpack(ctx context.Context, data []byte) (p Part, err error) {
	if n, err := s2.DecodedLen(data); err != nil || n > maxUnpacked {
		return p, errors.Join(errors.New("a part is damaged"), err)
	}
	text, err := s2.Decode(nil, data)
	if err == nil {
		err = json.Unmarshal(text, &p)
	}
	if err != nil || p.Object == "" {
		return p, err //nolint:wrapcheck // parts says what was read
	}
	if data, err = s.large.GetBytes(ctx, p.Object); err != nil {
		return p, err //nolint:wrapcheck // parts says what was read
	}
	return s.unpack(ctx, data)
}
