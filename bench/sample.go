package main

import (
	"time"

	"github.com/plan-engine/plan/model/scripted"
)

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func (s sample) started() float64 { return milliseconds(s.first) }

func (s sample) total() float64 { return milliseconds(s.wall) }

func (s sample) peakMiB() float64 { return float64(s.peak) / 1024 }

func (s sample) ownMemory() float64 { return float64(s.own) / 1024 }

func (s sample) kib() float64 { return float64(s.bytes) / 1024 }

// medianOf is the median of one measure over samples.
func medianOf(samples []sample, measure func(sample) float64) float64 {
	var values []float64
	for _, s := range samples {
		values = append(values, measure(s))
	}
	return median(values)
}

// sample is one run of a program against the scripted server.
type sample struct {
	wall  time.Duration
	peak  int64           // KiB
	own   int64           // KiB
	first time.Duration   // from the start of the process to its first request; 0 if there was none
	bytes int             // of the first request
	gaps  []time.Duration // between requests
}

// requests takes in what the server saw.
func (s *sample) requests(start time.Time, requests []scripted.Seen) {
	for i, r := range requests {
		if i == 0 {
			s.first, s.bytes = r.At.Sub(start), len(r.Body)
			continue
		}
		s.gaps = append(s.gaps, r.At.Sub(requests[i-1].At))
	}
}
