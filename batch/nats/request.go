package nats

import (
	"context"
	"errors"
	"time"

	natsgo "github.com/nats-io/nats.go"
)

// What a request waits for its answer, and how often it is made. One that reaches a
// server just before it ends is lost, and its answer never comes.
const (
	answerTime   = 4 * time.Second
	mostRequests = 3
)

// request makes a request, and once more where no answer comes. Again says that it may
// have been carried out before.
func request[T any](ctx context.Context, do func(ctx context.Context, again bool) (T, error)) (T, error) {
	for n := 1; ; n++ {
		limited, cancel := context.WithTimeout(ctx, answerTime)
		got, err := do(limited, n > 1)
		cancel()
		lost := errors.Is(err, context.DeadlineExceeded) || errors.Is(err, natsgo.ErrTimeout)
		if !lost || ctx.Err() != nil || n == mostRequests {
			return got, err
		}
	}
}
