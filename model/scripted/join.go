package scripted

import (
	"fmt"
	"reflect"
	"strings"
)

// LoadAll reads scenario files as one: the replies of all, in order, the longest
// delay, and the ways of the server from the one file that has them.
func LoadAll(files []string) (*Scenario, error) {
	var names []string
	joined := &Scenario{}
	for _, file := range files {
		s, err := Load(file)
		if err != nil {
			return nil, err
		}
		if s.Name != "" {
			names = append(names, s.Name)
		}
		if !reflect.ValueOf(s.Server).IsZero() {
			if !reflect.ValueOf(joined.Server).IsZero() {
				return nil, fmt.Errorf(
					"%s has a [server] table, as a file before it has: one server has one; take the other out",
					file,
				)
			}
			joined.Server = s.Server
		}
		joined.Delay = max(joined.Delay, s.Delay)
		joined.Replies = append(joined.Replies, s.Replies...)
	}
	joined.Name = strings.Join(names, ", ")
	return joined, nil
}
