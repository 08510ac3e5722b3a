// Package config holds the settings of a run and where they come from.
//
// Settings are read in layers, each over the one before: defaults, the user's
// own file, the repository's file, the environment, the command line. The
// repository's file is not the user's word: it may lower a bound or add a
// check, and everything else in it is ignored with a warning.
//
// Providers are servers of models by name. The settings say where a key is, and
// hold none if they can help it: what is kept or shown of them is [Config.Public].
// Where a key comes from, and what is sent beside it, only the user's own file
// says.
//
// The package must not know what the settings are for: it opens no database,
// calls no model and runs no command.
package config
