// Package review turns a reviewer's text and the evidence into a verdict, or
// refuses.
//
// It rests on asymmetric caution: a wrong NEEDS_FIX costs a cycle, a wrong
// DONE ships broken work. So whatever cannot be read, contradicts itself or is
// not shown by the record to have happened is never an approval.
//
// A review is read with [Parse] and weighed with [Judge]. When Parse fails, or
// Judge has a [Doubt], the reviewer is asked once more with the words of
// [Reask]; when the second answer is no better, [Final] settles it.
//
// [Inspect] looks at the change itself for what a reviewer could overlook, and
// [Masked] says whether the exit code of a command line can be believed.
//
// Every function here is pure. This package must not know about models,
// conversations, journals, processes or files: the commands that ran and the
// results of the checks are handed to it.
package review
