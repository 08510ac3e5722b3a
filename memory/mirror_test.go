package memory_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/memory"
)

// otherPlace is a mirror that fails as it is told.
type otherPlace struct {
	parts []memory.Part
	fail  func() error
}

func (o *otherPlace) Append(_ context.Context, p memory.Part) error {
	if o.fail != nil {
		if err := o.fail(); err != nil {
			return err
		}
	}
	o.parts = append(o.parts, p)
	return nil
}

var errAway = errors.New("away")

// What a mirror does not keep is not appended, and what it has kept makes the same journal
// in another database, from wherever that stands.
func TestAMirrorHasAllThatIsAppended(t *testing.T) {
	t.Parallel()
	db, other := open(t, t.TempDir()), open(t, t.TempDir())
	w := own(t, db, "R")
	m := &otherPlace{}
	w.MirrorTo(m)
	blob := plan.NewBlob([]byte("large"))
	first := runStart("R")
	first.Blobs = []plan.Blob{blob}
	for _, events := range [][]plan.Event{{first}, {report("R", "a"), report("R", "b")}} {
		if _, err := w.Append(t.Context(), events...); err != nil {
			t.Fatal(err)
		}
	}
	m.fail = func() error { return errAway }
	for range 2 { // after the first failure, too
		if _, err := w.Append(t.Context(), report("R", "c")); !errors.Is(err, errAway) {
			t.Errorf("a mirror that failed: %v", err)
		}
	}
	if _, err := w.AppendHere(t.Context(), report("R", "here alone")); err != nil {
		t.Fatal(err)
	}
	if got := linesOf(t, db, "R"); len(got) != 4 || len(m.parts) != 2 {
		t.Fatalf("%d events here, %d parts there", len(got), len(m.parts))
	}

	o := own(t, other, "R")
	for _, p := range m.parts {
		if err := o.AppendLines(t.Context(), p.Lines, p.Blobs, nil); err != nil {
			t.Fatal(err)
		}
	}
	want := linesOf(t, db, "R")[:3]
	if got := linesOf(t, other, "R"); !slices.Equal(got, want) {
		t.Errorf("there it is\n%q\nand not\n%q", got, want)
	}
	if data, err := other.Blob(t.Context(), blob.Hash); err != nil || string(data) != "large" {
		t.Errorf("the content: %q %v", data, err)
	}
	if _, err := o.Append(t.Context(), report("R", "gone on")); err != nil {
		t.Fatal(err)
	}
	if err := o.AppendLines(t.Context(), m.parts[1].Lines, nil, nil); err == nil {
		t.Error("what does not follow was appended")
	}

	if err := w.Rewind(t.Context(), 3); err != nil {
		t.Fatal(err)
	}
	went := linesOf(t, other, "R")
	if err := w.AppendLines(t.Context(), [][]byte{[]byte(went[3])}, nil, nil); err != nil {
		t.Fatal(err)
	}
	if got := linesOf(t, db, "R"); !slices.Equal(got, went) {
		t.Errorf("brought together it is\n%q\nand not\n%q", got, went)
	}
	for _, d := range []*memory.DB{db, other} {
		if found, err := d.Audit(t.Context(), nil); err != nil {
			t.Errorf("audit: %+v, %v", found, err)
		}
	}
}

// A letter that comes while the mirror is asked keeps an append back that must not leave
// one unread, and no other.
func TestALetterComesBeforeTheMirrorHasThePart(t *testing.T) {
	t.Parallel()
	db := open(t, t.TempDir())
	w := own(t, db, "R")
	if _, err := w.Append(t.Context(), runStart("R")); err != nil {
		t.Fatal(err)
	}
	told := 0
	m := &otherPlace{fail: func() error {
		if told++; told%2 == 0 {
			return nil
		}
		if _, err := db.Post(t.Context(), "R", "steer", nil); err != nil {
			return err
		}
		return memory.ErrNewLetters
	}}
	w.MirrorTo(m)
	_, err := w.AppendUnlessUnread(t.Context(), []string{"steer"}, nil, report("R", "a"))
	if !errors.Is(err, memory.ErrUnread) || len(m.parts) != 0 {
		t.Errorf("%d parts, %v", len(m.parts), err)
	}
	if _, err := w.Append(t.Context(), report("R", "b")); err != nil || len(m.parts) != 1 {
		t.Errorf("%d parts, %v", len(m.parts), err)
	}
	m.fail = nil
	letters, err := w.Letters(t.Context())
	if err != nil || len(letters) != 1 {
		t.Fatalf("%d letters, %v", len(letters), err)
	}
	if _, err := w.AppendTaking(t.Context(), []int64{letters[0].ID}, report("R", "c")); err != nil {
		t.Error(err)
	}
	if last := m.parts[len(m.parts)-1]; !slices.Equal(last.Letters, []int64{letters[0].ID}) {
		t.Errorf("the mirror is told of the letters %v", last.Letters)
	}
}

func linesOf(t *testing.T, db *memory.DB, run plan.RunID) (out []string) {
	t.Helper()
	for _, l := range lines(t, db, run) {
		out = append(out, string(l.JSON))
	}
	return out
}
