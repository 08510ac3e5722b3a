package scripted_test

import (
	"strings"
	"testing"

	"github.com/plan-engine/plan/model/scripted"
)

func TestAddressOfTheWiresThatAreSpoken(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		server string
		want   []string
	}{
		"all": {"", scripted.Wires()},
		"two": {"[server]\nwires = [\"anthropic\", \"chat\"]\n", []string{"chat", "anthropic"}},
	} {
		s, err := scripted.Parse([]byte(tt.server + "[[reply]]\ntext = \"a\"\n"))
		if err != nil {
			t.Fatal(err)
		}
		server, err := scripted.Start(t.Context(), s, scripted.Config{})
		if err != nil {
			t.Fatal(err)
		}
		tables := server.ProviderTables()
		for i, wire := range tt.want {
			head := "[providers.scripted-" + wire + "]\n"
			if i == 0 {
				head = "[providers.scripted]\n"
			}
			if !strings.Contains(tables, head) || string(server.Wires()[i]) != wire {
				t.Errorf("%s: no %s in %s", name, wire, tables)
			}
		}
		if got := strings.Count(tables, "[providers."); got != len(tt.want) {
			t.Errorf("%s: %d tables", name, got)
		}
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	}
}
