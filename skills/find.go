package skills

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/plan-engine/plan/internal/dirhash"
)

// Place is somewhere skills are kept.
type Place interface {
	// Name is what people call the place.
	Name() string
	// Skills reads what is there. A bad skill is a problem and never an
	// error; an error is a place that cannot be asked.
	Skills(ctx context.Context) (Contents, error)
}

// Contents is what one place holds.
type Contents struct {
	Usable   []Skill
	Withheld []Withheld
	Problems []Problem
}

// Catalog is what was found in all places.
type Catalog struct {
	Skills   []Skill // usable, sorted by name
	Shadowed []Shadow
	Withheld []Withheld
	Problems []Problem
}

// Shadow is a skill that another one of the same name hides.
type Shadow struct {
	Skill
	By string // the place of the one that counts
}

// Withheld is a skill that may not be used, and why.
type Withheld struct {
	Skill
	Why string
}

// Problem is a skill that is skipped because something is wrong with it.
type Problem struct {
	Path string
	Err  error
}

// Error says what is wrong where.
func (p Problem) Error() string { return p.Path + ": " + p.Err.Error() }

// Get returns the usable skill of that name.
func (c *Catalog) Get(name string) (Skill, bool) {
	i, ok := slices.BinarySearchFunc(
		c.Skills,
		name,
		func(s Skill, n string) int { return strings.Compare(s.Name, n) },
	)
	if !ok {
		return Skill{}, false
	}
	return c.Skills[i], true
}

// Find reads the skills of all places. Of two skills with the same name the
// one of the earlier place counts.
func Find(ctx context.Context, places ...Place) (*Catalog, error) {
	c := &Catalog{}
	origin := map[string]string{}
	for _, p := range places {
		contents, err := p.Skills(ctx)
		if err != nil {
			return nil, fmt.Errorf("look for skills in %s: %w", p.Name(), err)
		}
		c.Problems = append(c.Problems, contents.Problems...)
		for _, w := range contents.Withheld {
			w.Source = cmp.Or(w.Source, p.Name())
			c.Withheld = append(c.Withheld, w)
		}
		for _, s := range contents.Usable {
			s.Source = p.Name()
			if by, ok := origin[s.Name]; ok {
				c.Shadowed = append(c.Shadowed, Shadow{Skill: s, By: by})
				continue
			}
			origin[s.Name] = p.Name()
			c.Skills = append(c.Skills, s)
		}
	}
	slices.SortFunc(c.Skills, func(a, b Skill) int { return strings.Compare(a.Name, b.Name) })
	return c, nil
}

// Folder is a place on disk whose subfolders are skills. One that is not there
// holds none.
type Folder struct {
	Label string
	Dir   string
	// Allow says whether a skill that is in order may be used, and if not, why.
	// A nil Allow allows every one.
	Allow func(ctx context.Context, s Skill) (why string, ok bool, err error)
}

// Name implements [Place].
func (f Folder) Name() string { return f.Label }

// Skills implements [Place].
func (f Folder) Skills(ctx context.Context) (Contents, error) {
	var contents Contents
	entries, err := os.ReadDir(f.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return contents, nil
	}
	if err != nil {
		contents.Problems = append(contents.Problems, Problem{Path: f.Dir, Err: err})
		return contents, nil
	}
	for _, e := range entries {
		dir := filepath.Join(f.Dir, e.Name())
		if info, err := os.Stat(filepath.Join(dir, File)); err != nil || strings.HasPrefix(e.Name(), ".") ||
			!info.Mode().IsRegular() {
			continue // a folder without a SKILL.md is no skill
		}
		s, _, err := Read(os.DirFS(dir), e.Name())
		if err != nil {
			contents.Problems = append(contents.Problems, Problem{Path: filepath.Join(dir, File), Err: err})
			continue
		}
		s.Dir = dir
		if f.Allow != nil {
			why, ok, err := f.Allow(ctx, s)
			if err != nil {
				return contents, fmt.Errorf("ask whether the skill %s may be used: %w", s.Name, err)
			}
			if !ok {
				contents.Withheld = append(contents.Withheld, Withheld{Skill: s, Why: why})
				continue
			}
		}
		contents.Usable = append(contents.Usable, s)
	}
	return contents, nil
}

// Embedded is a place inside the program: a file system whose top folders are
// skills.
type Embedded struct {
	Label string
	Files fs.FS
}

// Name implements [Place].
func (e Embedded) Name() string { return e.Label }

// Skills implements [Place].
func (e Embedded) Skills(context.Context) (Contents, error) {
	var contents Contents
	entries, err := fs.ReadDir(e.Files, ".")
	if err != nil {
		return contents, fmt.Errorf("list the built-in skills: %w", err)
	}
	for _, entry := range entries {
		sub, err := fs.Sub(e.Files, entry.Name())
		if err != nil {
			return contents, fmt.Errorf("open the built-in skill %s: %w", entry.Name(), err)
		}
		s, _, err := Read(sub, entry.Name())
		if err != nil {
			contents.Problems = append(contents.Problems, Problem{Path: path.Join(entry.Name(), File), Err: err})
			continue
		}
		s.files = sub
		contents.Usable = append(contents.Usable, s)
	}
	return contents, nil
}

// File is the name of the file that makes a folder a skill.
const File = "SKILL.md"

// Manifest is the file in which the engine keeps what it knows of a draft. It
// is never shown to a model and not part of the digest, so that a score can be
// noted without a new review.
const Manifest = "manifest.json"

// Digest is a hash over every file of a skill's folder.
func Digest(folder fs.FS) (string, error) {
	return dirhash.Of(folder, Manifest)
}

// Read reads the skill in a folder of that name, with its body.
func Read(folder fs.FS, name string) (Skill, string, error) {
	digest, err := Digest(folder)
	if err != nil {
		return Skill{}, "", err
	}
	data, err := fs.ReadFile(folder, File)
	if err != nil {
		return Skill{}, "", fmt.Errorf("read the skill: %w", err)
	}
	s, body, err := Parse(data, name)
	s.Digest = digest
	return s, body, err
}

// Load returns the body of a skill and the names of the files beside it. It
// refuses a skill whose bytes have changed since it was found: what is loaded
// is what was allowed.
func Load(s Skill) (body string, files []string, err error) {
	folder := s.files
	if folder == nil {
		folder = os.DirFS(s.Dir)
	}
	now, body, err := Read(folder, s.Name)
	if err != nil {
		return "", nil, fmt.Errorf("load the skill %s: %w", s.Name, err)
	}
	if now.Digest != s.Digest {
		return "", nil, fmt.Errorf("load the skill %s: its files have changed since the run began", s.Name)
	}
	err = fs.WalkDir(folder, ".", func(p string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && p != File && p != Manifest {
			files = append(files, p)
		}
		return err
	})
	if err != nil {
		return "", nil, fmt.Errorf("list the files of the skill %s: %w", s.Name, err)
	}
	return body, files, nil
}

// Text returns a skill's SKILL.md as it is.
func Text(s Skill) ([]byte, error) {
	folder := s.files
	if folder == nil {
		folder = os.DirFS(s.Dir)
	}
	data, err := fs.ReadFile(folder, File)
	if err != nil {
		return nil, fmt.Errorf("read the skill %s: %w", s.Name, err)
	}
	return data, nil
}

// LoadFile returns a file beside a skill's SKILL.md. Like [Load] it refuses a
// skill whose bytes have changed.
func LoadFile(s Skill, name string) ([]byte, error) {
	if _, files, err := Load(s); err != nil {
		return nil, err
	} else if !slices.Contains(files, name) {
		return nil, fmt.Errorf("the skill %s has no file %q; it has: %s", s.Name, name, strings.Join(files, ", "))
	}
	folder := s.files
	if folder == nil {
		folder = os.DirFS(s.Dir)
	}
	data, err := fs.ReadFile(folder, name)
	if err != nil {
		return nil, fmt.Errorf("read a file of the skill %s: %w", s.Name, err)
	}
	return data, nil
}
