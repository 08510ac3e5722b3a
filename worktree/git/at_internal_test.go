package git

// At is the program of that path in that environment.
func At(path string, env []string) Program { return newProgram(path, env, env) }
