package plan

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// slowly reads a line in the way that works for every order of its fields.
func slowly(line []byte) (Event, error) {
	var e Event
	var env envelope
	if err := json.Unmarshal(line, &env); err != nil {
		return e, err
	}
	return e, e.read(env)
}

// FuzzReadingOwnLines: the short way gives what the long way gives, or leaves
// the line to it.
func FuzzReadingOwnLines(f *testing.F) {
	const head = `{"v":1,"run":"R1","seq":3,"time":"2026-01-02T03:04:05Z","conv":"c1","turn":0,"type":`
	for _, rest := range []string{
		`"report","data":{"text":"x,\"data\":{\"y\":1}"}}`, `"weather","data":{"sun": true}}`, `"weather","data": [1, 2] }`,
		`"report","data":{"text":"a"},"x":1}`, `"report","data":{"text":"a"},"data":{"text":"b"}}`, `"report","data":{"text":"a"},"type":"plan"}`,
		`"report","x":{"a":1,"data":{"text":"a"}}}`, `"report","x":{"a":1,"data":{"text":"a"}},"data":{"text":"b"}}`,
		`"report","data":null}`, `"report","data":}`, `"weather","data":}`, `"weather","data":1,"x":2}`, `"report","DATA":{"text":"a"}}`,
		`"report","Data":{"text":"a"},"data":{"text":"b"}}`, `"report","data":{"text":"b"},"Data":{"text":"a"}}`, `"report"}`,
		`"report","data":{"text":"a"}}}`, `"report","data":{"text":"a"}`, `"report","data":"{\"text\":\"a\"}"}`,
		"\"report\",\"data\":{\"text\":\"\xff\"}}",
	} {
		f.Add([]byte(head + rest))
	}
	f.Add([]byte(`{"data":{}}`))
	f.Add([]byte(`,"data":`))
	f.Fuzz(func(t *testing.T, line []byte) {
		var short Event
		if !short.readOwn(line) {
			return
		}
		long, err := slowly(line)
		if err != nil {
			t.Fatalf("the long way says %v, the short way %+v", err, short)
		}
		if diff := cmp.Diff(long, short); diff != "" {
			t.Fatalf("(-long +short):\n%s", diff)
		}
	})
}

func TestOwnLinesAreReadTheShortWay(t *testing.T) {
	t.Parallel()
	for _, body := range []Body{Report{Text: `a ,"data": b`}, Unknown{Kind: "weather", Raw: []byte(`{"a":{"data":1,"b":2}}`)}} {
		line, err := Event{Run: "R1", Body: body}.AppendJSON(nil)
		if err != nil {
			t.Fatal(err)
		}
		var e Event
		if !e.readOwn(line) {
			t.Errorf("not: %s", line)
		}
	}
	whole := Event{
		Run: "R1", Seq: 12, Time: time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC), Job: "j", Conv: "c2", Parent: "c1", Phase: Plan, Attempt: 2,
		Turn: new(int), Body: Report{},
	}
	line, err := whole.AppendJSON(nil)
	if err != nil {
		t.Fatal(err)
	}
	head, _, _ := bytes.Cut(line, []byte(`,"data"`))
	if env, ok := scanEnvelope(head); !ok || env.Seq != 12 || env.Turn == nil || env.Type != TypeReport || !env.Time.Equal(whole.Time) {
		t.Errorf("%s is read as %+v, %v", head, env, ok)
	}
}
