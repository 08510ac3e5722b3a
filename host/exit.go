package host

import (
	"errors"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/engine"
	"github.com/plan-engine/plan/internal/hint"
)

// ExitCode is the code that a process ends with for an error that is not the end of
// a run, which has its own.
func ExitCode(err error) int {
	var misuse *hint.Misuse
	var untrusted *UntrustedRunError
	switch {
	case err == nil:
		return plan.ExitOK
	case errors.As(err, &misuse):
		return plan.ExitUsage
	case errors.As(err, &untrusted):
		return plan.ExitWaiting
	case errors.Is(err, engine.ErrInterrupted):
		return plan.ExitInterrupted
	}
	return plan.ExitFailed
}
