package memory

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/internal/oneline"
)

// Style is how the person writes, as far as their messages show: each axis in
// [0,1], with 0.5 for neutral apart from Emoji, which is 0 then.
type Style struct {
	Formality float64 `json:"formality"`
	Energy    float64 `json:"energy"`
	Terseness float64 `json:"terseness"`
	Emoji     float64 `json:"emoji"`
	Seen      int     `json:"seen"` // windows that were looked at
	// Stated are preferences in the person's own words, newest last. They
	// stand above what was inferred.
	Stated []string `json:"stated,omitempty"`
}

// Neutral is the style of a person who has written nothing yet.
func Neutral() Style {
	return Style{
		Formality: 0.5,
		Energy:    0.5,
		Terseness: 0.5,
	}
}

const (
	styleWindow = 10  // messages
	styleWeight = 0.2 // of a new window, after the first
	maxStated   = 20
)

// Signals reads the style of the last ten messages.
func Signals(messages []string) Style {
	messages = messages[max(0, len(messages)-styleWindow):]
	var words, long, letters, capitals, marks, emoji, spoken int
	for _, m := range messages {
		if strings.TrimSpace(m) == "" {
			continue
		}
		spoken++
		for _, w := range strings.Fields(m) {
			words++
			if utf8.RuneCountInString(w) >= 6 {
				long++
			}
		}
		for _, r := range m {
			switch {
			case r == '!':
				marks++
			case isEmoji(r):
				emoji++
			case unicode.IsLetter(r):
				letters++
				if unicode.IsUpper(r) {
					capitals++
				}
			}
		}
	}
	if spoken == 0 || words == 0 {
		return Neutral()
	}
	n := float64(spoken)
	caps := float64(capitals) / float64(max(letters, 1))
	return Style{
		Formality: clamp(.8*float64(long)/float64(words) + .2*(1-caps)),
		Energy:    clamp(.5*min(1, float64(marks)/n/3) + .3*caps + .2*min(1, float64(emoji)/n/5)),
		Terseness: 1 / max(1, float64(words)/n/5),
		Emoji:     min(1, float64(emoji)/n/5),
		Seen:      1,
	}
}

func clamp(x float64) float64 { return min(max(x, 0), 1) }

func isEmoji(r rune) bool {
	return r >= 0x1F300 && r <= 0x1FAFF || r >= 0x2600 && r <= 0x27BF || r >= 0x1F1E6 && r <= 0x1F1FF
}

// Fold is the style after one more window. The first is taken as it is.
func (s Style) Fold(next Style) Style {
	if next.Seen == 0 {
		return s
	}
	if s.Seen == 0 {
		next.Stated = s.Stated
		return next
	}
	mix := func(a, b float64) float64 { return a + styleWeight*(b-a) }
	return Style{
		Formality: mix(s.Formality, next.Formality),
		Energy:    mix(s.Energy, next.Energy),
		Terseness: mix(s.Terseness, next.Terseness),
		Emoji:     mix(s.Emoji, next.Emoji),
		Seen:      s.Seen + 1,
		Stated:    s.Stated,
	}
}

// minDeviation is how far from neutral an axis must be to be worth a word.
const minDeviation = 0.2

// minWindows is how many windows have to be seen before anything is inferred.
const minWindows = 3

// Line says in a line how to write for this person, "" while there is nothing
// worth saying. What the person has stated replaces what was inferred.
func (s Style) Line() string {
	if len(s.Stated) > 0 {
		return "The person has said how they want to be written to: " + strings.Join(s.Stated, "; ") + "."
	}
	if s.Seen < minWindows {
		return ""
	}
	var words []string
	say := func(value float64, low, high string) {
		switch {
		case value >= 0.5+minDeviation && high != "":
			words = append(words, high)
		case value <= 0.5-minDeviation && low != "":
			words = append(words, low)
		}
	}
	say(s.Terseness, "at length", "briefly")
	say(s.Formality, "informally", "formally")
	if len(words) == 0 || math.IsNaN(s.Formality) {
		return ""
	}
	return "The person writes " + strings.Join(words, " and ") + "; words meant for them may do the same."
}

// selectStyle reads the style, if it is what was written.
var selectStyle = `SELECT data FROM style WHERE id = 1 AND ` + provenIn("style", "id", "data", "updated")

// Style returns what is known of the person's style, Neutral if nothing is.
func (db *DB) Style(ctx context.Context) (Style, error) {
	s := Neutral()
	var text string
	err := db.read.QueryRowContext(ctx, selectStyle).Scan(&text)
	if errors.Is(err, sql.ErrNoRows) {
		return s, nil
	}
	if err == nil {
		err = json.Unmarshal([]byte(text), &s)
	}
	return s, db.wrapError("read the style in", err)
}

// Remark is something that the person wrote to a run, and where its journal has it.
type Remark struct {
	Seq  int64
	Text string
}

// mostLearned is of how many runs that go on it is kept what was learned.
const mostLearned = 256

// keptStyle is the style as the database has it.
type keptStyle struct {
	Style
	// Learned is the seq up to which what was said to a run has been learned, by run.
	Learned map[plan.RunID]int64 `json:"learned,omitempty"`
}

// ObserveStyle folds in the style of what was said to a run, as far as it is not
// learned yet. Blank messages change nothing.
func (db *DB) ObserveStyle(ctx context.Context, run plan.RunID, remarks ...Remark) error {
	return db.changeStyle(ctx, func(s *keptStyle) {
		upTo := s.Learned[run]
		var messages []string
		for _, m := range remarks {
			if m.Seq > s.Learned[run] {
				messages, upTo = append(messages, m.Text), max(upTo, m.Seq)
			}
		}
		s.Style = s.Fold(Signals(messages))
		if s.Learned == nil {
			s.Learned = map[plan.RunID]int64{}
		}
		s.Learned[run] = upTo
		if len(s.Learned) > mostLearned {
			delete(s.Learned, slices.Min(slices.Collect(maps.Keys(s.Learned))))
		}
	})
}

// EndStyle says that nothing more is said to a run.
func (db *DB) EndStyle(ctx context.Context, run plan.RunID) error {
	return db.changeStyle(ctx, func(s *keptStyle) { delete(s.Learned, run) })
}

// StateStyle keeps a preference in the person's own words.
func (db *DB) StateStyle(ctx context.Context, words string) error {
	words = oneline.Of(words)
	if words == "" {
		return nil
	}
	return db.changeStyle(ctx, func(s *keptStyle) {
		s.Stated = append(s.Stated, words)
		s.Stated = s.Stated[max(0, len(s.Stated)-maxStated):]
	})
}

// ResetStyle forgets all of it. What was said to runs that go on is not learned again.
func (db *DB) ResetStyle(ctx context.Context) error {
	return db.changeStyle(ctx, func(s *keptStyle) { s.Style = Neutral() })
}

func (db *DB) changeStyle(ctx context.Context, change func(*keptStyle)) error {
	return db.wrapError("keep the style in", db.inTx(ctx, func(tx *sql.Tx) error {
		s := keptStyle{Style: Neutral()}
		var text string
		err := tx.QueryRowContext(ctx, selectStyle).Scan(&text)
		if err == nil {
			err = json.Unmarshal([]byte(text), &s)
		}
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err //nolint:wrapcheck // changeStyle says what was done
		}
		change(&s)
		data, err := json.Marshal(s)
		if err != nil {
			return err //nolint:wrapcheck // numbers and text can be encoded
		}
		_, err = tx.ExecContext(ctx, `INSERT INTO style (id, data, updated) VALUES (1, ?, ?)
			ON CONFLICT (id) DO UPDATE SET data = excluded.data, updated = excluded.updated`,
			string(data), db.now().UnixNano())
		return err //nolint:wrapcheck // changeStyle says what was done
	}))
}
