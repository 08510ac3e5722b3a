// Package build says what this build of a program was made of.
package build

import (
	"fmt"
	"io"
	"runtime/debug"
	"strings"
	"time"
)

// Version is the version of this build.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "devel"
	}
	return strings.Trim(info.Main.Version, "()")
}

// Commit is the commit of this build, where it knows one.
func Commit() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	id, dirty := "", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			id = s.Value[:min(12, len(s.Value))]
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = ", changed"
		}
	}
	if id == "" {
		return ""
	}
	return " (" + id + dirty + ")"
}

// Date is when the commit of this build was made, and now where that is not known.
func Date(now time.Time) time.Time {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return now
	}
	for _, s := range info.Settings {
		if at, err := time.Parse(time.RFC3339, s.Value); s.Key == "vcs.time" && err == nil {
			return at
		}
	}
	return now
}

// Write says it in a line.
func Write(w io.Writer) error {
	if _, err := fmt.Fprintln(w, "plan", Version()+Commit()); err != nil {
		return fmt.Errorf("say the version: %w", err)
	}
	return nil
}
