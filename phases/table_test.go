package phases_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/phases"
	"github.com/plan-engine/plan/tools"
)

// TestEveryPhaseIsDescribed: what the workflow knows as a phase has words, tools
// and work here, and no built-in tool is left that no phase offers.
func TestEveryPhaseIsDescribed(t *testing.T) {
	t.Parallel()
	kit, err := phases.NewKit(nil, true)
	if err != nil {
		t.Fatal(err)
	}
	kit = kit.WithSkills(plan.Phases()...).WithOutside(phases.Outsiders{Further: func(bool) bool { return true }})
	var offered []string
	for _, p := range append(plan.Phases(), plan.Critique) {
		if kit.Prompts[string(p)] == "" {
			t.Errorf("%s has no prompt of its name", p)
		}
		names := kit.Offer[p]
		offered = append(offered, names...)
		if !slices.IsSortedFunc(names, func(a, b string) int {
			return slices.Index(tools.Names(), a) - slices.Index(tools.Names(), b)
		}) {
			t.Errorf("the tools of %s are not in the order in which tools are offered: %v", p, names)
		}
		writes := slices.ContainsFunc(names, func(n string) bool { return tools.PurposeOf(n) == tools.Modify })
		if writes != phases.TraitsOf(p).Writes {
			t.Errorf("%s has tools that change files: %v, and may write: %v", p, writes, !writes)
		}
	}
	if len(kit.Offer) != len(plan.Phases())+1 {
		t.Errorf("the kit has tools for %d phases", len(kit.Offer))
	}
	for _, name := range tools.Names() {
		if !slices.Contains(offered, name) {
			t.Errorf("no phase offers %s: no row of table.go has its purpose, %s", name, tools.PurposeOf(name))
		}
	}
	if unknown := phases.TraitsOf("elsewhere"); unknown != (phases.Traits{}) {
		t.Errorf("a phase that is not known has %+v", unknown)
	}
}

// contract are the tools that outside programs know. Others may stand between.
const contract = " read grep glob list_dir symbols bash prune skill write edit apply_patch remember ask "

// TestOffers is who may use what of the tools that outside programs know.
func TestOffers(t *testing.T) {
	t.Parallel()
	const look = "read grep glob list_dir symbols"
	kit, err := phases.NewKit(nil, false)
	if err != nil {
		t.Fatal(err)
	}
	withCommands, err := phases.NewKit(nil, true)
	if err != nil {
		t.Fatal(err)
	}
	for p, want := range map[plan.Phase][3]string{ // plain, with commands, with commands and skills
		plan.Explore: {look + " prune ask", look + " bash prune ask", look + " bash prune skill ask"},
		plan.Plan:    {look + " prune ask", look + " bash prune ask", look + " bash prune skill ask"},
		plan.Implement: {
			look + " bash prune write edit apply_patch remember ask",
			look + " bash prune write edit apply_patch remember ask",
			look + " bash prune skill write edit apply_patch remember ask",
		},
		plan.Review:   {look + " bash prune", look + " bash prune", look + " bash prune"},
		plan.Critique: {look, look, look},
	} {
		for i, k := range []phases.Kit{kit, withCommands, withCommands.WithSkills(plan.Phases()...)} {
			names := slices.DeleteFunc(slices.Clone(k.Offer[p]), func(n string) bool {
				return !strings.Contains(contract, " "+n+" ")
			})
			if got := strings.Join(names, " "); got != want[i] {
				t.Errorf("%s offers %s, want %s", p, got, want[i])
			}
		}
	}
}

// TestSkillsAreOfferedWhereOneIsOfUse: a phase that has none to load begins as others do.
func TestSkillsAreOfferedWhereOneIsOfUse(t *testing.T) {
	t.Parallel()
	kit, err := phases.NewKit(nil, true)
	if err != nil {
		t.Fatal(err)
	}
	kit = kit.WithSkills(plan.Implement, plan.Review)
	for _, p := range plan.Phases() {
		if got := slices.Contains(kit.Offer[p], "skill"); got != (p == plan.Implement) {
			t.Errorf("%s has %v", p, kit.Offer[p])
		}
	}
}

// TestListsOfToolsBeginAlike: of what a server keeps of one phase's requests, those of the
// next one use the beginning.
func TestListsOfToolsBeginAlike(t *testing.T) {
	t.Parallel()
	kit, err := phases.NewKit(nil, true)
	if err != nil {
		t.Fatal(err)
	}
	for name, k := range map[string]phases.Kit{"attended": kit, "alone": kit.Unattended()} {
		review := k.Offer[plan.Review]
		if !slices.Contains(review, "bash") || !slices.Contains(review, "recall") {
			t.Errorf("%s, Review offers %v", name, review)
		}
		for _, p := range plan.Phases() {
			if names := k.Offer[p]; len(names) < len(review) || !slices.Equal(names[:len(review)], review) {
				t.Errorf("%s, %s offers %v, which does not begin with %v", name, p, names, review)
			}
		}
	}
}
