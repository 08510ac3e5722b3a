package loop_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop"
	"github.com/plan-engine/plan/loop/prompt"
)

const fiveCalls = `
[[reply]]
user = 1
turn = 0
  [[reply.call]]
  name = "look"
  args = { n = 0 }
  [[reply.call]]
  name = "look"
  args = { n = 1 }
  [[reply.call]]
  name = "look"
  args = { n = 2 }
  [[reply.call]]
  name = "look"
  args = { n = 3 }
  [[reply.call]]
  name = "look"
  args = { n = 4 }
[[reply]]
text = "Done."
`

func TestStrategies(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		how       loop.Strategy
		together  int // calls that meet; more would run at once if they could
		afterward []int
	}{
		{loop.Strategy{}, 5, nil},
		{loop.Strategy{Size: 2}, 2, nil},
		{loop.Strategy{Mode: loop.Batched, Size: 2}, 2, []int{2, 3, 4}},
		{loop.Strategy{Mode: loop.Batched, Size: 9}, 5, nil},
		{loop.Strategy{Mode: loop.Sequential}, 1, []int{1, 2, 3, 4}},
	} {
		t.Run(fmt.Sprintf("%+v", c.how), func(t *testing.T) {
			t.Parallel()
			var running, most, met atomic.Int32
			all := make(chan struct{})
			b := setup(t, fiveCalls, tool("look", plan.EffectReplay, false, func(ctx context.Context, n int) string {
				most.Store(max(most.Load(), running.Add(1)))
				defer running.Add(-1)
				if int(met.Add(1)) == c.together {
					close(all)
				}
				<-all // until as many run as may
				return fmt.Sprint("saw ", n)
			}))
			b.cfg.Strategy = c.how
			l := b.loop()
			if _, err := l.Run(context.Background(), plan.UserText("Go.")); err != nil {
				t.Fatal(err)
			}
			if got := int(most.Load()); got != c.together {
				t.Errorf("%d calls ran at once, want %d", got, c.together)
			}
			for i, block := range l.Messages()[2].Blocks {
				if block.Text != fmt.Sprint("saw ", i) {
					t.Errorf("result %d is %q", i, block.Text)
				}
			}
			balanced(t, b.j.events())

			// Guidance that comes in the first chunk skips the later ones.
			var q loop.Queue
			s := setup(t, fiveCalls, tool("look", plan.EffectReplay, false, func(_ context.Context, n int) string {
				if n == 0 {
					q.Put(loop.Steer, "enough")
				}
				return "ok"
			}))
			s.cfg.Strategy, s.cfg.Mail = c.how, &q
			s.run("Go.")
			var skipped []int
			for _, r := range s.results() {
				if strings.HasPrefix(r.Output, "Skipped") {
					skipped = append(skipped, int(r.Call[len(r.Call)-1]-'0'))
				}
			}
			if diff := cmp.Diff(c.afterward, skipped); diff != "" {
				t.Error("skipped:", diff)
			}
			balanced(t, s.j.events())
		})
	}
	for want, bad := range map[string]loop.Strategy{
		"batches of 0 calls": {Mode: loop.Batched}, "batches of -1": {Mode: loop.Batched, Size: -1},
		"-2 calls at once": {Size: -2}, `no strategy "fast"`: {Mode: "fast"},
	} {
		b := setup(t, fiveCalls)
		b.cfg.Strategy = bad
		if _, err := loop.New(b.cfg, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v", bad, err)
		}
	}
}

func TestSkillIndex(t *testing.T) {
	t.Parallel()
	got, err := prompt.SkillIndex([]loop.Skill{
		{Name: "weather", Description: "the old one"},
		{Name: "git", Description: "Use <tags> & \"quotes\"\nin one line", Path: "a&b/SKILL.md"},
		{Name: "weather", Description: "Tells the weather."},
	})
	want := "<skills>\n<skill name=\"git\" path=\"a&amp;b/SKILL.md\">Use &lt;tags&gt; &amp; &#34;quotes&#34; in one line</skill>\n<skill name=\"weather\">Tells the weather.</skill>\n</skills>"
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(err, diff)
	}
	if got, err := prompt.SkillIndex(nil); got != "" || err != nil {
		t.Errorf("no skills: %q, %v", got, err)
	}
	b := setup(t, oneTool, look())
	b.cfg.Skills = []loop.Skill{{Name: "git"}}
	if _, err := loop.New(b.cfg, nil); err == nil || !strings.Contains(err.Error(), "lacks a name or a description") {
		t.Errorf("a skill without a description: %v", err)
	}
	b.cfg.Skills = []loop.Skill{{Name: "git", Description: "Knows git."}}
	b.run("Go.")
	for _, r := range b.server.Requests() {
		if !strings.Contains(string(r.Body), `Be brief.\n\n<skills>\n<skill name=\"git\">Knows git.</skill>\n</skills>"`) {
			t.Errorf("the system prompt is in %s", r.Body)
		}
	}
}
