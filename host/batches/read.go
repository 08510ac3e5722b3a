package batches

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/plan-engine/plan/batch"
)

// JobFile says where a list of jobs is.
type JobFile struct {
	Path  string    // - for Input
	Input io.Reader // standard input
	Dir   string    // what paths in Input are relative to

	// Repos says that it lists repositories, each a job with this Request.
	Repos   bool
	Request string
}

// ReadJobs reads a list of jobs, and says what to call it. Paths in a file are
// relative to it.
func ReadJobs(from JobFile) (list *batch.List, name string, err error) {
	dir := from.Dir
	in := from.Input
	name = "standard input"
	if from.Path != "-" {
		f, err := os.Open(from.Path)
		if err != nil {
			return nil, "", fmt.Errorf("read the jobs: %w", err)
		}
		defer f.Close() //nolint:errcheck // only read
		dir = filepath.Dir(from.Path)
		in = f
		name = from.Path
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return nil, "", fmt.Errorf("find the folder of the list: %w", err)
	}
	src := batch.Source{Name: name, Dir: dir}
	if from.Repos {
		list, err = batch.ForRepos(in, src, from.Request)
	} else {
		list, err = batch.Read(in, src)
	}
	return list, name, err
}
