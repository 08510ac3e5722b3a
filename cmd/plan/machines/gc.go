package machines

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/plan-engine/plan/face/render"
	"github.com/plan-engine/plan/host"
	"github.com/plan-engine/plan/host/batches"
	"github.com/plan-engine/plan/internal/hint"
)

func (p Program) gc() *cobra.Command {
	var url, older string
	var dryRun bool
	cmd := &cobra.Command{
		Use:   "gc",
		Short: "Remove batches from a queue that have been over for long",
		Long: `Gc removes batches from a queue whose jobs have all ended so long ago, with their
results, changes and journals: they are not shown, reported, exported, published or
retried any more. Journals of single runs go, too, where the job has ended so long ago
or was begun anew. What waits, runs, is parked or is being published stays.`,
		Example: `  plan queue gc --queue nats://127.0.0.1:4222 --older-than 30d --dry-run`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if url == "" {
				return hint.Usage("name the queue: --queue URL")
			}
			after, err := longAgo("--older-than", older)
			if err != nil {
				return err
			}
			ctx, release := p.interruptible(cmd.Context())
			defer release()
			return p.with(ctx, url, func(q *batches.Queued) error {
				collected, err := q.GC(ctx, after, dryRun)
				if err != nil && len(collected.Removed) == 0 {
					return err
				}
				text := func(w io.Writer) error { return render.QueueCollected(w, collected) }
				return errors.Join(p.answer(collected, text), err)
			})
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&url, "queue", "", queueUsage)
	fl.StringVar(&older, "older-than", "", "remove what has been over for `D`, such as 30d or 12h")
	fl.BoolVar(&dryRun, "dry-run", false, "only say what would go")
	return cmd
}

// longAgo reads how long ago something has to be.
func longAgo(flag, text string) (time.Duration, error) {
	var age host.GCPolicy
	err := age.Read(text, "")
	if err != nil || age.OlderThan == 0 {
		return 0, hint.Usage("%s %q: write a number with a unit, such as 30d or 12h", flag, text)
	}
	return age.OlderThan, nil
}

// collectEvery is how often a queue that is served is looked through for what may go.
const collectEvery = time.Hour

// collect removes what has been over for a while from the queue that this process serves,
// now and every hour, until the function that it returns is called.
func (p Program) collect(ctx context.Context, url, token string, after time.Duration) (end func(), err error) {
	store, err := p.openWith(ctx, url, token)
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer store.Close()
		tick := time.NewTicker(collectEvery)
		defer tick.Stop()
		for {
			_, err := batches.New(p.host).Queued(store).GC(ctx, after, false)
			if err != nil && ctx.Err() == nil {
				p.note("what is over was not removed: " + err.Error())
			}
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
		}
	}()
	return func() { stop(); <-ended }, nil
}
