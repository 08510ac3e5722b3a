package plan

import (
	"encoding"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
)

// reading is how a scanner reads a value.
type reading int

const (
	asAny reading = iota // as encoding/json does
	asText
	asFlag
	asNumber
	asFraction
	asRaw
	asNames // a map of strings
	asPointer
	asList
	asStruct
)

// form is how a scanner reads a type.
type form struct {
	kind   reading
	elem   *form   // of what a pointer points to, or a list holds
	fields []field // of a struct, in their order
}

// field is a field of a struct, or of one that is embedded in it.
type field struct {
	name  string
	index []int
	form  *form
}

// formOf works out how a type is read: as encoding/json would, or not at all.
func formOf(t reflect.Type) *form {
	switch t {
	case reflect.TypeFor[json.RawMessage]():
		return &form{kind: asRaw}
	case reflect.TypeFor[map[string]string]():
		return &form{kind: asNames}
	case reflect.TypeFor[Block](),
		reflect.TypeFor[Message](),
		reflect.TypeFor[MessageEnd](): // their methods add what is in no field
		return structForm(t)
	}
	for _, own := range []reflect.Type{reflect.TypeFor[json.Unmarshaler](), reflect.TypeFor[encoding.TextUnmarshaler]()} {
		if t.Implements(own) || reflect.PointerTo(t).Implements(own) {
			return &form{}
		}
	}
	switch t.Kind() {
	case reflect.String:
		return &form{kind: asText}
	case reflect.Bool:
		return &form{kind: asFlag}
	case reflect.Int, reflect.Int64:
		return &form{kind: asNumber}
	case reflect.Float64:
		return &form{kind: asFraction}
	case reflect.Pointer:
		return &form{kind: asPointer, elem: formOf(t.Elem())}
	case reflect.Slice:
		if t.Elem().Kind() != reflect.Uint8 { // which are base64
			return &form{kind: asList, elem: formOf(t.Elem())}
		}
	case reflect.Struct:
		return structForm(t)
	}
	return &form{}
}

// structForm is the form of a struct with tagged fields. Where a name is used
// twice, encoding/json has rules that are not repeated here.
func structForm(t reflect.Type) *form {
	f := &form{kind: asStruct}
	if !f.add(t, nil) {
		return &form{}
	}
	return f
}

// add adds the fields of a struct that is at index. It reports false for one
// whose fields are not all that simple.
func (f *form) add(t reflect.Type, index []int) bool {
	for i := range t.NumField() {
		sf, at := t.Field(i), append(slices.Clone(index), i)
		tag, tagged := sf.Tag.Lookup("json")
		name, options, _ := strings.Cut(tag, ",")
		twice := slices.ContainsFunc(f.fields, func(other field) bool { return strings.EqualFold(other.name, name) })
		switch {
		case tag == "-":
		case sf.Anonymous && !tagged && sf.Type.Kind() == reflect.Struct:
			if !f.add(sf.Type, at) {
				return false
			}
		case sf.Anonymous, !sf.IsExported(), name == "", strings.Contains(options, "string"), twice:
			return false
		default:
			f.fields = append(f.fields, field{
				name:  name,
				index: at,
				form:  formOf(sf.Type),
			})
		}
	}
	return true
}
