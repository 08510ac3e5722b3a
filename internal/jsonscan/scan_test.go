package jsonscan_test

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan/internal/jsonscan"
)

type inner struct {
	Name string `json:"name"`
}

type sample struct {
	inner
	Text  string            `json:"text"`
	Count int64             `json:"count,omitempty"`
	Share float64           `json:"share,omitempty"`
	On    bool              `json:"on"`
	At    *time.Time        `json:"at,omitempty"`
	List  []inner           `json:"list,omitempty"`
	Names map[string]string `json:"names,omitempty"`
	Raw   json.RawMessage   `json:"raw,omitempty"`
}

// TestReadIsUnmarshalOrNothing: what is read is what encoding/json reads, and
// what encoding/json writes is read.
func TestReadIsUnmarshalOrNothing(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		data string
		read bool
	}{
		{`{"name":"n","text":"a\n\u00e9","count":-3,"share":0.5,"on":true}`, true},
		{`{"name":"","text":"","on":false,"at":"2026-01-02T03:04:05Z","list":[{"name":"x"}],"names":{"a":"b"},"raw":{"k":[1]}}`, true},
		{`{"text":"fields may be left out"}`, true},
		{`{"text":"a", "on":true}`, false},
		{`{"on":true,"text":"another order"}`, false},
		{`{"text":"a","text":"b"}`, false},
		{`{"TEXT":"a"}`, false},
		{`{"text":"a","unknown":1}`, false},
		{`{"share":1e3}`, false},
		{`{"text":"cut`, false},
		{`null`, false},
	} {
		form := jsonscan.FormOf(reflect.TypeFor[sample]())
		var got, want sample
		if read := form.Read(c.data, reflect.ValueOf(&got).Elem()); read != c.read {
			t.Errorf("%s: read is %v", c.data, read)
		}
		if !c.read {
			continue
		}
		if err := json.Unmarshal([]byte(c.data), &want); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(sample{})); diff != "" {
			t.Errorf("%s (-encoding/json +scanner):\n%s", c.data, diff)
		}
	}
}

func TestTypesThatAreNotReadByTheirFields(t *testing.T) {
	t.Parallel()
	type twice struct {
		A string `json:"a"`
		B string `json:"A"`
	}
	for _, typ := range []reflect.Type{
		reflect.TypeFor[time.Time](),
		reflect.TypeFor[[]string](),
		reflect.TypeFor[twice](),
		reflect.TypeFor[struct{ Untagged string }](),
	} {
		if jsonscan.FormOf(typ).ByFields() {
			t.Errorf("%s is", typ)
		}
	}
}
