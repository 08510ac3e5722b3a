// Package skills chooses a skill by its record, drafts new ones, and keeps
// drafts out until a person says yes.
//
// A skill is a folder with a SKILL.md in the open Agent Skills format: a
// frontmatter that says when to use it, and a body that says how. [Find] reads
// the folders, [NewIndex] knows which skills have to do with a request, and
// [Router.Choose] picks one of those by Thompson sampling over what is known of
// their past: the verdicts of reviews, never the word of the model that used
// them. Drafts are made by the package skills/auto below this one.
//
// The package must not know SQLite, models or phases. What it remembers, it
// remembers through the small interfaces it declares.
package skills
