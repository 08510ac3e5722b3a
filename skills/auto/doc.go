// Package auto drafts skills from what has worked before, and keeps the drafts
// out until a person says yes.
//
// A [Bucketer] counts successes in a row on tasks of one kind. Three of them
// make a draft: [Gather] takes from each run's journal what it did, and
// [Library.Draft] writes what the runs had in common into a folder of its own,
// never over another one. A draft is invisible to models until its exact bytes
// are approved, and becomes invisible again when they change.
//
// The package must not know SQLite or models. What a run was about is said by
// its journal, and nothing else goes into a draft.
package auto
