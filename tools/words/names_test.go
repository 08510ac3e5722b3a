package words_test

import (
	"strings"
	"testing"

	"github.com/plan-engine/plan/tools/words"
)

// TestDefined: the names behind the words are those that look as if they were defined,
// in the languages that symbols knows, and not those that are only used.
func TestDefined(t *testing.T) {
	t.Parallel()
	var x words.Extractor
	for text, want := range map[string]struct{ defined, used string }{
		"func Load(ctx X) error {\n\treturn save(ctx)\n}":         {"Load", "save"},
		"func (c *Config) Load() {}":                              {"Load", ""},
		"def load(self):\n    return save(self)\n":                {"load", "save"},
		"class Page {\n  render(args) {\n    draw(args);\n  }\n}": {"Page render", "draw"},
		"res.send = function () { emit(1) }":                      {"send", "emit"},
		"export const load = () => save()":                        {"load", "save"},
		"module.exports = { load: one, keep }":                    {"load", "one"},
		"Object.defineProperty(req, 'fresh', {":                   {"fresh", ""},
		"defineGetter(req, 'protocol', function(){":               {"protocol", ""},
		"public void load(int a) { save(a); }":                    {"load", "save"},
		"int load(void) {\n  save();\n}":                          {"load", "save"},
		"fn load() -> u8 { save() }":                              {"load", ""},
		"void Page::draw(int a) {":                                {"draw", ""},
		"// load does what save does\nx()":                        {"", "load save x"},
		"# load does\nx()":                                        {"", "load x"},
		"#define LOAD 1":                                          {"LOAD", ""},
		"type T struct {\n\tLoad func()\n\tSave *Page\n}":         {"Load Save", ""},
		"type T struct {\n\t*Page\n\tio.Closer\n\tio.run()\n}":    {"Page Closer", "run"},
		"class User(Base, metaclass=Meta):\n    show(self)\n":     {"User Base Meta", "show"},
		"class A extends B implements C { run(D) }":               {"A B C", ""},
		"r = new Task() {\n  run() {}\n}":                         {"Task", ""},
		"r = new Task(load)":                                      {"", "Task load"},
		"a == b":                                                  {"", "a"},
		"load\t=\t1":                                              {"load", ""},
		"for x in load(save(1)): pass":                            {"", "load"},
	} {
		names := string(words.Defined(x.Index([]byte(text))))
		for name := range strings.FieldsSeq(want.defined) {
			if !strings.Contains(names, "\n"+name+"\n") {
				t.Errorf("%q: %s is not among the names %q", text, name, names)
			}
		}
		for name := range strings.FieldsSeq(want.used) {
			if strings.Contains(names, "\n"+name+"\n") {
				t.Errorf("%q: %s is among the names %q", text, name, names)
			}
		}
	}
	if words.Defined([]byte("\na\n")) != nil {
		t.Error("words alone have names")
	}
}
