// Package config holds the settings of a run and where they come from.
//
// Settings are read in layers, each over the one before: defaults, the user's
// own file, the repository's file, the environment, the command line. The
// repository's file is somebody else's word: it may lower a bound or add a
// check, and everything else in it is ignored with a warning.
//
// The package must not know what the settings are for: it opens no database,
// calls no model and runs no command.
package config
