package nats

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
)

// TestRequest: a request whose answer does not come is made again, and not without end.
func TestRequest(t *testing.T) {
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
		"lost for good": {9, nil, context.DeadlineExceeded, mostRequests},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				tries := 0
				_, err := request(t.Context(), func(ctx context.Context, again bool) (int, error) {
					tries++
					if again != (tries > 1) {
						t.Errorf("request %d: again is %v", tries, again)
					}
					if tries > c.lost {
						return 1, c.then
					}
					<-ctx.Done()
					return 0, ctx.Err()
				})
				if !errors.Is(err, c.want) || tries != c.tries {
					t.Errorf("%v after %d requests", err, tries)
				}
			})
		})
	}
}
