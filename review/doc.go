// Package review turns a reviewer's text and the evidence into a verdict, or
// refuses.
//
// It rests on asymmetric caution: a wrong NEEDS_FIX costs a cycle, a wrong
// DONE ships broken work. So whatever cannot be read, contradicts itself or is
// not shown by runs of the engine's own is never an approval.
//
// A review is read with [Parse] and weighed with [Judge]. When Parse fails, or
// Judge has a [Doubt], the reviewer is asked once more with the words of
// [Reask], once for each kind of doubt; an answer that still cannot be read is
// judged by [Final].
//
// What a DONE claims is never believed: [ClaimedLines] says which command lines have to
// be run again, and Judge weighs what they came to on the work and without it.
// [Inspect] looks at the change itself for what a reviewer could overlook.
//
// Every function here is pure. This package must not know about models,
// conversations, journals, processes or files: the commands that ran and the
// results of the checks are handed to it.
package review
