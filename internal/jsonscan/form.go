package jsonscan

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

// Form is how a scanner reads a type.
type Form struct {
	kind   reading
	elem   *Form   // of what a pointer points to, or a list holds
	fields []field // of a struct, in their order
}

// field is a field of a struct, or of one that is embedded in it.
type field struct {
	name  string
	index []int
	form  *Form
}

// FormOf works out how a type is read: as encoding/json would, or not at all.
// Types in byFields are structs that are read by their fields although they have
// an UnmarshalJSON, which may only add what is in no field.
func FormOf(t reflect.Type, byFields ...reflect.Type) *Form {
	switch {
	case t == reflect.TypeFor[json.RawMessage]():
		return &Form{kind: asRaw}
	case t == reflect.TypeFor[map[string]string]():
		return &Form{kind: asNames}
	case slices.Contains(byFields, t):
		return structForm(t, byFields)
	}
	for _, own := range []reflect.Type{
		reflect.TypeFor[json.Unmarshaler](),
		reflect.TypeFor[encoding.TextUnmarshaler](),
	} {
		if t.Implements(own) || reflect.PointerTo(t).Implements(own) {
			return &Form{}
		}
	}
	switch t.Kind() {
	case reflect.String:
		return &Form{kind: asText}
	case reflect.Bool:
		return &Form{kind: asFlag}
	case reflect.Int, reflect.Int64:
		return &Form{kind: asNumber}
	case reflect.Float64:
		return &Form{kind: asFraction}
	case reflect.Pointer:
		return &Form{kind: asPointer, elem: FormOf(t.Elem(), byFields...)}
	case reflect.Slice:
		if t.Elem().Kind() != reflect.Uint8 { // which are base64
			return &Form{kind: asList, elem: FormOf(t.Elem(), byFields...)}
		}
	case reflect.Struct:
		return structForm(t, byFields)
	}
	return &Form{}
}

// ByFields reports whether the type is a struct that is read by its fields. Any
// other would be read by encoding/json after all.
func (f *Form) ByFields() bool { return f.kind == asStruct }

// Read reads data into a settable value of the form's type. It reports whether it
// could; if not, the value means nothing and data is for encoding/json.
func (f *Form) Read(data string, into reflect.Value) bool {
	s := New(data)
	s.value(into, f)
	return s.Done()
}

// structForm is the form of a struct with tagged fields. Where a name is used
// twice, encoding/json has rules that are not repeated here.
func structForm(t reflect.Type, byFields []reflect.Type) *Form {
	f := &Form{kind: asStruct}
	if !f.add(t, nil, byFields) {
		return &Form{}
	}
	return f
}

// add adds the fields of a struct that is at index. It reports false for one
// whose fields are not all that simple.
func (f *Form) add(t reflect.Type, index []int, byFields []reflect.Type) bool {
	for i := range t.NumField() {
		sf, at := t.Field(i), append(slices.Clone(index), i)
		tag, tagged := sf.Tag.Lookup("json")
		name, options, _ := strings.Cut(tag, ",")
		twice := slices.ContainsFunc(f.fields, func(other field) bool { return strings.EqualFold(other.name, name) })
		switch {
		case tag == "-":
		case sf.Anonymous && !tagged && sf.Type.Kind() == reflect.Struct:
			if !f.add(sf.Type, at, byFields) {
				return false
			}
		case sf.Anonymous, !sf.IsExported(), name == "", strings.Contains(options, "string"), twice:
			return false
		default:
			f.fields = append(f.fields, field{
				name:  name,
				index: at,
				form:  FormOf(sf.Type, byFields...),
			})
		}
	}
	return true
}
