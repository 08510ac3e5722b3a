package plan

import "time"

// Fork says which run a run was forked from. The events up to Seq happened in
// that run; they are the beginning of this one's journal, with their times.
type Fork struct {
	Run  RunID     `json:"run"`
	Seq  int64     `json:"seq"`  // the last event that both have
	Time time.Time `json:"time"` // of the fork
}

// Root is the work tree that the run works in.
func (s RunStart) Root() string {
	if s.Worktree != "" {
		return s.Worktree
	}
	return s.Repo
}
