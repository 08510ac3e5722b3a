package render

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/plan-engine/plan"
)

// stage is a screen viewer on a terminal, in a bubble of its own time.
type stage struct {
	Viewer
	*terminal
	story *story
}

func newStage(t *testing.T, columns int, change func(*Options)) *stage {
	vt := newTerminal(t, columns)
	opts := Options{Width: vt.width, Color: true}
	if change != nil {
		change(&opts)
	}
	return &stage{Viewer: NewScreen(vt, opts), terminal: vt, story: newStory()}
}

// show feeds what was added to the story since the last time.
func (s *stage) show() {
	showAll(s.Viewer, s.story.events)
	s.story.events = nil
}

// pass lets time pass, and the screen paint.
func (s *stage) pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

func (s *stage) expectBottom(t *testing.T, want ...string) {
	t.Helper()
	if got := s.bottom(len(want)); got != strings.Join(want, "\n") {
		t.Errorf("the bottom is\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
}

func TestScreenLeavesOnlyLines(t *testing.T) {
	t.Parallel()
	tests := map[string]Options{
		"screen.txt":        {Width: fixedWidth(90)},
		"screen_color.txt":  {Width: fixedWidth(90), Color: true},
		"screen_narrow.txt": {Width: fixedWidth(48), ASCII: true},
	}
	for name, opts := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				vt := newTerminal(t, opts.Width())
				var raw strings.Builder
				v := NewScreen(io.MultiWriter(vt, &raw), opts)
				var last time.Time
				for _, e := range wholeStory().events {
					if !last.IsZero() {
						<-time.After(e.Time.Sub(last))
					}
					last = e.Time
					v.Event(e)
				}
				if err := v.Close(); err != nil {
					t.Fatal(err)
				}
				if vt.overflow {
					t.Error("a line is longer than the terminal is wide")
				}
				if opts.Color != strings.Contains(raw.String(), "\x1b[32m") {
					t.Errorf("colour %v is not honoured", opts.Color)
				}
				checkGolden(t, strings.Replace(name, "_color", "", 1), vt.text())
			})
		})
	}
}

func TestScreenStatusLine(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, 80, nil)
		defer s.Close()
		s.expectBottom(t, "")

		s.story.begin(plan.Explore, 1, "c1", "m")
		s.story.ask()
		s.show()
		s.pass(63 * frameTime)
		s.expectBottom(t, "⠸ explore · turn 1 · waiting for gpt-5                              0:05 · 0:05")

		s.story.add(0, plan.MessageUpdate{Kind: plan.BlockReasoning, Text: "x"})
		s.show()
		s.pass(2 * frameTime)
		s.expectBottom(t, "⠴ explore · turn 1 · thinking                                       0:00 · 0:05")

		s.story.answer(0, "", plan.Usage{Input: 14000, Output: 500})
		s.story.add(0,
			plan.ToolStart{Call: "1", Name: "bash", Args: json.RawMessage(`{"command":"go test ./..."}`)},
			plan.ToolStart{Call: "2", Name: "read", Args: json.RawMessage(`{"path":"a.go"}`)})
		s.show()
		s.pass(150 * frameTime)
		s.expectBottom(t, "⠴ explore · turn 1 · bash (+1) go test ./...  0:12 · 14.5k tok · $0.0145 · 0:17")

		s.story.add(0, plan.ToolEnd{Call: "1", Name: "bash"}, plan.ToolEnd{Call: "2", Name: "read"},
			plan.Retry{Attempt: 2, Reason: "overloaded", WaitMS: 9000})
		s.show()
		s.pass(25 * frameTime)
		s.expectBottom(t, "⠋ explore · turn 1 · retry 2: overloaded   in 0:07 · 14.5k tok · $0.0145 · 0:19")

		s.story.end(0, plan.EndParked)
		s.story.add(0, plan.Parked{Reason: plan.ParkLimit, Detail: "turns"})
		s.show()
		s.pass(time.Second)
		s.expectBottom(t, "  ■ parked      limit: turns", "")
	})
}

func TestScreenCutsTheStatusLine(t *testing.T) {
	t.Parallel()
	for _, columns := range []int{1, 2, 5, 10, 21, 30, 44, 61, 79} {
		t.Run(fmt.Sprint(columns), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newStage(t, columns, nil)
				defer s.Close()
				s.story.begin(plan.Implement, 3, "c1", "m")
				s.story.answer(0, "", plan.Usage{Input: 14000, Output: 500})
				s.show()
				s.overflow = false // headings may be longer than a very narrow terminal
				s.story.add(0, plan.ToolStart{Call: "1", Name: "bash", Args: json.RawMessage(`{"command":"echo 漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字"}`)})
				s.story.add(0, plan.MessageUpdate{Kind: plan.BlockText, Text: "漢字漢字漢"})
				s.show()
				s.pass(time.Second)
				if s.overflow {
					t.Errorf("the status line does not fit: %q", s.bottom(1))
				}
			})
		})
	}
}

func TestScreenStreamsText(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, 40, nil)
		defer s.Close()
		s.story.begin(plan.Explore, 1, "c1", "m")
		s.story.ask()
		s.story.add(0, plan.MessageUpdate{Kind: plan.BlockText, Text: "One row that is longer than the term"})
		s.show()
		s.pass(frameTime)
		s.expectBottom(t, "    One row that is longer than the", "    term", "⠙ explore · turn 1 · answering     0:00")

		s.story.add(0, plan.MessageUpdate{Kind: plan.BlockText, Text: "inal\r"}, plan.MessageUpdate{Kind: plan.BlockText, Text: "\nNext"})
		s.show()
		s.pass(frameTime)
		s.expectBottom(t, "    One row that is longer than the", "    terminal", "    Next", "⠹ explore · turn 1 · answering     0:00")

		// The end of the message came without its last pieces.
		text := "One row that is longer than the terminal\r\nNext to last.\n"
		s.story.add(0, plan.MessageEnd{Message: plan.Message{
			Role: plan.RoleAssistant, Blocks: []plan.Block{{Type: plan.BlockText, Text: text}},
		}})
		s.show()
		s.expectBottom(t, "    terminal", "    Next to last.", "⠹ explore · turn 1 · working       0:00")
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s.expectBottom(t, "    terminal", "    Next to last.", "")
	})
}

func TestScreenMarksDiscardedText(t *testing.T) {
	t.Parallel()
	discard := map[string]plan.Body{
		"retry":     plan.Retry{Attempt: 1, Reason: "cut off", WaitMS: 100},
		"discarded": plan.MessageEnd{Message: plan.Message{Role: plan.RoleAssistant}, Discarded: true},
		"parked":    plan.Parked{Reason: plan.ParkInterrupted},
	}
	for name, body := range discard {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newStage(t, 60, nil)
				defer s.Close()
				s.story.begin(plan.Explore, 1, "c1", "m")
				s.story.ask()
				s.story.add(0, plan.MessageUpdate{Kind: plan.BlockText, Text: "half a sen"}, body)
				s.show()
				if !strings.Contains(s.text(), "    half a sen\n    ↻ discarded: the answer above broke off\n") {
					t.Errorf("the discarded text is not marked:\n%s", s.text())
				}
				s.story.answer(0, "a whole sentence", plan.Usage{})
				s.show()
				if strings.Count(s.text(), "a whole sentence") != 1 || strings.Count(s.text(), "discarded") != 1 {
					t.Errorf("the second answer:\n%s", s.text())
				}
			})
		})
	}
}

func TestScreenHidesVerdictsJSON(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, 60, nil)
		defer s.Close()
		for _, phase := range []plan.Phase{plan.Review, plan.Explore} {
			s.story.begin(phase, 1, "c"+string(phase), "m")
			s.story.ask()
			s.story.answer(0, "Words of "+string(phase)+", with one in braces that begins a row:\t{T and more} on\nand more.\n{\"verdict\":\"DONE "+string(phase)+"\"}\n", plan.Usage{})
		}
		s.show()
		got := s.text()
		if strings.Count(got, "\n    {T and more} on\n    and more.\n") != 2 || strings.Contains(got, "DONE review") {
			t.Errorf("a review's JSON is shown, or its words are not:\n%s", got)
		}
		if !strings.Contains(got, `{"verdict":"DONE explore"}`) {
			t.Errorf("JSON outside a review is missing:\n%s", got)
		}
	})
}

func TestScreenFollowsTheWidth(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, 80, nil)
		defer s.Close()
		s.story.begin(plan.Explore, 1, "c1", "m")
		s.story.ask()
		s.story.add(0, plan.MessageUpdate{Kind: plan.BlockText, Text: strings.Repeat("word ", 12)})
		s.show()
		s.pass(frameTime)
		before := strings.Count(s.text(), "\n")
		for _, columns := range []int{50, 33, 20, 45, 80, 30, 100} {
			s.resize(columns)
			s.pass(frameTime)
			if n := strings.Count(s.text(), "answering"); n != 1 && columns > 30 {
				t.Errorf("at %d columns there are %d status lines:\n%s", columns, n, s.text())
			}
		}
		s.resize(80)
		s.pass(frameTime)
		// The heading was broken for good; the live part was not.
		if after := strings.Count(s.text(), "\n"); after > before+4 {
			t.Errorf("resizing left rows behind:\n%s", s.text())
		}
	})
}

func TestScreenIsQuietWhenNothingChanges(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, 80, nil)
		defer s.Close()
		s.story.add(0, plan.Parked{Reason: plan.ParkLimit})
		s.show()
		wrote := s.wrote
		s.pass(time.Minute)
		if s.wrote != wrote {
			t.Errorf("%d writes in a minute in which nothing happened", s.wrote-wrote)
		}
	})
}

func TestScreenKeepsSubAgentsApart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, 80, nil)
		defer s.Close()
		s.story.begin(plan.Explore, 1, "c1", "m")
		s.story.ask()
		s.show()
		child := func(text string) {
			s.story.conv = "c2"
			s.story.answer(0, text, plan.Usage{})
			s.story.call(time.Millisecond, "read", `{"path":"child.go"}`, plan.ToolEnd{})
			for i := range s.story.events {
				s.story.events[i].Parent = "c1"
			}
			s.show()
			s.story.conv = "c1"
		}
		child("words of a child")
		s.story.add(0, plan.MessageUpdate{Kind: plan.BlockText, Text: "The parent says "})
		s.show()
		child("more words of a child")
		s.story.answer(0, "The parent says something.", plan.Usage{})
		s.story.events = s.story.events[len(s.story.events)-2:] // without the pieces
		s.show()
		got := s.text()
		if strings.Contains(got, "words of a child") || !strings.Contains(got, "\n    ✓ read        child.go") {
			t.Errorf("a sub-agent's words are shown, or its call is not:\n%s", got)
		}
		if !strings.Contains(got, "\n    The parent says something.\n") {
			t.Errorf("the parent's text is not in one piece:\n%s", got)
		}
	})
}

func TestScreenStartsFromWhatCameBefore(t *testing.T) {
	t.Parallel()
	var before Tally
	for _, e := range wholeStory().events[:30] {
		before.Add(e)
	}
	tokens := before.Usage.Tokens()
	if tokens == 0 {
		t.Fatal("nothing was spent before")
	}
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, 80, func(o *Options) { o.Before = &before })
		defer s.Close()
		s.story.begin(plan.Plan, 1, "c2", "m")
		s.story.answer(0, "", plan.Usage{Input: 1000})
		s.show()
		s.pass(time.Second)
		if want := Tokens(tokens+1000) + " tok"; !strings.Contains(s.bottom(1), want) {
			t.Errorf("the status is %q, want %s", s.bottom(1), want)
		}
	})
	if before.Usage.Tokens() != tokens {
		t.Error("the viewer changed the tally it was given")
	}
}

// It is not parallel, so that only its own goroutines can be left over.
func TestScreenStopsItsGoroutine(t *testing.T) { //nolint:paralleltest // see above
	ignore := goleak.IgnoreCurrent()
	v := NewScreen(io.Discard, Options{})
	showAll(v, wholeStory().events)
	feed, stop := NewPump(NewScreen(io.Discard, Options{}), Patience)
	feed(wholeStory().events[0])
	stop()
	if err := v.Close(); err != nil {
		t.Fatal(err)
	}
	goleak.VerifyNone(t, ignore)
}
