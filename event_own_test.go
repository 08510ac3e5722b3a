package plan

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan/internal/jsonscan"
)

// slowly reads a line as encoding/json does, with a body of the same type.
func slowly(line []byte, like Body) (Event, error) {
	var env envelope
	if err := json.Unmarshal(line, &env); err != nil {
		return Event{}, err
	}
	body := reflect.New(reflect.TypeOf(like))
	if _, unknown := like.(Unknown); unknown {
		body.Elem().Set(reflect.ValueOf(Unknown{Kind: env.Type, Raw: env.Data}))
	} else if err := json.Unmarshal(env.Data, body.Interface()); err != nil {
		return Event{}, err
	}
	return Event{
		Run: env.Run, Seq: env.Seq, Time: env.Time, Job: env.Job, Conv: env.Conv, Parent: env.Parent,
		Phase: env.Phase, Attempt: env.Attempt, Turn: env.Turn, Body: body.Elem().Interface().(Body),
	}, nil
}

// Scans reports whether the data of an event is read the short way.
func Scans(data string, into Body) bool {
	form := jsonscan.FormOf(reflect.TypeOf(into), byTheirFields...)
	return form.ByFields() && form.Read(data, reflect.New(reflect.TypeOf(into)).Elem())
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
		"\"report\",\"data\":{\"text\":\"\xff\"}}", "\"report\",\"data\":{\"text\":\"\x01\"}}",
		`"report","data":{"text":"\"\\\/\b\f\n\r\t\u00e9\u2028é"}}`, `"report","data":{"text":"\ud83d\ude00"}}`, `"report","data":{"text":"\ud83d"}}`,
		`"report","data":{"text":"\u12"}}`, `"report","data":{"text":"\x"}}`, `"report","data":{"text":"a\`, `"report","data":{"text":"a\"}}`, `"report","data":{"TEXT":"a"}}`,
		`"tool_start","data":{"call":"c","name":"read","args":{"a":[1,"}\\"],"b":null},"effect":"e","intent":{"key":"k","files":[{"path":"p","before":"","after":"x"}],"output":"o"}}}`,
		`"tool_start","data":{"call":"c","name":"read","args": {"a":1} }}`, `"tool_start","data":{"call":"c","args":null,"intent":null}}`, `"tool_start","data":{"args":[}}}`,
		`"tool_end","data":{"call":"c","name":"n","error":true,"output":"o","duration_ms":12,"exit_code":-1,"files":{"a":"b","a":"c"},"terminate":false}}`,
		`"tool_end","data":{"duration_ms":01}}`, `"tool_end","data":{"duration_ms":-0,"exit_code":null,"files":{}}}`, `"tool_end","data":{"duration_ms":1.5}}`,
		`"tool_end","data":{"duration_ms":9223372036854775808}}`, `"tool_end","data":{"name":"n","call":"c"}}`, `"tool_end","data":{"call":"c","call":"d"}}`, `"tool_end","data":{"error":tru}}`,
		`"usage","data":{"model":"m","usage":{"requests":1,"input":2},"cost_usd":0.25,"priced":true}}`, `"usage","data":{"cost_usd":1e-7}}`, `"usage","data":{"cost_usd":.5}}`,
		`"usage","data":{"cost_usd":00.5}}`, `"usage","data":{"cost_usd":1.}}`, `"usage","data":{"cost_usd":-1.5,}}`, `"usage","data":{"usage":null}}`,
		`"message_end","data":{"role":"assistant","blocks":[{"type":"text","text":"a"},{"type":"tool_call","call":"c","args":"{\"p\":1}","opaque":{"x":[]}}],"stop":"stop","model":"m"}}`,
		`"message_end","data":{"role":"tool","blocks":[],"extra":1}}`, `"message_end","data":{"role":"tool","blocks":[{"type":"text","later":1}]}}`, `"message_end","data":{"blocks":null}}`,
		`"message_end","data":{"role":"user","blocks":[{}],"data":{"a":1},"discarded":true}}`, `"plan","data":{"version":1,"text":"t"}}`, `"question","data":{"call":"c","options":["a",null]}}`,
		`"question","data":{"call":"c","options":["a","b"]}}`, `"parked","data":{"reason":"limit","wake_at":"2026-01-02T03:04:05Z"}}`,
	} {
		f.Add([]byte(head + rest))
	}
	f.Add([]byte(`{"v":1,"run":"R1","time":"2026-01-02T03:04:05\u005a","type":"report","data":{"text":"a"}}`))
	f.Add([]byte(`{"data":{}}`))
	f.Add([]byte(`,"data":`))
	f.Fuzz(func(t *testing.T, line []byte) {
		var short Event
		if !short.readOwn(string(line)) {
			return
		}
		long, err := slowly(line, short.Body)
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
		if !e.readOwn(string(line)) {
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
	if env, ok := scanEnvelope(string(head)); !ok || env.Seq != 12 || env.Turn == nil || env.Type != TypeReport || !env.Time.Equal(whole.Time) {
		t.Errorf("%s is read as %+v, %v", head, env, ok)
	}
}
