package responses_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/plan-engine/plan/loop"
	"github.com/plan-engine/plan/loop/looptest"
	"github.com/plan-engine/plan/model/wire/wiretest"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	for name, whole := range map[string]bool{"streamed": false, "plain": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			looptest.Run(t, func(t *testing.T, s looptest.Scenario) loop.Model {
				p := &player{scenario: s, whole: whole}
				f := wiretest.Serve(t, p.answer)
				t.Cleanup(f.CloseClientConnections)
				return clientOf(t, f)
			})
		})
	}
}

// player plays a scenario as OpenAI would.
type player struct {
	scenario looptest.Scenario
	whole    bool // answers that have no fault are documents
	mu       sync.Mutex
	struck   map[int]int // how often the fault of a reply has struck
}

type inputItem struct {
	Type      string  `json:"type"`
	Role      string  `json:"role"`
	ID        string  `json:"id"`
	CallID    string  `json:"call_id"`
	Encrypted string  `json:"encrypted_content"`
	Summary   []any   `json:"summary"`
	Output    *string `json:"output"`
}

func (p *player) answer(w http.ResponseWriter, r *http.Request, _ int, body string) {
	var req struct {
		Input   []inputItem `json:"input"`
		Store   *bool       `json:"store"`
		Stream  bool        `json:"stream"`
		Include []string    `json:"include"`
	}
	if err := json.Unmarshal([]byte(body), &req); err != nil || req.Store == nil || *req.Store || !req.Stream {
		http.Error(w, "not a request of this wire: "+body, http.StatusBadRequest)
		return
	}
	n, problem := place(req.Input)
	if problem != "" || n >= len(p.scenario.Replies) {
		http.Error(w, fmt.Sprintf("reply %d: %s", n, problem), http.StatusBadRequest)
		return
	}
	reply := p.scenario.Replies[n]
	fault := p.strike(n, reply.Fault)
	if fault != nil && fault.Kind == looptest.FaultStatus {
		if fault.RetryAfter > 0 {
			w.Header().Set("Retry-After", fmt.Sprint(int(fault.RetryAfter/time.Second)))
		}
		w.WriteHeader(fault.Status)
		fmt.Fprintf(w, `{"error":{"message":"the test wants it so","type":"server_error","code":%q}}`, fault.Code)
		return
	}
	play(w, r, reply, fault, n, p.whole)
}

// strike is the fault of a reply, as often as it is to strike.
func (p *player) strike(n int, fault *looptest.Fault) *looptest.Fault {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.struck == nil {
		p.struck = map[int]int{}
	}
	if fault == nil || p.struck[n] >= fault.Times {
		return nil
	}
	p.struck[n]++
	return fault
}

// place counts the replies that came before, and checks what a server checks.
func place(input []inputItem) (n int, problem string) {
	open := map[string]bool{}
	for i, it := range input {
		output := it.Type == "reasoning" || it.Type == "function_call" || it.Role == "assistant"
		switch {
		case it.Type == "reasoning":
			if it.Encrypted != "sealed-"+it.ID || it.Summary == nil {
				return 0, "the encrypted content could not be verified"
			}
			if i+1 == len(input) || input[i+1].Type != "function_call" && input[i+1].Role != "assistant" {
				return 0, "reasoning without its following item"
			}
		case it.Type == "function_call":
			if strings.HasSuffix(it.CallID, "_r") && !thoughtBefore(input, i) {
				return 0, "function_call without its required reasoning item"
			}
			open[it.CallID] = true
		case it.Type == "function_call_output":
			if !open[it.CallID] || it.Output == nil {
				return 0, "no tool call found for function call output"
			}
			delete(open, it.CallID)
		case it.Role == "user" && len(open) > 0:
			return 0, "no tool output found for function call"
		}
		if i > 0 && !output && (it.Role == "user" || input[i-1].Type != "function_call_output") {
			n++
		}
	}
	return n, ""
}

// thoughtBefore reports whether reasoning came before an item of the same answer.
func thoughtBefore(input []inputItem, i int) bool {
	for i--; i >= 0; i-- {
		switch {
		case input[i].Type == "reasoning":
			return true
		case input[i].Type == "function_call", input[i].Role == "assistant":
		default:
			return false
		}
	}
	return false
}
