package config

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"

	"github.com/plan-engine/plan/internal/spell"
)

// place is where a key is given a value, or opens a table.
type place struct {
	key    []string
	line   int
	number bool // the value is a number, a truth or a date
}

// places finds the keys of a document that can be parsed.
func places(data []byte) []place {
	var p unstable.Parser
	p.Reset(data)
	var out []place
	var table []string
	for p.NextExpression() {
		switch e := p.Expression(); e.Kind {
		case unstable.Table, unstable.ArrayTable:
			key, line := keyOf(&p, nil, e)
			table = key
			out = append(out, place{key: key, line: line})
		case unstable.KeyValue:
			out = valuesOf(&p, table, e, out)
		}
	}
	return out
}

// valuesOf adds a key with a value, and those of an inline table below it.
func valuesOf(p *unstable.Parser, table []string, e *unstable.Node, out []place) []place {
	key, line := keyOf(p, table, e)
	pl := place{key: key, line: line}
	switch value := e.Value(); value.Kind {
	case unstable.InlineTable:
		for iter := value.Children(); iter.Next(); {
			out = valuesOf(p, key, iter.Node(), out)
		}
	case unstable.String, unstable.Array:
	default:
		pl.number = true
	}
	return append(out, pl)
}

func keyOf(p *unstable.Parser, table []string, e *unstable.Node) (key []string, line int) {
	key = append(key, table...)
	for iter := e.Key(); iter.Next(); {
		part := iter.Node()
		key = append(key, string(part.Data))
		line = p.Shape(part.Raw).Start.Line
	}
	return key, line
}

// find follows a key down the type of the settings. It returns the type that
// the key names, nil for none, and the keys that are known where the path
// leaves the known.
func find(key []string) (typ reflect.Type, known []string) {
	t := reflect.TypeFor[Config]()
	for _, part := range key {
		for t.Kind() == reflect.Slice {
			t = t.Elem() // a table of a list
		}
		switch {
		case t.Kind() == reflect.Map:
			t = t.Elem()
			continue
		case t.Kind() == reflect.Slice:
			t = t.Elem()
		case t.Kind() == reflect.Interface: // whatever a server takes
			return t, nil
		}
		if !isGroup(t) {
			return nil, nil
		}
		next, names := reflect.Type(nil), []string(nil)
		for i := range t.NumField() {
			name := tomlName(t.Field(i))
			names = append(names, name)
			if strings.EqualFold(name, part) {
				next = t.Field(i).Type
			}
		}
		if next == nil {
			return nil, names
		}
		t = next
	}
	return t, nil
}

// tomlName is the key of a field.
func tomlName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("toml"), ",")
	return name
}

func isKnown(key []string) bool {
	t, _ := find(key)
	return t != nil
}

func isDuration(key []string) bool {
	t, _ := find(key)
	return t == reflect.TypeFor[Duration]()
}

// didYouMean names the known key that an unknown one comes nearest to: beside
// it, or of the same name in a table. It is "" when nothing is near.
func didYouMean(key []string) string {
	for depth := range key {
		t, known := find(key[:depth+1])
		if t != nil {
			continue
		}
		wrong := strings.ReplaceAll(strings.ToLower(key[depth]), "-", "_")
		best, least := "", min(1+max(2, (len(wrong)+1)/3), len(wrong))
		for _, name := range known {
			if d := spell.Distance(wrong, name); d < least {
				best, least = name, d
			}
		}
		if best == "" && depth == 0 && len(key) == 1 {
			best = inTable(wrong)
		}
		if best == "" {
			return ""
		}
		return fmt.Sprintf("; did you mean %s?", strings.Join(append(key[:depth:depth], best), "."))
	}
	return ""
}

// inTable finds a setting by its last name alone.
func inTable(name string) string {
	t := reflect.TypeFor[Config]()
	for i := range t.NumField() {
		group := t.Field(i)
		if !isGroup(group.Type) {
			continue
		}
		for j := range group.Type.NumField() {
			if tomlName(group.Type.Field(j)) == name {
				return tomlName(group) + "." + name
			}
		}
	}
	return ""
}
