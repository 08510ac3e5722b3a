package chat

import (
	"fmt"
	"testing"

	"github.com/plan-engine/plan/model/wire"
	"github.com/plan-engine/plan/model/wire/wiretest"
)

// BenchmarkRequest is what building a request costs with a short and a long
// history of reads. Each sends the whole history; what was said before has been
// encoded before, unless a client is new, which encodes all of it.
func BenchmarkRequest(b *testing.B) {
	for _, turns := range []int{20, 200} {
		b.Run(fmt.Sprint(turns), func(b *testing.B) {
			client := newClient(b)
			wiretest.Encode(b, wiretest.History(turns), nil, func() wire.Protocol { return client })
		})
		b.Run(fmt.Sprint(turns, "-anew"), func(b *testing.B) {
			wiretest.Encode(b, wiretest.History(turns), nil, func() wire.Protocol { return newClient(b) })
		})
	}
}

func newClient(b *testing.B) *protocol {
	client, err := newProtocol(Config{})
	if err != nil {
		b.Fatal(err)
	}
	return client
}
