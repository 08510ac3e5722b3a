// Package planted fills values with a text by reflection, for tests of what becomes of
// each field, also of those that are still to come.
package planted

import (
	"encoding/json"
	"errors"
	"reflect"
	"time"
)

// Fill sets every field of a value, the texts to a text. Slices and maps get entries,
// functions return filled values.
func Fill(v reflect.Value, text string) { fill(v, text, 0) }

// deepest is how far values within values are filled.
const deepest = 12

func fill(v reflect.Value, text string, depth int) {
	if !v.CanSet() || depth > deepest {
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(2)
	case reflect.Float64:
		v.SetFloat(2)
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(time.Unix(1, 0)))
			return
		}
		for i := range v.NumField() {
			fill(v.Field(i), text, depth+1)
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), text, depth+1)
	case reflect.Slice:
		switch v.Type() {
		case reflect.TypeFor[json.RawMessage]():
			data, err := json.Marshal(map[string]string{"command": text, "path": text, text: text})
			if err != nil {
				panic(err)
			}
			v.SetBytes(data)
			return
		case reflect.TypeFor[[]byte]():
			v.SetBytes([]byte(text))
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(v.Index(0), text, depth+1)
		fill(v.Index(1), text, depth+1)
	case reflect.Map:
		key, elem := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key, text, depth+1)
		fill(elem, text, depth+1)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, elem)
	case reflect.Interface:
		if v.Type() == reflect.TypeFor[error]() {
			v.Set(reflect.ValueOf(errors.New(text)))
		}
	case reflect.Func:
		v.Set(reflect.MakeFunc(v.Type(), func([]reflect.Value) []reflect.Value {
			out := make([]reflect.Value, v.Type().NumOut())
			for i := range out {
				out[i] = reflect.New(v.Type().Out(i)).Elem()
				fill(out[i], text, depth+1)
			}
			return out
		}))
	}
}
