package plan

// Outage is a failure of what a run works with rather than of the run: no
// space for a copy of the tree, a repository that cannot be read. The process
// ends, the run is kept as it stands, and can be resumed once the cause is
// gone.
type Outage struct{ Err error }

// Error implements error.
func (o *Outage) Error() string { return o.Err.Error() }

// Unwrap returns the cause.
func (o *Outage) Unwrap() error { return o.Err }

// Hint says what to do about it.
func (o *Outage) Hint() string {
	return "The run is kept as it stands. Mend the cause, then go on with `plan resume`."
}
