package scripted_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/plan-engine/plan/model/scripted"
)

func TestMessagesCache(t *testing.T) {
	t.Parallel()
	c := start(t, "[[reply]]\ntext = 'x'\n")
	long := strings.Repeat("0123456789", 40)
	system := `"system":[` + marked(textBlock(long), "1h") + `],`
	usage := func(params string, messages ...string) messageUsage {
		t.Helper()
		_, data, err := c.postAt("/messages", nil, strings.Replace(askMessages(false, messages...), "{", "{"+params, 1))
		var d messageDoc
		if err != nil || json.Unmarshal([]byte(data), &d) != nil || d.Type != "message" {
			t.Fatalf("%v %s", err, data)
		}
		if d.Usage.Written != d.Usage.Parts.Minutes+d.Usage.Parts.Hour {
			t.Errorf("the parts are not the whole: %+v", d.Usage)
		}
		return d.Usage
	}
	first := turnOf("user", marked(textBlock(long), "5m"))
	plain := turnOf("user", textBlock(long))
	next := turnOf("user", marked(textBlock(long+"!"), "5m"))

	a := usage(system, first)
	if a.Read != 0 || a.Parts.Hour < 100 || a.Parts.Minutes < 100 || a.Input != 0 {
		t.Errorf("first: %+v", a)
	}
	b := usage(system, first)
	if b.Read != a.Written || b.Written != 0 || b.Input != 0 {
		t.Errorf("the same again: %+v after %+v", b, a)
	}
	d := usage(system, plain, saidTurn, next)
	if d.Read != a.Written || d.Parts.Hour != 0 || d.Parts.Minutes < 100 || d.Input != 0 {
		t.Errorf("longer, with the breakpoint moved: %+v", d)
	}
	e := usage(system, turnOf("user", textBlock("other")), saidTurn, userTurn)
	if e.Read != a.Parts.Hour || e.Written != 0 || e.Input == 0 {
		t.Errorf("another conversation: %+v", e)
	}
	f := usage(`"thinking":{"type":"adaptive"},`+system, first)
	if f.Read != a.Parts.Hour || f.Parts.Minutes != a.Parts.Minutes {
		t.Errorf("with thinking: %+v", f)
	}
	g := usage("", plain)
	if g.Read != 0 || g.Written != 0 || g.Input < 100 {
		t.Errorf("without breakpoints: %+v", g)
	}
	h := usage(`"cache_control":{"type":"ephemeral"},`, turnOf("user", textBlock(long+"?")))
	if h.Parts.Minutes < 100 || h.Input != 0 {
		t.Errorf("automatic: %+v", h)
	}
}

// With a clock, prompts are kept for as long as they say.
func TestMessagesCacheEnds(t *testing.T) {
	t.Parallel()
	s, err := scripted.Parse([]byte("[[reply]]\ntext = 'x'\n"))
	if err != nil {
		t.Fatal(err)
	}
	var now atomic.Int64 // seconds
	now.Store(1000)
	srv, err := scripted.Start(t.Context(), s, scripted.Config{Now: func() time.Time { return time.Unix(now.Load(), 0) }})
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	c := &client{t: t, srv: srv, http: &http.Client{Transport: &http.Transport{}}}
	defer c.http.CloseIdleConnections()
	body := strings.Replace(askMessages(false, turnOf("user", marked(textBlock("question"), "5m"))),
		"{", `{"system":[`+marked(textBlock("system"), "1h")+`],`, 1)
	for i, tt := range []struct {
		wait                int64 // seconds
		read, minutes, hour bool  // tokens of these kinds are counted
	}{
		{0, false, true, true},
		{299, true, false, false},
		{299, true, false, false}, // each use keeps it for as long again
		{301, true, true, false},
		{3601, false, true, true},
	} {
		now.Add(tt.wait)
		_, data, err := c.postAt("/messages", nil, body)
		var d messageDoc
		if err != nil || json.Unmarshal([]byte(data), &d) != nil {
			t.Fatalf("%v %s", err, data)
		}
		if u := d.Usage; (u.Read > 0) != tt.read || (u.Parts.Minutes > 0) != tt.minutes || (u.Parts.Hour > 0) != tt.hour {
			t.Errorf("%d: %+v, want %+v", i, u, tt)
		}
	}
}
