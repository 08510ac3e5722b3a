package config

import (
	"cmp"
	"reflect"
	"slices"
)

// over lays the set fields of top over base: structs field by field, maps key
// by key, and every other value whole. Neither argument is changed.
func over[T any](base, top T) T {
	out := base
	lay(reflect.ValueOf(&out).Elem(), reflect.ValueOf(top))
	return out
}

func lay(dst, src reflect.Value) {
	switch {
	case src.IsZero():
	case isGroup(src.Type()):
		for i := range src.NumField() {
			lay(dst.Field(i), src.Field(i))
		}
	case src.Kind() == reflect.Map:
		merged := reflect.MakeMap(src.Type())
		for iter := dst.MapRange(); iter.Next(); {
			merged.SetMapIndex(iter.Key(), iter.Value())
		}
		for iter := src.MapRange(); iter.Next(); {
			value := reflect.New(src.Type().Elem()).Elem()
			if old := dst.MapIndex(iter.Key()); old.IsValid() {
				value.Set(old)
			}
			lay(value, iter.Value())
			merged.SetMapIndex(iter.Key(), value)
		}
		dst.Set(merged)
	default:
		dst.Set(src)
	}
}

// isGroup reports whether a type is a table of settings and not a value.
func isGroup(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && t != reflect.TypeFor[Duration]()
}

// leaves calls visit for every set value of a group, with its dotted key. Tables
// whose keys are no settings, such as headers, are not looked into.
func leaves(group reflect.Value, prefix string, visit func(key string, value reflect.Value, tag reflect.StructTag)) {
	for i := range group.NumField() {
		field, value := group.Type().Field(i), group.Field(i)
		key := prefix + tomlName(field)
		switch {
		case value.IsZero():
		case isGroup(field.Type):
			leaves(value, key+".", visit)
		case field.Type.Kind() == reflect.Map && !isGroup(field.Type.Elem()):
		case field.Type.Kind() == reflect.Map:
			for _, name := range sortedKeys(value) {
				leaves(value.MapIndex(name), key+"."+name.String()+".", visit)
			}
		default:
			visit(key, reflect.Indirect(value), field.Tag)
		}
	}
}

func sortedKeys(m reflect.Value) []reflect.Value {
	return slices.SortedFunc(slices.Values(m.MapKeys()), func(a, b reflect.Value) int {
		return cmp.Compare(a.String(), b.String())
	})
}
