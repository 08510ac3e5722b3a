package main

import (
	"iter"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/face/render"
)

// transcript shows what was said to and by the model, and every call with its
// result.
func (a *app) transcript(events iter.Seq2[plan.Event, error], id plan.RunID) error {
	if !a.json {
		return failed(render.UnlessReaderLeft(render.WriteTranscript(a.out, events, a.viewing())))
	}
	said := []render.Utterance{}
	for ev, err := range events {
		if err != nil {
			return failed(err)
		}
		if u, ok := render.UtteranceOf(ev); ok {
			said = append(said, u)
		}
	}
	return a.document(map[string]any{"id": id, "messages": said})
}
