package nats

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
)

// TestRetry: what is not answered is done again, until there is no more time for it.
func TestRetry(t *testing.T) {
	t.Parallel()
	refused := errors.New("refused")
	for name, c := range map[string]struct {
		lost  int // requests without an answer
		then  error
		want  error
		tries int
	}{
		"answered":      {0, nil, nil, 1},
		"refused":       {0, refused, refused, 1},
		"lost":          {1, nil, nil, 2},
		"lost, refused": {1, refused, refused, 2},
		"lost for good": {9, nil, context.DeadlineExceeded, 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), answerTime)
				defer cancel()
				tries := 0
				err := retry(ctx, func(ctx context.Context) error {
					if tries++; tries > c.lost {
						return c.then
					}
					<-ctx.Done()
					return ctx.Err()
				})
				if !errors.Is(err, c.want) || tries != c.tries {
					t.Errorf("%v after %d requests", err, tries)
				}
			})
		})
	}
}
