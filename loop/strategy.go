package loop

import "fmt"

// Strategy says how the calls of one answer are run, where no tool among them
// wants to run alone (see [Info.Serial]). The zero value runs them at the same
// time, a few at once.
type Strategy struct {
	Mode Mode
	// Size is the number of calls in a chunk of Batched, and the most that run
	// at once of Parallel; there 0 means 8.
	Size int
}

// Mode names a strategy.
type Mode string

// The modes. Letters are looked for after each call of Sequential and after
// each chunk of Batched; a person's guidance skips the rest.
const (
	Parallel   Mode = ""
	Sequential Mode = "sequential"
	Batched    Mode = "batched" // in chunks of Size calls, one chunk after the other
)

// check says what is wrong with a strategy.
func (s Strategy) check() error {
	switch {
	case s.Mode != Parallel && s.Mode != Sequential && s.Mode != Batched:
		return fmt.Errorf("loop: there is no strategy %q: use Parallel, Sequential or Batched", s.Mode)
	case s.Mode == Batched && s.Size < 1:
		return fmt.Errorf("loop: batches of %d calls make no sense: Size must be 1 or more", s.Size)
	case s.Size < 0:
		return fmt.Errorf("loop: %d calls at once make no sense: Size must be 0 or more", s.Size)
	}
	return nil
}

// chunk is how many of n calls are run before letters are looked for.
func (s Strategy) chunk(n int) int {
	switch s.Mode {
	case Sequential:
		return 1
	case Batched:
		return s.Size
	}
	return max(n, 1)
}

// atOnce is how many calls run at the same time.
func (s Strategy) atOnce() int {
	switch {
	case s.Mode == Sequential:
		return 1
	case s.Size > 0:
		return s.Size
	}
	return parallel
}
