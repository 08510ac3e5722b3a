package main

import (
	"encoding/json"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/plan-engine/plan/model/scripted"
)

// cmdPrefixes fails the script unless each request that its model got begins
// with all messages of the request before it in the same attempt of a phase:
// that is what a provider's cache, and a model's memory, rest on.
func cmdPrefixes(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: prefixes")
	}
	type request struct {
		Messages []json.RawMessage
		Tools    json.RawMessage
	}
	last := map[string]request{}
	for i, seen := range (*ts.Value(serverKey{}).(**scripted.Server)).Requests() {
		var now request
		ts.Check(json.Unmarshal(seen.Body, &now))
		key := seen.Header.Get("X-Plan-Run") + seen.Header.Get("X-Plan-Phase") + seen.Header.Get("X-Plan-Attempt")
		before, ok := last[key]
		last[key] = now
		if !ok {
			continue
		}
		if len(now.Messages) < len(before.Messages) || string(now.Tools) != string(before.Tools) {
			ts.Fatalf("request %d (%s) is shorter than the one before it, or has other tools", i+1, key)
		}
		for n, m := range before.Messages {
			if string(m) != string(now.Messages[n]) {
				ts.Fatalf("request %d (%s): message %d is not what it was:\n%s\n%s", i+1, key, n+1, m, now.Messages[n])
			}
		}
	}
}
