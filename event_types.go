package plan

import (
	"encoding/json"
	"reflect"
	"slices"
	"sync"

	"github.com/plan-engine/plan/internal/jsonscan"
)

// eventKind says what holds for every event of a type. The file of each subject
// has a list of its own; nothing else in the module lists event types. A face names
// those that it does not show by their headlines.
type eventKind struct {
	name   EventType
	live   bool
	folded bool
	decode func(data string) (Body, error)
}

// live is the kind of an event that is shown and never stored.
func live[T Body]() eventKind {
	k := stored[T]()
	k.live = true
	return k
}

// stored is the kind of an event that tells something and leaves the state of
// its run as it is.
func stored[T Body]() eventKind {
	var zero T
	return eventKind{name: zero.Type(), decode: decoderOf[T]()}
}

// folded is the kind of a stored event that the state of its run is made of:
// package engine has to look at it, or resume would not see it.
func folded[T Body]() eventKind {
	k := stored[T]()
	k.folded = true
	return k
}

// eventKinds lists every kind, by subject. It is read-only.
var eventKinds = slices.Concat(
	runEvents,
	stateEvents,
	parkEvents,
	phaseEvents,
	turnEvents,
	messageEvents,
	toolEvents,
	letterEvents,
	decisionEvents,
	historyEvents,
	modelEvents,
	usageEvents,
	planEvents,
	checkEvents,
	verdictEvents,
	findingEvents,
	treeEvents,
	learningEvents,
)

// kindOf finds the kind of a type. It is read-only.
var kindOf = func() map[EventType]eventKind {
	kinds := make(map[EventType]eventKind, len(eventKinds))
	for _, k := range eventKinds {
		kinds[k.name] = k
	}
	return kinds
}()

// EventTypes lists the types that this version knows, by subject.
func EventTypes() []EventType {
	types := make([]EventType, 0, len(eventKinds))
	for _, k := range eventKinds {
		types = append(types, k.name)
	}
	return types
}

// Live reports whether events of this type are only shown, never stored.
func (t EventType) Live() bool { return kindOf[t].live }

// Folded reports whether the state of a run is made of events of this type. Of
// all others it is known without looking at them.
func (t EventType) Folded() bool { return kindOf[t].folded }

// DecodeBody reads the data of an event of the given type. The body may keep
// parts of it.
func DecodeBody(t EventType, data string) (Body, error) {
	kind, known := kindOf[t]
	if !known {
		return Unknown{Kind: t, Raw: json.RawMessage(data)}, nil
	}
	return kind.decode(data)
}

func decoderOf[T Body]() func(string) (Body, error) {
	form := sync.OnceValue(func() *jsonscan.Form {
		return jsonscan.FormOf(reflect.TypeFor[T](), byTheirFields...)
	})
	return func(data string) (Body, error) {
		var scanned, body T
		if f := form(); f.ByFields() && f.Read(data, reflect.ValueOf(&scanned).Elem()) {
			return scanned, nil
		}
		if err := json.Unmarshal([]byte(data), &body); err != nil {
			return nil, err //nolint:wrapcheck // DecodeBody's caller names the type
		}
		return body, nil
	}
}

// byTheirFields are types with an UnmarshalJSON that only adds what is in no
// field. It is read-only.
var byTheirFields = []reflect.Type{
	reflect.TypeFor[Block](),
	reflect.TypeFor[Message](),
	reflect.TypeFor[MessageEnd](),
}
