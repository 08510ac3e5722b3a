// Command wall is a program that can be nothing but the inside of a wall. A test run starts
// its walls from it: programs with the race detector take five times as long to start, and
// plan, which is twenty times as large, three times.
package main

import (
	"fmt"
	"os"

	"github.com/plan-engine/plan/sandbox"
)

func main() {
	sandbox.Enter()
	fmt.Fprintln(os.Stderr, "wall: this is started by tests, as the inside of a wall")
	os.Exit(2)
}
