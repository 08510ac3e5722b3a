package plan

// Grant is what a person's yes lets pass from now on, besides the call that
// they were asked about: the calls that fit all of it. An empty one grants
// nothing.
type Grant struct {
	Tool    string `json:"tool,omitempty"`
	Path    string `json:"path,omitempty"`
	Command string `json:"command,omitempty"`
}

// The scopes of a person's yes.
const (
	ScopeOnce   = ""       // this call
	ScopeRun    = "run"    // what the grant says, in this run
	ScopeAlways = "always" // and in all that come
)
