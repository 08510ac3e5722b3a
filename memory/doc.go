// Package memory is one SQLite file that remembers runs: their journals, the
// large contents that the journals refer to, and what other processes ask of
// them.
//
// # The journal
//
// A run is an append-only list of events. A process that wants to write one
// owns it first:
//
//	w, err := db.Own(ctx, run)
//	...
//	events, err = w.Append(ctx, events...)
//
// What is promised:
//
//   - Durable on return. When Append returns, its events and their blobs are
//     committed and synced (WAL, synchronous=FULL); killing the process or
//     cutting the power does not lose them. The events of one Append are stored
//     together or not at all.
//   - Gapless. The events of a run are numbered 1, 2, 3, … in the order of
//     their appends.
//   - One writer. A run is owned through a kernel file lock, which ends with
//     the process that holds it. Should two processes ever believe that they
//     own a run, a fencing token in the database stops the earlier one.
//   - No writing on. After a failed append a Writer is of no use: it is not known
//     what the failed one left behind, so the run must be read again.
//   - Together. What many runs of a process append at the same time is committed
//     in one transaction; one that fails does not fail the others.
//   - In turn. Processes write in the order in which they come, and wait for as long
//     as those before them live.
//   - Cancellation does not reach Append, so how far a cancelled run got can
//     still be written down. Everything else stops when its context ends.
//   - Readers never miss a durable event and never see one that is not. They
//     read the bytes that were committed, in order, from any process, and they
//     do not block the writer. Each event carries a hash over all before it,
//     and who reads a journal gets an error instead of an event that is not what
//     was committed.
//
// The row of a run, which [DB.Runs] and [DB.Run] return, is a projection of its
// journal that changes in the same transaction.
//
// # The inbox
//
// Processes that do not own a run never write its journal: they post letters,
// which the owner takes in the same transaction as the events it makes of them.
// So every letter takes effect once, or waits.
//
// # Faults
//
// A disk that is full or read-only, a process that stopped in the middle of a write, a file
// that is taken away: the append fails, the error says what to do, and nothing
// of it is stored. [DB.Audit] reads everything and says what is damaged;
// [DB.Backup] makes a proven copy while runs go on, of what is whole if need be. On a network file system,
// where hosts share no memory, a rollback journal stands for the write-ahead
// log.
//
// # What this package must not know
//
// It does not know what phases, models, tools or git are, or what a state
// leads to. Of the module it imports the root package and helpers alone, and is
// the only package that knows SQLite, for which it needs cgo.
package memory
