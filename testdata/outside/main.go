// Command outside drives a run from a program of its own: it starts one in a
// tree of its own, follows it, answers what it asks, and applies its change.
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/host"
	"github.com/plan-engine/plan/sandbox"
)

func main() {
	sandbox.Enter() // the walls of a run are this program, started again
	if len(os.Args) != 3 {
		log.Fatal("usage: outside DIR REQUEST")
	}
	if err := drive(context.Background(), os.Args[1], os.Args[2]); err != nil {
		log.Fatal(err)
	}
}

func drive(ctx context.Context, dir, request string) error {
	h := host.New(host.Config{})
	defer h.Close()
	own := true
	r := host.Request{Dir: dir, Text: request}
	r.Settings.Worktree = &own

	run, err := h.Start(ctx, r, host.Face{})
	if err != nil {
		return err
	}
	parked := false
	for ev, err := range h.Follow(ctx, run.ID, 0) {
		if err != nil {
			return err
		}
		fmt.Println(ev.Seq, ev.Type())
		if parked = ev.Type() == plan.TypeParked; parked {
			break
		}
	}
	end, err := run.Wait()
	if err != nil {
		return err
	}
	if parked {
		answer := host.Letter{Kind: host.Answer, Text: "English"}
		if _, err := h.Tell(ctx, run.ID, answer); err != nil {
			return err
		}
		if end, err = h.Resume(ctx, run.ID, host.Options{}, host.Face{}); err != nil {
			return err
		}
	}
	fmt.Println("ended", end.State)
	folded, err := h.Load(ctx, run.ID)
	if err != nil {
		return err
	}
	moved, err := h.Apply(ctx, folded, host.Apply{})
	fmt.Println(moved.Result, moved.Files)
	return err
}
