package plan

// Intent is what a call of a verifiable tool is going to do, worked out before
// it is done and committed with the [ToolStart]. A process that finds the call
// begun and not ended compares the files with it.
type Intent struct {
	// Key names the call among all others: a hash over run, conversation, turn,
	// call, tool and arguments.
	Key string `json:"key"`
	// Files are those that the call looks at to change; none for a call that
	// will fail.
	Files []FileChange `json:"files,omitempty"`
	// Output and Error are the result, should all go as worked out.
	Output string `json:"output"`
	Error  bool   `json:"error,omitempty"`
}

// FileChange is one file before and after a call. Contents are named by their
// hex SHA-256, "" for no file. Equal hashes without a Mode mean that the file
// is left as it is.
type FileChange struct {
	Path   string `json:"path"`             // as the call names it, relative to the root
	Target string `json:"target,omitempty"` // where it really is, if symbolic links lead there
	Before string `json:"before"`
	After  string `json:"after"`
	// Mode is the permission bits afterwards, in octal, if the call changes
	// those of a file that there is.
	Mode string `json:"mode,omitempty"`
}

// SecretMark begins the mark that stands for a secret wherever a model or the
// journal would read it; the secret's name and » follow.
const SecretMark = "«secret "

// Names are the paths that the file is known by.
func (c FileChange) Names() []string {
	if c.Target == "" || c.Target == c.Path {
		return []string{c.Path}
	}
	return []string{c.Path, c.Target}
}

// TempName is the name under which a call with this key writes a file before it
// renames it into place. What a killed process left under it is the run's own.
func TempName(key string) string { return ".plan-" + key + ".tmp" }
