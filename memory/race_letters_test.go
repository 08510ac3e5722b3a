package memory_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/memory"
)

// TestLettersAgainstAnApproval: of many letters that are sent while a run is being
// approved, each is read before, or refused: none lies unread in a run that is over.
func TestLettersAgainstAnApproval(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	db := open(t, t.TempDir())
	kinds := []string{"approve", "deny", "steer", "follow_up", "replan"}
	heard := []string{"steer", "follow_up", "replan"}
	for round := range 5 {
		run := plan.RunID(fmt.Sprintf("R%d", round))
		w := own(t, db, run)
		appendAll(t, w, event(run, plan.RunStart{Request: "x"}))
		var mu sync.Mutex
		sent := map[int64]string{}
		var senders sync.WaitGroup
		begun := make(chan struct{}, len(kinds))
		for _, kind := range kinds {
			senders.Go(func() {
				for n := range 20 {
					id, err := db.Post(ctx, run, kind, []byte(`{}`))
					if n == 0 {
						begun <- struct{}{}
					}
					if errors.Is(err, memory.ErrEnded) {
						return
					}
					if err != nil {
						t.Error(err)
						return
					}
					mu.Lock()
					sent[id] = kind
					mu.Unlock()
				}
			})
		}
		for range kinds {
			<-begun
		}
		read := map[int64]bool{}
		for {
			letters, err := w.Letters(ctx)
			must(t, err)
			var ids []int64
			for _, l := range letters {
				if !read[l.ID] && (l.Kind == "steer" || l.Kind == "follow_up" || l.Kind == "replan") {
					ids = append(ids, l.ID)
					read[l.ID] = true
				}
			}
			_, err = w.AppendTaking(ctx, ids)
			must(t, err)
			_, err = w.AppendUnlessUnread(ctx, heard, nil, event(run, plan.RunEnd{Outcome: plan.Approved}))
			if err == nil {
				break
			}
			if !errors.Is(err, memory.ErrUnread) {
				t.Fatal(err)
			}
		}
		senders.Wait()
		for id, kind := range sent {
			if kind != "approve" && kind != "deny" && !read[id] {
				t.Errorf("%s: letter %d (%s) was taken in and never read", run, id, kind)
			}
		}
		if _, err := db.Post(ctx, run, "steer", []byte(`{}`)); !errors.Is(err, memory.ErrEnded) {
			t.Errorf("%s takes letters after its end: %v", run, err)
		}
		must(t, w.Close())
	}
}
