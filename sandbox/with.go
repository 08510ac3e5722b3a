package sandbox

import "slices"

// Env is the environment of the shell's commands, as os.Environ gives it. A
// wall adds its own to it when a command starts.
func (s *Shell) Env() []string { return slices.Clone(s.env) }

// Temp is the temporary folder that only the shell's commands have, as they
// see it; "" without a wall.
func (s *Shell) Temp() string {
	if w, ok := s.spawner.(*Wall); ok {
		return w.tmp()
	}
	return ""
}

// With is the same shell for commands with another environment.
func (s *Shell) With(env []string) *Shell {
	other := *s
	other.env = slices.Clone(env)
	return &other
}
