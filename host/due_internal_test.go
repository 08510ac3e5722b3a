package host

import "testing"

// TestWorse orders exit codes by how much went wrong.
func TestWorse(t *testing.T) {
	t.Parallel()
	order := []int{0, 5, 4, 3, 2, 1, 130}
	for i, a := range order {
		for j, b := range order {
			if got := worse(a, b); got != order[max(i, j)] {
				t.Errorf("the worse of %d and %d is %d", a, b, got)
			}
		}
	}
}
