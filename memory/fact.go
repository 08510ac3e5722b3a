package memory

import (
	"cmp"
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/plan-engine/plan"
)

// Added says what became of a fact that was to be added.
type Added string

// What can become of it.
const (
	FactNew       Added = "new"
	FactMerged    Added = "merged"    // there is one of the same words
	FactForgotten Added = "forgotten" // a person does not want it back
)

// maxFact bounds a fact, in bytes: it is to be a sentence or two.
const maxFact = 2000

// ErrNoFact says that there is no fact of that id.
var ErrNoFact = errors.New("there is no such fact")

// AddFact remembers a fact and returns it as it is kept. One of the same words
// for the same repository is kept once; the longer life of the two counts. What
// a person forgot comes back only from a person.
func (db *DB) AddFact(ctx context.Context, f plan.Fact) (plan.Fact, Added, error) {
	f.Text = strings.TrimSpace(f.Text)
	if f.Text == "" || len(f.Text) > maxFact {
		return f, "", fmt.Errorf("remember: a fact has 1 to %d bytes, this one has %d", maxFact, len(f.Text))
	}
	hash := factHash(f.Text)
	if f.Created.IsZero() {
		f.Created = db.now()
	}
	stored, how, err := f, FactNew, error(nil)
	err = db.inTx(ctx, func(tx *sql.Tx) error {
		stored, how, err = addFact(ctx, tx, f, hash)
		return err
	})
	return stored, how, db.wrapError("remember in", err)
}

func addFact(ctx context.Context, tx *sql.Tx, f plan.Fact, hash []byte) (plan.Fact, Added, error) {
	if f.Source == plan.FactFromPerson {
		_, err := tx.ExecContext(ctx, `DELETE FROM forgotten WHERE repo = ? AND hash = ?`, f.Repo, hash)
		if err != nil {
			return f, "", err //nolint:wrapcheck // the caller says what was done
		}
	}
	var n int
	row := tx.QueryRowContext(ctx, `SELECT count(*) FROM forgotten WHERE repo IN (?, '') AND hash = ?`, f.Repo, hash)
	if err := row.Scan(&n); err != nil {
		return f, "", err //nolint:wrapcheck // the caller says what was done
	}
	if n > 0 {
		return f, FactForgotten, nil
	}
	old, err := scanFact(
		tx.QueryRowContext(
			ctx,
			selectFact+` WHERE repo IN (?, '') AND hash = ? ORDER BY repo = ? DESC`,
			f.Repo,
			hash,
			f.Repo,
		),
	)
	switch {
	case err == nil:
		if !old.Expires.IsZero() && (f.Expires.IsZero() || f.Expires.After(old.Expires)) {
			old.Expires = f.Expires
			_, err = tx.ExecContext(
				ctx,
				`UPDATE facts SET expires = ? WHERE id = ?`,
				nanosOrZero(old.Expires),
				old.ID,
			)
		}
		return old, FactMerged, err //nolint:wrapcheck // the caller says what was done
	case !errors.Is(err, sql.ErrNoRows):
		return f, "", err //nolint:wrapcheck // the caller says what was done
	}
	res, err := tx.ExecContext(
		ctx,
		`INSERT INTO facts (repo, hash, source, run, seq, created, used, expires, text) VALUES (?,?,?,?,?,?,?,?,?)`,
		f.Repo,
		hash,
		f.Source,
		string(f.Run),
		f.Seq,
		f.Created.UnixNano(),
		f.Used,
		nanosOrZero(f.Expires),
		f.Text,
	)
	if err != nil {
		return f, "", err //nolint:wrapcheck // the caller says what was done
	}
	if f.ID, err = res.LastInsertId(); err != nil {
		return f, "", err //nolint:wrapcheck // the caller says what was done
	}
	return f, FactNew, indexFact(ctx, tx, f.ID, f.Text)
}

// ForgetFact removes a fact and sees to it that no run learns it again.
func (db *DB) ForgetFact(ctx context.Context, id int64) (plan.Fact, error) {
	var f plan.Fact
	err := db.inTx(ctx, func(tx *sql.Tx) error {
		var err error
		if f, err = scanFact(tx.QueryRowContext(ctx, selectFact+` WHERE id = ?`, id)); err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `INSERT INTO forgotten (repo, hash) VALUES (?,?) ON CONFLICT DO NOTHING`,
			f.Repo, factHash(f.Text))
		if err != nil {
			return err //nolint:wrapcheck // the caller says what was done
		}
		if _, err = tx.ExecContext(ctx, `DELETE FROM facts WHERE id = ?`, id); err != nil {
			return err //nolint:wrapcheck // the caller says what was done
		}
		return unindexFact(ctx, tx, f)
	})
	if errors.Is(err, sql.ErrNoRows) {
		return f, fmt.Errorf("forget %d: %w; `plan memory list` shows those there are", id, ErrNoFact)
	}
	return f, db.wrapError("forget in", err)
}

// Fact returns one fact.
func (db *DB) Fact(ctx context.Context, id int64) (plan.Fact, error) {
	f, err := scanFact(db.read.QueryRowContext(ctx, selectFact+` WHERE id = ?`, id))
	if errors.Is(err, sql.ErrNoRows) {
		return f, fmt.Errorf("fact %d: %w; `plan memory list` shows those there are", id, ErrNoFact)
	}
	return f, db.wrapError("read", err)
}

// Facts lists the facts that hold for a repository, or all with "*", newest
// first. A limit of 0 lists every one.
func (db *DB) Facts(ctx context.Context, repo string, limit int) ([]plan.Fact, error) {
	if limit <= 0 {
		limit = -1
	}
	rows, err := db.read.QueryContext(
		ctx,
		selectFact+` WHERE ? = '*' OR repo IN (?, '') ORDER BY created DESC, id DESC LIMIT ?`,
		repo,
		repo,
		limit,
	)
	if err != nil {
		return nil, db.wrapError("list facts of", err)
	}
	defer rows.Close() //nolint:errcheck // rows.Err says it
	var out []plan.Fact
	for rows.Next() {
		f, err := scanFact(rows)
		if err != nil {
			return nil, db.wrapError("list facts of", err)
		}
		out = append(out, f)
	}
	return out, db.wrapError("list facts of", rows.Err())
}

// FactsWithin returns a repository's own facts that have not expired, the oldest
// first, if their texts have at most so many bytes together; else none.
func (db *DB) FactsWithin(ctx context.Context, repo string, bytes int, now time.Time) ([]plan.Fact, error) {
	var facts []plan.Fact
	// Without an order the reading ends with the first fact that is too many.
	rows, err := db.read.QueryContext(
		ctx,
		selectFact+` WHERE repo = ? AND (expires = 0 OR expires > ?) AND `+factWhole,
		repo,
		now.UnixNano(),
	)
	if err != nil {
		return nil, db.wrapError("list facts of", err)
	}
	defer rows.Close() //nolint:errcheck // rows.Err says it
	size := 0
	for rows.Next() {
		f, err := scanFact(rows)
		if err != nil {
			return nil, db.wrapError("list facts of", err)
		}
		if size += len(f.Text); size > bytes {
			return nil, nil
		}
		facts = append(facts, f)
	}
	slices.SortFunc(facts, func(a, b plan.Fact) int { return cmp.Compare(a.ID, b.ID) })
	return facts, db.wrapError("list facts of", rows.Err())
}

// UseFacts counts a use of each fact and lets those that expire live on until
// the given time.
func (db *DB) UseFacts(ctx context.Context, ids []int64, expires time.Time) error {
	return db.wrapError("note the use of facts in", db.inTx(ctx, func(tx *sql.Tx) error {
		for _, id := range ids {
			_, err := tx.ExecContext(ctx, `UPDATE facts SET used = used + 1,
				expires = iif(expires = 0, 0, max(expires, ?)) WHERE id = ?`, nanosOrZero(expires), id)
			if err != nil {
				return err //nolint:wrapcheck // UseFacts says what was done
			}
		}
		return nil
	}))
}

const selectFact = `SELECT id, repo, source, run, seq, created, used, expires, text FROM facts`

// factWhole is the condition of facts that are what was learned. Those of an earlier
// program have no sum.
var factWhole = provenIn("facts",
	"id", "repo", "hash", "source", "run", "seq", "created", "used", "expires", "text")

type scanner interface{ Scan(dest ...any) error }

func scanFact(row scanner) (plan.Fact, error) {
	var f plan.Fact
	var created, expires int64
	if err := row.Scan(&f.ID, &f.Repo, &f.Source, &f.Run, &f.Seq, &created, &f.Used, &expires, &f.Text); err != nil {
		return f, err
	}
	f.Created = fromNanos(created)
	if expires != 0 {
		f.Expires = fromNanos(expires)
	}
	return f, nil
}

func nanosOrZero(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}

// factHash is the same for texts of the same words in the same order, whatever
// their case, spacing and punctuation.
func factHash(text string) []byte {
	words := strings.FieldsFunc(
		strings.ToLower(text),
		func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) },
	)
	if len(words) == 0 {
		words = []string{text}
	}
	sum := sha256.Sum256([]byte(strings.Join(words, " ")))
	return sum[:16]
}
