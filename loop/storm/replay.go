package storm

// Replay has something of an earlier process taken in when the breaker is next
// asked. Until a person speaks, that is everything the model has ever called.
func (s *Breaker) Replay(step func()) { s.unreplayed = append(s.unreplayed, step) }

// Prepare makes the breaker ready to be asked.
func (s *Breaker) Prepare() {
	if s.seen == nil {
		s.begin()
	}
	unreplayed := s.unreplayed
	s.unreplayed = nil // each step asks the breaker in its turn
	for _, step := range unreplayed {
		step()
	}
}

func (s *Breaker) begin() {
	if s.Window <= 0 {
		s.Window = 6
	}
	if s.Threshold <= 0 {
		s.Threshold = 3
	}
	none := func(string) bool { return false }
	if s.Mutating == nil {
		s.Mutating = none
	}
	if s.Exempt == nil {
		s.Exempt = none
	}
	if s.Shell == nil {
		s.Shell = none
	}
	s.known, s.seen, s.returned = map[string]bool{}, map[string]bool{}, map[string]bool{}
	s.stale, s.open, s.slow = map[string]int{}, map[string]int{}, map[string]int{}
	s.ids = map[string]identity{}
}
