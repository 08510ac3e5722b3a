package skills

import (
	"cmp"
	"math"
	"slices"

	"github.com/plan-engine/plan"
)

// BM25 with the usual constants. A word of the name weighs as much as
// nameWeight words of the description.
const (
	bm25K      = 1.2
	bm25B      = 0.75
	nameWeight = 3
)

// Index knows which skills have to do with a request.
type Index struct {
	skills   []Skill
	lengths  []float64
	mean     float64
	postings map[string][]posting
	names    []int // how many terms each skill's name has
}

type posting struct {
	skill  int
	weight float64
	name   bool // the word is in the skill's name
}

// Match is a skill that has to do with a request.
type Match struct {
	Skill Skill
	Score float64 // BM25; only good for comparing matches of one request
}

// NewIndex indexes skills by their names and descriptions.
func NewIndex(skills []Skill) *Index {
	ix := &Index{
		skills:   skills,
		lengths:  make([]float64, len(skills)),
		postings: map[string][]posting{},
		names:    make([]int, len(skills)),
	}
	for i, s := range skills {
		weights := map[string]posting{}
		for _, t := range Terms(s.Description) {
			weights[t] = posting{skill: i, weight: 1}
		}
		name := Terms(s.Name)
		ix.names[i] = len(name)
		for _, t := range name {
			weights[t] = posting{
				skill:  i,
				weight: weights[t].weight + nameWeight,
				name:   true,
			}
		}
		for t, p := range weights {
			ix.postings[t] = append(ix.postings[t], p)
			ix.lengths[i] += p.weight
		}
		ix.mean += ix.lengths[i] / float64(len(skills))
	}
	return ix
}

// Relevant returns at most n skills that have to do with the request in the
// phase, the best first. To count, a skill has to share two words with the request,
// or the whole of its name: one word such as "go" says nothing. Hidden skills never
// count.
func (ix *Index) Relevant(request string, p plan.Phase, n int) []Match {
	type hit struct {
		score float64
		words int
		name  int // of the words, those of its name
	}
	hits := map[int]hit{}
	total := float64(len(ix.skills))
	for _, t := range Terms(request) {
		list := ix.postings[t]
		idf := math.Log(1 + (total-float64(len(list))+0.5)/(float64(len(list))+0.5))
		for _, post := range list {
			f := hits[post.skill]
			norm := bm25K * (1 - bm25B + bm25B*ix.lengths[post.skill]/ix.mean)
			f.score += idf * post.weight * (bm25K + 1) / (post.weight + norm)
			f.words++
			if post.name {
				f.name++
			}
			hits[post.skill] = f
		}
	}
	var out []Match
	for i, f := range hits {
		if s := ix.skills[i]; (f.words >= 2 || f.name > 0 && f.name == ix.names[i]) && !s.Hidden && s.For(p) {
			out = append(out, Match{Skill: s, Score: f.score})
		}
	}
	slices.SortFunc(out, func(a, b Match) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Skill.Name, b.Skill.Name))
	})
	return out[:min(len(out), n)]
}
