package host

import (
	"context"

	"github.com/plan-engine/plan/host/keyed"
	"github.com/plan-engine/plan/worktree/git"
)

// keys are the user's, as far as the user's own settings give them to a fetch: those of
// a repository, a job or a journal give none.
func (s *session) keys() keyed.User {
	tree := s.repo.Root()
	return keyed.User{
		Keys: s.host.userSettings().Setup.Keys,
		Env:  s.host.environ,
		Path: s.host.searched(tree, s.avoid),
		Ask: func(ctx context.Context, host string) (name, password string, err error) {
			program, ok := git.Find(tree, s.avoid)
			if !ok {
				return "", "", git.ErrNoCredential
			}
			return program.Credential(ctx, host)
		},
	}
}
