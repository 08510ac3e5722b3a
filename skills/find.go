package skills

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Place is a folder whose subfolders are skills. Of two skills with the same
// name the one of the earlier place counts.
type Place struct {
	Name string // what people call it
	Dir  string // absolute path; a folder that is not there holds no skills
	// Allow says whether a skill of this place may be used. A nil Allow allows
	// every one. It is asked only for skills that are in order.
	Allow func(ctx context.Context, s Skill) (ok bool, why string, err error)
}

// Catalog is what was found.
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
	Path string // of its SKILL.md
	Err  error
}

// Error says what is wrong where.
func (p Problem) Error() string { return p.Path + ": " + p.Err.Error() }

// Get returns the usable skill of that name.
func (c *Catalog) Get(name string) (Skill, bool) {
	i, ok := slices.BinarySearchFunc(c.Skills, name, func(s Skill, n string) int { return strings.Compare(s.Name, n) })
	if !ok {
		return Skill{}, false
	}
	return c.Skills[i], true
}

// Find reads the skills of the places. A bad skill is a problem in the catalog
// and never an error; an error is a place that cannot be asked.
func Find(ctx context.Context, places ...Place) (*Catalog, error) {
	c := &Catalog{}
	taken := map[string]string{}
	for _, p := range places {
		entries, err := os.ReadDir(p.Dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			c.Problems = append(c.Problems, Problem{Path: p.Dir, Err: err})
			continue
		}
		for _, e := range entries {
			if err := c.add(ctx, p, e.Name(), taken); err != nil {
				return nil, err
			}
		}
	}
	slices.SortFunc(c.Skills, func(a, b Skill) int { return strings.Compare(a.Name, b.Name) })
	return c, nil
}

// add takes one subfolder of a place into the catalog.
func (c *Catalog) add(ctx context.Context, p Place, folder string, taken map[string]string) error {
	dir := filepath.Join(p.Dir, folder)
	file := filepath.Join(dir, "SKILL.md")
	if info, err := os.Stat(file); err != nil || strings.HasPrefix(folder, ".") || !info.Mode().IsRegular() {
		return nil //nolint:nilerr // a folder without a SKILL.md is no skill
	}
	s, _, err := Read(dir)
	if err != nil {
		c.Problems = append(c.Problems, Problem{Path: file, Err: err})
		return nil
	}
	s.Source = p.Name
	if p.Allow != nil {
		ok, why, err := p.Allow(ctx, s)
		if err != nil {
			return fmt.Errorf("ask whether the skill %s may be used: %w", s.Name, err)
		}
		if !ok {
			c.Withheld = append(c.Withheld, Withheld{Skill: s, Why: why})
			return nil
		}
	}
	if by, ok := taken[s.Name]; ok {
		c.Shadowed = append(c.Shadowed, Shadow{Skill: s, By: by})
		return nil
	}
	taken[s.Name] = p.Name
	c.Skills = append(c.Skills, s)
	return nil
}

// Read reads the skill in a folder, with its body.
func Read(dir string) (Skill, string, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return Skill{}, "", fmt.Errorf("open the skill: %w", err)
	}
	defer root.Close() //nolint:errcheck // it was only read
	data, err := fs.ReadFile(root.FS(), "SKILL.md")
	if err != nil {
		return Skill{}, "", fmt.Errorf("read the skill: %w", err)
	}
	s, body, err := Parse(data, filepath.Base(dir))
	if err != nil {
		return Skill{}, "", err
	}
	if s.Digest, err = Digest(root.FS()); err != nil {
		return Skill{}, "", err
	}
	s.Dir = dir
	return s, body, nil
}
