package host_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/host"
	"github.com/plan-engine/plan/host/hosttest"
)

// greeting is a repository with a greet.sh that says hullo, and a model that can mend it.
func greeting() *hosttest.World {
	world, err := hosttest.Make(hosttest.Greet)
	if err != nil {
		log.Fatal(err)
	}
	return world
}

// A run from its beginning to its end, in the user's tree.
func ExampleHost_Run() {
	world := greeting()
	defer world.Close()

	h := host.New(world.Config) // in a program of your own: host.Config{}
	defer h.Close()
	end, err := h.Run(context.Background(), host.Request{
		Dir:  world.Repo,
		Text: "Make greet.sh say hello",
	}, host.Face{})
	if err != nil {
		log.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(world.Repo, "greet.sh"))
	fmt.Println(end.State, string(data), err)
	// Output: approved echo hello
	//  <nil>
}

// A run goes on in the background while its events are read, from any seq on.
func ExampleHost_Follow() {
	world := greeting()
	defer world.Close()
	ctx := context.Background()
	h := host.New(world.Config)
	defer h.Close()

	run, err := h.Start(ctx, host.Request{
		Dir:  world.Repo,
		Text: "Make greet.sh say hello",
	}, host.Face{})
	if err != nil {
		log.Fatal(err)
	}
	for ev, err := range h.Follow(ctx, run.ID, 1) {
		if err != nil {
			log.Fatal(err)
		}
		if move, ok := ev.Body.(plan.StateChange); ok {
			fmt.Println(move.To)
		}
	}
	_, err = run.Wait()
	fmt.Println(err)
	// Output:
	// exploring
	// planning
	// implementing
	// reviewing
	// approved
	// <nil>
}

// A run that asks parks, hears the answer, and goes on.
func ExampleHost_Tell() {
	world := greeting()
	defer world.Close()
	ctx := context.Background()
	h := host.New(world.Config)
	defer h.Close()

	end, err := h.Run(ctx, host.Request{
		Dir:  world.Repo,
		Text: "Make greet.sh say hello. Ask first",
	}, host.Face{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(end.Parked.Reason, end.Parked.Waiting[0].Question)

	_, err = h.Tell(ctx, end.Run, host.Letter{
		Kind: host.Answer,
		Text: "English",
	})
	if err != nil {
		log.Fatal(err)
	}
	end, err = h.Resume(ctx, end.Run, host.Options{}, host.Face{})
	fmt.Println(end.State, err)
	// Output:
	// question Which language?
	// approved <nil>
}

// A plan waits for a yes, which names the version that was seen.
func ExampleHost_Decide() {
	world := greeting()
	defer world.Close()
	ctx := context.Background()
	h := host.New(world.Config)
	defer h.Close()

	r := host.Request{
		Dir:  world.Repo,
		Text: "Make greet.sh say hello",
	}
	wait := true
	r.Settings.ApprovePlan = &wait
	end, err := h.Run(ctx, r, host.Face{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(end.Parked.Reason, end.Parked.Waiting[0].Call)

	_, err = h.Decide(ctx, end.Run, host.Decision{
		Approve: true,
		Call:    end.Parked.Waiting[0].Call,
	})
	if err != nil {
		log.Fatal(err)
	}
	end, err = h.Resume(ctx, end.Run, host.Options{}, host.Face{})
	fmt.Println(end.State, err)
	// Output:
	// approval plan-1
	// approved <nil>
}

// A run in a tree of its own leaves the user's alone until its change is applied.
func ExampleHost_Apply() {
	world := greeting()
	defer world.Close()
	ctx := context.Background()
	h := host.New(world.Config)
	defer h.Close()

	r := host.Request{
		Dir:  world.Repo,
		Text: "Make greet.sh say hello",
	}
	own := true
	r.Settings.Worktree = &own
	end, err := h.Run(ctx, r, host.Face{})
	if err != nil {
		log.Fatal(err)
	}
	run, err := h.Load(ctx, end.Run)
	if err != nil {
		log.Fatal(err)
	}
	moved, err := h.Apply(ctx, run, host.Apply{})
	fmt.Println(moved.Result, moved.Files, err)
	// Output: applied [greet.sh] <nil>
}

// A run that waits for a person is ended for good.
func ExampleHost_Cancel() {
	world := greeting()
	defer world.Close()
	ctx := context.Background()
	h := host.New(world.Config)
	defer h.Close()

	end, err := h.Run(ctx, host.Request{
		Dir:  world.Repo,
		Text: "Make greet.sh say hello. Ask first",
	}, host.Face{})
	if err != nil {
		log.Fatal(err)
	}
	if _, err := h.Cancel(ctx, end.Run); err != nil {
		log.Fatal(err)
	}
	_, err = h.Resume(ctx, end.Run, host.Options{}, host.Face{})
	fmt.Println(end.State, err != nil)
	// Output: implementing true
}
