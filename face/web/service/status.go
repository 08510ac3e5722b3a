package service

import (
	"context"
	"errors"
	"net/http"

	"github.com/plan-engine/plan/host"
	"github.com/plan-engine/plan/host/background"
	"github.com/plan-engine/plan/host/batches"
	"github.com/plan-engine/plan/internal/hint"
	"github.com/plan-engine/plan/memory"
)

// Status is the HTTP status that says what kind of error one is.
func Status(err error) int {
	var misuse *hint.Misuse
	var many *memory.AmbiguousError
	var full *background.FullError
	var held *memory.HeldError
	var final *host.FinalError
	var same *batches.SameJobsError
	var long *http.MaxBytesError
	switch {
	case errors.As(err, &long):
		return http.StatusRequestEntityTooLarge
	case errors.As(err, &misuse), errors.As(err, &many):
		return http.StatusBadRequest
	case errors.Is(err, memory.ErrNoRun), errors.Is(err, memory.ErrNoBatch):
		return http.StatusNotFound
	case errors.As(err, &full):
		return http.StatusTooManyRequests
	case errors.Is(err, background.ErrClosing), errors.Is(err, context.Canceled):
		return http.StatusServiceUnavailable
	case errors.Is(err, memory.ErrEnded), errors.As(err, &held), errors.As(err, &final), errors.As(err, &same),
		hint.Of(err) != "":
		return http.StatusConflict // it is not as the request supposes
	}
	return http.StatusInternalServerError
}
