package arguments

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
)

// The drafts that the library judges by, as it wants them called.
const (
	draft07   = "http://json-schema.org/draft-07/schema#"
	draft2020 = "https://json-schema.org/draft/2020-12/schema"
)

// dialect is what the draft that a schema names says otherwise than the draft it
// is read by.
type dialect struct {
	read string // draft07 or draft2020
	id   string // the keyword that gives a part a name
	// flags: exclusiveMinimum and exclusiveMaximum are true or false.
	flags bool
	// lists: items may be a list, which the draft it is read by does not know.
	lists bool
}

// dialectOf is how to read a schema of a draft. One that names none is of the
// latest.
func dialectOf(name string) (dialect, error) {
	_, plain, _ := strings.Cut(strings.TrimSuffix(name, "#"), "://")
	switch plain {
	case "json-schema.org/draft-04/schema":
		return dialect{read: draft07, id: "id", flags: true}, nil
	case "json-schema.org/draft-06/schema", "json-schema.org/draft-07/schema":
		return dialect{read: draft07, id: "$id"}, nil
	case "json-schema.org/draft/2019-09/schema":
		return dialect{read: draft2020, id: "$id", lists: true}, nil
	case "json-schema.org/draft/2020-12/schema":
		return dialect{read: draft2020, id: "$id"}, nil
	}
	if name == "" {
		return dialect{read: draft2020, id: "$id"}, nil
	}
	return dialect{}, fmt.Errorf("its draft %q is none of 04, 06, 07, 2019-09 and 2020-12", name)
}

// part is a schema inside a schema, or the whole of it.
type part struct {
	schema map[string]any
	path   string // from the root, as a JSON pointer
	base   string // the name of the nearest schema around it that has one
}

// translator rewrites a schema, in place, into one of the two drafts that the
// library knows, in which every reference is a path from the root. So neither
// judging nor mending has to know of names and of older words.
type translator struct {
	dialect
	parts   []part
	places  map[string]string // by name, the path of a part
	dynamic map[string]int    // by name, how many parts a dynamic reference may mean
}

// translate returns the schema and the draft it is now of.
func translate(root any) (any, string, error) {
	whole, ok := root.(map[string]any)
	if !ok {
		return root, draft2020, nil
	}
	name, _ := whole["$schema"].(string)
	d, err := dialectOf(name)
	if err != nil {
		return nil, "", err
	}
	t := translator{
		dialect: d,
		places:  map[string]string{"": ""},
		dynamic: map[string]int{},
	}
	if err := t.collect(root, "", "", true); err != nil {
		return nil, "", err
	}
	for _, p := range t.parts {
		if err := t.rewrite(p); err != nil {
			return nil, "", err
		}
	}
	return root, d.read, nil
}

// collect finds all that may be a schema in v. In a value, as a default is one, a
// keyword is no keyword; where a schema goes by names of fields, a name is none
// either.
func (t *translator) collect(v any, path, base string, keywords bool) (err error) {
	switch v := v.(type) {
	case []any:
		for i, element := range v {
			if err := t.collect(element, path+"/"+strconv.Itoa(i), base, keywords); err != nil {
				return err
			}
		}
	case map[string]any:
		if keywords {
			if base, err = t.name(v, path, base); err != nil {
				return err
			}
			t.parts = append(t.parts, part{
				schema: v,
				path:   path,
				base:   base,
			})
		}
		for key, inner := range v {
			at := path + "/" + escapePointer(key)
			if err := t.collectUnder(key, inner, at, base, keywords); err != nil {
				return err
			}
		}
	}
	return nil
}

// collectUnder is collect for what a schema has under a keyword.
func (t *translator) collectUnder(keyword string, inner any, path, base string, keywords bool) error {
	named, isNames := inner.(map[string]any)
	if !keywords || !isNames || !holdsNames(keyword) {
		return t.collect(inner, path, base, keywords && !holdsValue(keyword))
	}
	for field, schema := range named {
		if err := t.collect(schema, path+"/"+escapePointer(field), base, true); err != nil {
			return err
		}
	}
	return nil
}

// name notes by which names a schema can be referred to, takes them out of it,
// and returns the name that those inside it are relative to.
func (t *translator) name(s map[string]any, path, base string) (string, error) {
	if id, ok := s[t.id].(string); ok {
		delete(s, t.id)
		full, fragment, err := resolveURI(base, id)
		if err != nil {
			return "", err
		}
		if fragment == "" {
			base = full
		}
		t.places[join(full, fragment)] = path
	}
	for _, key := range []string{"$anchor", "$dynamicAnchor"} {
		if anchor, ok := s[key].(string); ok {
			delete(s, key)
			t.places[join(base, anchor)] = path
			if key == "$dynamicAnchor" {
				t.dynamic[anchor]++
			}
		}
	}
	if s["$recursiveAnchor"] == true {
		t.dynamic[""]++
	}
	delete(s, "$recursiveAnchor")
	return base, nil
}

// rewrite puts the words of a part into those of the draft it is read by.
func (t *translator) rewrite(p part) error {
	s := p.schema
	delete(s, "$schema")
	for _, key := range []string{"$ref", "$dynamicRef", "$recursiveRef"} {
		if err := t.rewriteRef(s, key, p.base); err != nil {
			return err
		}
	}
	for _, key := range []string{"Minimum", "Maximum"} {
		exclusive, bound := "exclusive"+key, strings.ToLower(key)
		flag, ok := s[exclusive].(bool)
		if !ok || !t.flags {
			continue
		}
		delete(s, exclusive)
		if limit, ok := s[bound]; ok && flag {
			s[exclusive] = limit
			delete(s, bound)
		}
	}
	if list, ok := s["items"].([]any); ok && t.lists {
		delete(s, "items")
		s["prefixItems"] = list
		if rest, ok := s["additionalItems"]; ok {
			s["items"] = rest
		}
	}
	return nil
}

// rewriteRef makes the reference under a keyword a path from the root.
func (t *translator) rewriteRef(s map[string]any, key, base string) error {
	ref, ok := s[key].(string)
	if !ok {
		return nil
	}
	delete(s, key)
	full, fragment, err := resolveURI(base, ref)
	if err != nil {
		return err
	}
	if key != "$ref" && t.dynamic[fragment] > 1 {
		return fmt.Errorf("the reference %q is a dynamic one, which may mean several places", ref)
	}
	path, ok := t.place(full, fragment)
	if !ok {
		return fmt.Errorf("the reference %q is not a place in it", ref)
	}
	if _, twice := s["$ref"]; twice {
		return fmt.Errorf("the reference %q stands beside another one", ref)
	}
	s["$ref"] = "#"
	if path != "" {
		s["$ref"] = (&url.URL{Fragment: path}).String()
	}
	return nil
}

// place is the path that a name means; a fragment is a path below it, or the name
// of a part.
func (t *translator) place(full, fragment string) (path string, ok bool) {
	if fragment == "" || strings.HasPrefix(fragment, "/") {
		path, ok = t.places[full]
		return path + fragment, ok
	}
	path, ok = t.places[join(full, fragment)]
	return path, ok
}

// resolveURI takes a name apart that is relative to another one.
func resolveURI(base, name string) (full, fragment string, err error) {
	around, err := url.Parse(base)
	if err != nil {
		return "", "", fmt.Errorf("the name %q: %w", base, err)
	}
	u, err := url.Parse(name)
	if err != nil {
		return "", "", fmt.Errorf("the name %q: %w", name, err)
	}
	fragment = u.Fragment
	if u.Fragment, u.RawFragment = "", ""; u.String() == "" {
		return base, fragment, nil
	}
	return around.ResolveReference(u).String(), fragment, nil
}

func join(full, fragment string) string {
	if fragment == "" {
		return full
	}
	return full + "#" + fragment
}

func escapePointer(key string) string { return strings.NewReplacer("~", "~0", "/", "~1").Replace(key) }
