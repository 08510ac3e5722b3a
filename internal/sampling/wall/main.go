// Command wall is a program that can be nothing but the inside of a wall. Tests with the race
// detector start their walls from it: their own programs take five times as long to start.
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
