package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
	"sync"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop"
)

// changer is a tool that changes files: a call is worked out first, and
// carried out then.
type changer[A any] struct {
	set  *Set
	info loop.Info
	// work puts into w what the call does. An error is for the model, and
	// means that the call does nothing.
	work func(ctx context.Context, w *working, args A) error
	// prepared is the call that was worked out last, so that carrying it out
	// need not work it out again.
	prepared prepared
}

type prepared struct {
	mu  sync.Mutex
	key string
	w   *working
}

// put remembers what was worked out for a call.
func (p *prepared) put(key string, w *working) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.key, p.w = key, w
}

// take returns what was worked out for a call, once.
func (p *prepared) take(key string) *working {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.key != key {
		return nil
	}
	w := p.w
	p.key, p.w = "", nil
	return w
}

// changes makes a tool that changes files of what works its calls out.
func changes[A any](work func(context.Context, *working, A) error) func(*Set, loop.Info) loop.Tool {
	return func(s *Set, info loop.Info) loop.Tool {
		info.Schema = schemaOf[A]()
		return &changer[A]{
			set:  s,
			info: info,
			work: work,
		}
	}
}

// changeInfo is what the loop knows of a tool that changes files.
func changeInfo(name, doc string) loop.Info {
	return loop.Info{
		Spec:     spec(name, doc),
		Effect:   plan.EffectVerifiable,
		Serial:   true,
		Writes:   true,
		Category: loop.CategoryEdit,
	}
}

// Info implements loop.Tool.
func (t *changer[A]) Info() loop.Info { return t.info }

// Run implements loop.Tool: it works a call out and carries it out.
func (t *changer[A]) Run(ctx context.Context, in loop.Input) (loop.Result, error) {
	t.set.writing.Lock()
	defer t.set.writing.Unlock()
	if ctx.Err() != nil {
		return cancelled(), nil
	}
	if in.Key == "" {
		in.Key = hashOf(fmt.Appendf(nil, "%d %s %s", os.Getpid(), in.Call, in.Args))[:32]
	}
	return t.carryOut(ctx, in, t.prepare(ctx, in)), nil
}

// Prepare implements loop.Verifiable.
func (t *changer[A]) Prepare(ctx context.Context, in loop.Input) (plan.Intent, error) {
	t.set.writing.Lock()
	defer t.set.writing.Unlock()
	return t.prepare(ctx, in), nil
}

// Apply implements loop.Verifiable.
func (t *changer[A]) Apply(ctx context.Context, in loop.Input, intent plan.Intent) (loop.Result, error) {
	t.set.writing.Lock()
	defer t.set.writing.Unlock()
	return t.carryOut(ctx, in, intent), nil
}

func (t *changer[A]) prepare(ctx context.Context, in loop.Input) plan.Intent {
	w, err := t.workOut(ctx, in, nil)
	if err != nil {
		return plan.Intent{
			Key:    in.Key,
			Output: clean([]byte(err.Error())),
			Error:  true,
		}
	}
	t.prepared.put(in.Key, w)
	return w.intent(in.Key)
}

// workOut works a call out, for files of which some may be done already.
func (t *changer[A]) workOut(ctx context.Context, in loop.Input, done map[string]bool) (*working, error) {
	var args A
	if err := json.Unmarshal(in.Args, &args); err != nil {
		return nil, fmt.Errorf("%s: the arguments do not fit the schema: %w", t.info.Name, err)
	}
	w := &working{
		set:   t.set,
		key:   in.Key,
		files: map[string]*entry{},
		done:  done,
	}
	if err := t.work(ctx, w, args); err != nil {
		return nil, err
	}
	if name, ok := w.leaks(); ok {
		return nil, fmt.Errorf(
			"this would write a mark like %s…» or %s into %s. The mark stands for a secret that is there, or belongs "+
				"there, and that you are not shown; the file would lose it. Nothing was changed. Change the other "+
				"parts of the file with edit, and leave the secret to the person",
			plan.SecretMark,
			addressMark,
			show(name),
		)
	}
	return w, nil
}

// carryOut carries an intent out as far as that has not happened yet.
func (t *changer[A]) carryOut(ctx context.Context, in loop.Input, intent plan.Intent) loop.Result {
	if len(intent.Files) == 0 {
		return loop.Result{Output: intent.Output, Error: intent.Error}
	}
	w := t.prepared.take(intent.Key)
	if w == nil {
		t.set.sweep(intent)
	}
	st := t.set.compareFiles(intent)
	switch {
	case st.odd:
		return st.conflict("")
	case st.left == 0:
		return t.set.resultOf(intent, st.done)
	case len(st.done) == 0 && ctx.Err() != nil:
		return cancelled()
	case w == nil || len(st.done) > 0:
		var err error
		if w, err = t.workOut(ctx, in, st.done); err != nil {
			return st.conflict(err.Error())
		}
		if name, ok := w.makes(intent, st.done); !ok {
			return st.conflict("what is left to do cannot be worked out again for " + show(name))
		}
	}
	if err := w.commit(); err != nil {
		return loop.Failed(clean([]byte(err.Error())))
	}
	w.remember()
	return t.set.resultOf(intent, st.done)
}

// cancelled is the result of a call that came too late.
func cancelled() loop.Result {
	res := loop.Failed("cancelled before anything was written")
	res.Status = "cancelled"
	return res
}

// fileStates is how the files of an intent are now.
type fileStates struct {
	intent plan.Intent
	done   map[string]bool // those changed, by where they really are
	left   int             // how many are to be changed
	words  []string        // of each file
	odd    bool            // some file is neither as before nor as after
}

// compareFiles compares the files with an intent.
func (s *Set) compareFiles(intent plan.Intent) fileStates {
	st := fileStates{intent: intent, done: map[string]bool{}}
	for _, c := range intent.Files {
		target := c.Names()[len(c.Names())-1]
		f, err := s.load(c.Path)
		now := ""
		if f.exists {
			now = hashOf(f.data)
		}
		switch {
		case err != nil:
			st.odd = true
			st.words = append(st.words, err.Error())
		case f.target != target:
			st.odd = true
			st.words = append(st.words, show(c.Path)+": it leads to another file now")
		case now == c.After && (c.Mode == "" || c.Mode == octal(f.mode)):
			if c.Before != c.After || c.Mode != "" {
				st.done[target] = true
			}
			st.words = append(st.words, show(c.Path)+": as this call leaves it")
		case now == c.Before:
			st.left++
			st.words = append(st.words, show(c.Path)+": as it was before")
		default:
			st.odd = true
			st.words = append(
				st.words,
				show(
					c.Path,
				)+": changed by somebody else; it is neither as it was before this call nor as this call leaves it",
			)
		}
	}
	return st
}

// conflict tells the model how things stand.
func (st fileStates) conflict(why string) loop.Result {
	text := "This call cannot be brought to its end: the files are no longer as they were when it was begun. " +
		"Nothing was written over.\n- " +
		strings.Join(
			st.words,
			"\n- ",
		)
	if why != "" {
		text += "\n(" + why + ")"
	}
	return loop.Result{
		Output: clean([]byte(text + "\nRead these files again and decide what is still needed.")),
		Error:  true,
		Status: "conflict",
	}
}

// resultOf is the result of an intent whose files are as it leaves them. Those
// that an earlier process has done are made to survive a loss of power, because
// it may have died before it saw to that.
func (s *Set) resultOf(intent plan.Intent, done map[string]bool) loop.Result {
	res := loop.Result{
		Output: intent.Output,
		Error:  intent.Error,
		Files:  map[string]string{},
	}
	for _, c := range intent.Files {
		for _, name := range c.Names() {
			s.note(name, c.After)
			res.Files[name] = c.After
		}
	}
	for target := range done {
		if err := s.syncDirs([]string{path.Dir(target)}); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return loop.Failed(
				clean([]byte(intent.Output + "\nBut it may not survive a loss of power: " + err.Error())),
			)
		}
	}
	return res
}

// sweep removes what a killed process left beside the files of an intent:
// nothing but the one name that this very call gives its temporary files.
func (s *Set) sweep(intent plan.Intent) {
	for _, c := range intent.Files {
		target := c.Names()[len(c.Names())-1]
		_ = s.root.Remove(tempName(path.Dir(target), intent.Key)) // most often there is none
	}
}

// tempName is the name under which a call writes a file before it is put in
// place.
func tempName(dir, key string) string { return path.Join(dir, plan.TempName(key)) }

// octal is how an intent writes permission bits.
func octal(mode fs.FileMode) string { return fmt.Sprintf("%04o", mode.Perm()) }
