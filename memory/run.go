package memory

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/plan-engine/plan"
)

// RunInfo is what is known about a run without reading its journal.
type RunInfo struct {
	ID      plan.RunID
	State   plan.State
	Parked  plan.ParkReason // "" while the run is not parked
	WakeAt  *time.Time      // when it makes sense to go on, for some parked runs
	Outcome plan.State      // "" until the run has ended
	Title   string          // given by a person, or ""
	Request string
	Repo    string
	Job     string
	Created time.Time // of its first event, UTC
	Updated time.Time // of its last event, UTC
	Head    int64     // seq of its last event
	Usage   plan.Usage
	CostUSD float64
	Priced  bool // false when some model call had no known price
}

// Ended reports whether the journal has its run_end.
func (r RunInfo) Ended() bool { return r.Outcome != "" }

// projected reports whether fold looks into the bodies of events of type t.
func projected(t plan.EventType) bool {
	switch t {
	case plan.TypeRunStart, plan.TypeState, plan.TypeParked, plan.TypeUnparked, plan.TypeUsage, plan.TypeRunEnd:
		return true
	}
	return false
}

// fold returns what is known after one more event. The usage of a run is the
// sum of its reports until run_end states the total.
func (r RunInfo) fold(e plan.Event) RunInfo {
	r.Head, r.Updated = e.Seq, e.Time.UTC()
	switch body := e.Body.(type) {
	case plan.RunStart:
		r.ID, r.State, r.Priced, r.Created = e.Run, plan.Unstarted, true, r.Updated
		r.Title, r.Request, r.Repo, r.Job = body.Title, body.Request, body.Repo, e.Job
		if body.ForkedFrom != nil { // its first events are older than itself
			r.Created = body.ForkedFrom.Time.UTC()
		}
	case plan.StateChange:
		r.State = body.To
	case plan.Parked:
		r.Parked, r.WakeAt = body.Reason, body.WakeAt
	case plan.Unparked:
		r.Parked, r.WakeAt = "", nil
	case plan.UsageReport:
		if body.Inherited {
			break // another run's
		}
		r.Usage, r.CostUSD, r.Priced = r.Usage.Add(body.Usage), r.CostUSD+body.CostUSD, r.Priced && body.Priced
	case plan.RunEnd:
		r.State, r.Outcome = body.Outcome, body.Outcome
		r.Usage, r.CostUSD, r.Priced = body.Usage, body.CostUSD, body.Priced
	}
	if r.State.Final() {
		r.Parked, r.WakeAt = "", nil
	}
	return r
}

// Filter chooses runs. Its zero value chooses all.
type Filter struct {
	IDs    []plan.RunID // empty means any run
	Repo   string       // "" means any repository
	States []plan.State // empty means any state
	Parked *bool        // nil means both
	Limit  int          // 0 means all
}

const runColumns = `id, state, parked, wake_at, outcome, title, request, repo, job, created, updated, head,
	requests, input, cached, output, reasoning, cost_usd, priced`

func scanRun(scan func(...any) error, also ...any) (RunInfo, error) {
	var (
		r                RunInfo
		created, updated int64
		wake             sql.NullString
	)
	err := scan(append([]any{
		&r.ID, &r.State, &r.Parked, &wake, &r.Outcome, &r.Title, &r.Request, &r.Repo, &r.Job,
		&created, &updated, &r.Head,
		&r.Usage.Requests, &r.Usage.Input, &r.Usage.Cached, &r.Usage.Output, &r.Usage.Reasoning,
		&r.CostUSD, &r.Priced,
	}, also...)...)
	r.Created, r.Updated = fromNanos(created), fromNanos(updated)
	if err == nil && wake.Valid {
		var at time.Time
		at, err = time.Parse(time.RFC3339Nano, wake.String)
		r.WakeAt = &at
	}
	return r, err //nolint:wrapcheck // the callers name the run
}

// values are the changing columns of a run, in the order in which insertRun
// and updateRun begin.
func (r RunInfo) values(chain []byte) []any {
	var wake any
	if r.WakeAt != nil {
		wake = r.WakeAt.UTC().Format(time.RFC3339Nano)
	}
	return []any{
		r.Head, chain, string(r.State), string(r.Parked), wake, string(r.Outcome), r.Updated.UnixNano(),
		r.Usage.Requests, r.Usage.Input, r.Usage.Cached, r.Usage.Output, r.Usage.Reasoning, r.CostUSD, r.Priced,
	}
}

func fromNanos(n int64) time.Time { return time.Unix(0, n).UTC() }

// Runs returns the runs that f chooses, newest first.
func (db *DB) Runs(ctx context.Context, f Filter) ([]RunInfo, error) {
	where := []string{notRemoved}
	var args []any
	if f.Repo != "" {
		where, args = append(where, "repo = ?"), append(args, f.Repo)
	}
	if len(f.IDs) > 0 {
		ids, err := json.Marshal(f.IDs)
		if err != nil {
			return nil, fmt.Errorf("list runs: %w", err)
		}
		where, args = append(where, "id IN (SELECT value FROM json_each(?))"), append(args, string(ids))
	}
	if len(f.States) > 0 {
		where = append(where, "state IN ("+placeholders(len(f.States))+")")
		for _, s := range f.States {
			args = append(args, string(s))
		}
	}
	if f.Parked != nil {
		where, args = append(where, "(parked <> '') = ?"), append(args, *f.Parked)
	}
	//nolint:gosec // made of the constants above
	query := "SELECT " + runColumns + " FROM runs WHERE " + strings.Join(where, " AND ") +
		" ORDER BY created DESC, key DESC"
	if f.Limit > 0 {
		query, args = query+" LIMIT ?", append(args, f.Limit)
	}
	rows, err := db.read.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, db.wrapError("list runs in", err)
	}
	defer rows.Close() //nolint:errcheck // rows.Err says it
	var runs []RunInfo
	for rows.Next() {
		r, err := scanRun(rows.Scan)
		if err != nil {
			return nil, db.wrapError("list runs in", err)
		}
		runs = append(runs, r)
	}
	return runs, db.wrapError("list runs in", rows.Err())
}

func placeholders(n int) string { return strings.TrimSuffix(strings.Repeat("?,", n), ",") }

// Run returns what is known about one run, or [ErrNoRun].
func (db *DB) Run(ctx context.Context, run plan.RunID) (RunInfo, error) {
	row := db.read.QueryRowContext(ctx, "SELECT "+runColumns+" FROM runs WHERE id = ?", string(run))
	r, err := scanRun(row.Scan)
	if err != nil {
		return RunInfo{}, db.runError("read", run, err)
	}
	return r, nil
}

// Latest returns the newest run whose state is not final, or [ErrNoRun].
func (db *DB) Latest(ctx context.Context) (plan.RunID, error) {
	const op = "find the newest run in"
	rows, err := db.read.QueryContext(ctx, "SELECT id, state FROM runs WHERE "+notRemoved+
		" ORDER BY created DESC, key DESC")
	if err != nil {
		return "", db.wrapError(op, err)
	}
	defer rows.Close() //nolint:errcheck // rows.Err says it
	for rows.Next() {
		var id plan.RunID
		var state plan.State
		if err := rows.Scan(&id, &state); err != nil {
			return "", db.wrapError(op, err)
		}
		if !state.Final() {
			return id, nil
		}
	}
	if err := rows.Err(); err != nil {
		return "", db.wrapError(op, err)
	}
	return "", fmt.Errorf("find the newest run that is not final: %w", ErrNoRun)
}

// maxCandidates bounds how many runs an [AmbiguousError] lists.
const maxCandidates = 10

// minEnd is how many characters of the end of an id name its run.
const minEnd = 4

// Names reports whether a name means a run, as [DB.Resolve] has it, if it means only one.
func Names(name string, run plan.RunID) bool {
	name = strings.ToUpper(name)
	return name != "" && (strings.HasPrefix(string(run), name) ||
		len(name) >= minEnd && strings.HasSuffix(string(run), name))
}

// Resolve returns the run whose id begins with prefix, or ends with it where it has
// four characters or more, in upper or lower case.
// A whole id always means its own run. Errors: [ErrNoRun], [*AmbiguousError].
func (db *DB) Resolve(ctx context.Context, prefix string) (plan.RunID, error) {
	if prefix == "" {
		return "", fmt.Errorf("find a run: %w: its id is empty", ErrNoRun)
	}
	escaped := strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(prefix)
	query := `SELECT id FROM runs WHERE id LIKE ?1 || '%' ESCAPE '\' AND ` + notRemoved
	if len(prefix) >= minEnd {
		query = `SELECT id FROM runs
			WHERE (id LIKE ?1 || '%' ESCAPE '\' OR id LIKE '%' || ?1 ESCAPE '\') AND ` + notRemoved
	}
	rows, err := db.read.QueryContext(ctx, query+`
		ORDER BY id = ?2 COLLATE NOCASE DESC, created DESC, key DESC LIMIT ?3`, escaped, prefix, maxCandidates+1)
	if err != nil {
		return "", db.wrapError("find a run in", err)
	}
	defer rows.Close() //nolint:errcheck // rows.Err says it
	var ids []plan.RunID
	for rows.Next() {
		var id plan.RunID
		if err := rows.Scan(&id); err != nil {
			return "", db.wrapError("find a run in", err)
		}
		ids = append(ids, id)
	}
	if err := rows.Err(); err != nil {
		return "", db.wrapError("find a run in", err)
	}
	switch {
	case len(ids) == 0:
		return "", fmt.Errorf("find run %q: %w", prefix, ErrNoRun)
	case len(ids) == 1 || strings.EqualFold(string(ids[0]), prefix):
		return ids[0], nil
	}
	return "", &AmbiguousError{
		Prefix:     prefix,
		Candidates: ids[:min(len(ids), maxCandidates)],
		More:       len(ids) > maxCandidates,
	}
}

// runError names the run in err; a missing row means that there is no run.
func (db *DB) runError(op string, run plan.RunID, err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return fmt.Errorf("%s run %s: %w", op, run, ErrNoRun)
	}
	return db.wrapError(fmt.Sprintf("%s run %s in", op, run), err)
}
