package phases

import (
	"context"
	"fmt"
	"sync"

	"github.com/plan-engine/plan/sandbox"
)

// sharedRoom is where phases that only look run their commands. It is made at the first
// command, because it may take a copy of the tree and many phases run none, and it goes
// on to the phase that is handed a report: what was built there to look at the tree
// need not be built again.
type sharedRoom struct {
	open func(ctx context.Context) (Room, error)

	mu   sync.Mutex
	room *Room                   // nil before the first command
	end  context.CancelCauseFunc // of the context that the room was made with
}

// Run implements [tools.Shell].
func (l *sharedRoom) Run(ctx context.Context, c sandbox.Command) (sandbox.Result, error) {
	room, err := l.enter(ctx)
	if err != nil {
		return sandbox.Result{}, fmt.Errorf("prepare the work tree for commands: %w", err)
	}
	c.Dir = room.Dir
	return room.Shell.Run(ctx, c)
}

// enter returns the room, and makes it first where there is none.
func (l *sharedRoom) enter(ctx context.Context) (*Room, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.room != nil {
		return l.room, nil
	}
	// The room outlives the call, but a call that is stopped makes none.
	own, end := context.WithCancelCause(context.WithoutCancel(ctx))
	release := context.AfterFunc(ctx, func() { end(context.Cause(ctx)) })
	defer release()
	room, err := l.open(own)
	if err != nil {
		end(err)
		return nil, err
	}
	l.room, l.end = &room, end
	return l.room, nil
}

// close closes the room, if there is one. After the end of ctx that is done without
// waiting for what runs there.
func (l *sharedRoom) close(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.room == nil {
		return nil
	}
	if ctx.Err() != nil {
		l.end(context.Cause(ctx))
	}
	err := l.room.Close()
	l.end(nil)
	l.room = nil
	return err
}
