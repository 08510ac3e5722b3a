package memory

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/plan-engine/plan"
)

// Bounds of a search. A word that more facts than common hold tells little and
// costs much: bm25 has to walk its whole list. Such words count only where
// there are no others, and then only together.
const (
	maxFactsPerWord = 3000
	maxWords        = 12
	maxRanked       = 64   // facts whose text is read for the final order
	maxFactsRead    = 4096 // facts that are looked at in all
)

// FactQuery is a search for facts.
type FactQuery struct {
	Words []string // content words; their endings do not matter
	Repo  string   // facts of this repository and of every one; "*" for all facts
	Limit int      // default 20
	Now   time.Time
}

// FactHit is a fact that was found.
type FactHit struct {
	plan.Fact
	// Score is BM25 over the words that were found.
	Score float64
	// Matched is how many of the words it holds.
	Matched int
	Expired bool
}

// SearchFacts finds the facts that hold some of the words, the best first.
func (db *DB) SearchFacts(ctx context.Context, q FactQuery) ([]FactHit, error) {
	hits, err := db.searchFacts(ctx, q)
	return hits, db.wrapError("search facts in", err)
}

func (db *DB) searchFacts(ctx context.Context, q FactQuery) ([]FactHit, error) {
	words := cleanWords(q.Words)
	if len(words) == 0 {
		return nil, nil
	}
	m, err := db.index(ctx)
	if err != nil {
		return nil, err
	}
	var total int
	if err := db.read.QueryRowContext(ctx, `SELECT coalesce(max(id), 0) FROM facts`).Scan(&total); err != nil {
		return nil, err //nolint:wrapcheck // SearchFacts says what was done
	}
	weights, err := db.weighFacts(ctx, m, words, total)
	if err != nil {
		return nil, err
	}
	return db.rank(ctx, weights, q)
}

// index returns the module of this program, with its index up to date.
func (db *DB) index(ctx context.Context) (fullText, error) {
	m, err := moduleOf(ctx, db.read)
	if err != nil {
		return m, err
	}
	if ok, err := m.isCurrent(ctx, db.read); ok || err != nil {
		return m, err
	}
	return m, db.inTx(ctx, func(tx *sql.Tx) error { return m.ensureIndex(ctx, tx) })
}

// factWeight is what is known of a fact before its text was read.
type factWeight struct {
	idf   float64
	words int
}

// weighFacts adds up, for every fact that holds a rare word, what its words weigh.
func (db *DB) weighFacts(ctx context.Context, m fullText, words []string, total int) (map[int64]factWeight, error) {
	weights := map[int64]factWeight{}
	var frequent []string
	for _, w := range words {
		ids, err := db.factsHolding(ctx, m, quote(w))
		if err != nil {
			return nil, err
		}
		if len(ids) > maxFactsPerWord {
			frequent = append(frequent, w)
			continue
		}
		addWeight(weights, ids, idf(total, len(ids)), 1)
	}
	if len(weights) > 0 || len(frequent) == 0 {
		return weights, nil
	}
	quoted := make([]string, len(frequent))
	for i, w := range frequent {
		quoted[i] = quote(w)
	}
	ids, err := db.factsHolding(ctx, m, strings.Join(quoted, " AND "))
	if err != nil {
		return nil, err
	}
	addWeight(weights, ids, float64(len(frequent))*idf(total, maxFactsPerWord), len(frequent))
	return weights, nil
}

func addWeight(weights map[int64]factWeight, ids []int64, idf float64, words int) {
	for _, id := range ids {
		w := weights[id]
		weights[id] = factWeight{w.idf + idf, w.words + words}
	}
}

// idf is how much a word tells. A memory of few facts is treated as if it held
// fewest: there, every word would look common.
func idf(total, holding int) float64 {
	const fewest = 1000
	n := float64(holding)
	return math.Log(1 + (max(float64(total), fewest, n)-n+0.5)/(n+0.5))
}

// factsHolding lists the facts that match, at most one more than common. One row
// with all ids costs a fraction of as many rows.
func (db *DB) factsHolding(ctx context.Context, m fullText, match string) ([]int64, error) {
	var list sql.NullString
	err := db.read.QueryRowContext(
		ctx,
		`SELECT group_concat(rowid) FROM (SELECT rowid FROM `+m.table()+` WHERE `+m.table()+` MATCH ? LIMIT ?)`,
		match,
		maxFactsPerWord+1,
	).Scan(
		&list,
	)
	if err != nil || !list.Valid {
		return nil, err //nolint:wrapcheck // SearchFacts says what was done
	}
	var ids []int64
	for part := range strings.SplitSeq(list.String, ",") {
		id, err := strconv.ParseInt(part, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("read the index: %w", err)
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// quote makes a word safe in a full-text query.
func quote(word string) string { return `"` + strings.ReplaceAll(word, `"`, ``) + `"` }

// cleanWords keeps what the index can hold: letters and numbers.
func cleanWords(words []string) []string {
	separates := func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) }
	var out []string
	for _, w := range words {
		for _, part := range strings.FieldsFunc(w, separates) {
			if !slices.Contains(out, part) && len(out) < maxWords {
				out = append(out, part)
			}
		}
	}
	return out
}

// rank reads the texts of the heaviest facts and orders them by BM25, in which
// a long text counts for less.
func (db *DB) rank(ctx context.Context, weights map[int64]factWeight, q FactQuery) ([]FactHit, error) {
	ids := make([]int64, 0, len(weights))
	for id := range weights {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, func(a, b int64) int {
		return cmp.Or(cmp.Compare(weights[b].idf, weights[a].idf), cmp.Compare(b, a))
	})
	limit := q.Limit
	if limit <= 0 {
		limit = 20
	}
	var hits []FactHit
	for chunk := range slices.Chunk(ids[:min(len(ids), maxFactsRead)], maxRanked) {
		facts, err := db.factsOf(ctx, chunk, q.Repo)
		if err != nil {
			return nil, err
		}
		for _, f := range facts {
			hits = append(hits, scoreFact(f, weights[f.ID], q.Now))
		}
		if len(hits) >= max(maxRanked, limit) {
			break
		}
	}
	slices.SortStableFunc(hits, func(a, b FactHit) int { return cmp.Compare(b.Score, a.Score) })
	return hits[:min(len(hits), limit)], nil
}

// Relevance is how well a text of so many words fits, on the scale of a FactHit's Score.
// Texts is how many there are; holding has, for each word asked for that the text has, how
// many of them have that word.
func Relevance(texts int, holding []int, length int) float64 {
	sum := 0.0
	for _, n := range holding {
		sum += idf(texts, n)
	}
	return bm25(sum, length)
}

// bm25 weighs the words that a text has by its length.
func bm25(idf float64, length int) float64 {
	const usual, k, b = 16, 1.2, 0.75 // words in a fact; BM25's constants
	return idf * (k + 1) / (1 + k*(1-b+b*float64(length)/usual))
}

// scoreFact weighs a fact by BM25, now that its length is known.
func scoreFact(f plan.Fact, w factWeight, now time.Time) FactHit {
	return FactHit{
		Fact:    f,
		Matched: w.words,
		Score:   bm25(w.idf, len(strings.Fields(f.Text))),
		Expired: !f.Expires.IsZero() && !now.IsZero() && !now.Before(f.Expires),
	}
}

// factsOf reads those of the facts that hold for a repository.
func (db *DB) factsOf(ctx context.Context, ids []int64, repo string) ([]plan.Fact, error) {
	list, err := json.Marshal(ids)
	if err != nil {
		return nil, err //nolint:wrapcheck // numbers can be encoded
	}
	rows, err := db.read.QueryContext(
		ctx,
		selectFact+` WHERE id IN (SELECT value FROM json_each(?)) AND (? = '*' OR repo IN (?, '')) AND `+factWhole+`
		ORDER BY id DESC`,
		string(list),
		repo,
		repo,
	)
	if err != nil {
		return nil, err //nolint:wrapcheck // SearchFacts says what was done
	}
	defer rows.Close() //nolint:errcheck // rows.Err says it
	var out []plan.Fact
	for rows.Next() {
		f, err := scanFact(rows)
		if err != nil {
			return nil, err
		}
		out = append(out, f)
	}
	return out, rows.Err()
}
