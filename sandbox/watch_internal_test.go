package sandbox

import (
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestIdleness(t *testing.T) {
	t.Parallel()
	type look struct {
		used   map[int]time.Duration
		active bool
	}
	type used = map[int]time.Duration
	after := func(l look) []look {
		return append(slices.Repeat([]look{{used: used{7: time.Second, 8: time.Second}}}, idleSamples), l)
	}
	same := slices.Repeat([]look{{used: used{7: time.Second, 8: time.Second}}}, idleSamples+1)
	cases := map[string]struct {
		looks []look
		want  time.Duration
	}{
		"too few":               {same[:idleSamples-1], forever},
		"what came before goes": {same, 0},
		"counts from the start": {same[:idleSamples], 2 * time.Second},
		"one works":             {after(look{used: used{7: 3 * time.Second, 8: time.Second}}), 2 * time.Second},
		"one is new":            {after(look{used: used{7: time.Second, 8: time.Second, 9: time.Second}}), time.Second},
		"one is gone":           {after(look{used: used{7: time.Second}}), 0},
		"one was waited for":    {after(look{used: used{7: 2 * time.Second}}), time.Second},
		"a number used again":   {after(look{used: used{7: time.Second, 8: time.Millisecond}}), time.Millisecond},
		"one prints":            {after(look{active: true}), forever},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var idle idleness
			var got time.Duration
			for _, l := range c.looks {
				got = idle.add(taskStatus{Used: l.used}, l.active)
			}
			if got != c.want {
				t.Errorf("%v, want %v", got, c.want)
			}
		})
	}
}

func TestDeepestFirst(t *testing.T) {
	t.Parallel()
	all := []process{
		{PID: 1},
		{PID: 5, Parent: 1},
		{PID: 9, Parent: 5},
		{PID: 6, Parent: 1},
		{PID: 7, Parent: 9},
		{PID: 20, Parent: 20}, // a list that changed meanwhile may hold a circle
	}
	want := []process{all[4], all[2], all[1], all[3]}
	if diff := cmp.Diff(want, deepestFirst(all, descendants(all, 1))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestWhoIsToldToQuit: children before their parents, and nothing that came later.
func TestWhoIsToldToQuit(t *testing.T) {
	t.Parallel()
	var q quitQueue
	steps := []struct {
		living []process
		want   []int
	}{
		{[]process{{PID: 5, Parent: 1}, {PID: 6, Parent: 5}, {PID: 7, Parent: 6}, {PID: 8, Parent: 5}}, []int{7, 8}},
		{[]process{{PID: 5, Parent: 1}, {PID: 6, Parent: 5}, {PID: 7, Parent: 6}, {PID: 9, Parent: 5}}, []int{6}},
		{[]process{{PID: 5, Parent: 1}, {PID: 7, Parent: 1}, {PID: 9, Parent: 5}}, []int{5}},
		{[]process{{PID: 5, Parent: 1}, {PID: 9, Parent: 5}}, nil},
	}
	for i, s := range steps {
		if diff := cmp.Diff(s.want, q.next(s.living)); diff != "" {
			t.Errorf("round %d (-want +got):\n%s", i+1, diff)
		}
	}
}

// TestPS compares what ps says with what this system is asked otherwise.
func TestPS(t *testing.T) {
	t.Parallel()
	list, err := processesByPS()
	if err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(list, func(p process) bool { return p.PID == os.Getpid() })
	if at < 0 || list[at].Parent != os.Getppid() || list[at].Zombie || list[at].Line == "" {
		t.Errorf("this process is not in it as it is: %+v", list)
	}
	for text, want := range map[string]time.Duration{
		"00:00:03":   3 * time.Second,
		"0:00.25":    250 * time.Millisecond,
		"12:34.50":   12*time.Minute + 34*time.Second + 500*time.Millisecond,
		"01:02:03":   time.Hour + 2*time.Minute + 3*time.Second,
		"2-01:02:03": 49*time.Hour + 2*time.Minute + 3*time.Second,
	} {
		p, ok := readPS(fmt.Sprintf("  7  1  7 S+ %s sh  -c 'a  b'\n", text))
		if diff := cmp.Diff(process{PID: 7, Parent: 1, Group: 7, Used: want, Line: "sh -c 'a b'"}, p); diff != "" || !ok {
			t.Errorf("%s: %v (-want +got):\n%s", text, ok, diff)
		}
	}
	for _, text := range []string{"", "ps: no", "x 1 7 S 0:00.1 sh"} {
		if p, ok := readPS(text); ok {
			t.Errorf("%q was read as %+v", text, p)
		}
	}
}
