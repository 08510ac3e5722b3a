package render

import (
	"io"

	"github.com/plan-engine/plan/config"
	"github.com/plan-engine/plan/host"
	"github.com/plan-engine/plan/host/connect"
)

// SettingsDocument is what `plan config --json` prints.
type SettingsDocument struct {
	config.Config
	Keys []connect.Key `json:"keys"`
}

// Settings writes settings with where each comes from, the home, the files, and which
// keys there are.
func Settings(
	w io.Writer,
	layers []config.Layer,
	keys []connect.Key,
	home string,
	files []host.SettingsFile,
) error {
	text, err := config.Explained(layers)
	if err != nil {
		return err
	}
	err = writef(w, "home        %s\n", home)
	for _, f := range files {
		note := ""
		if f.Missing {
			note = " (there is none)"
		}
		err = writef(w, "file        %s%s\n", SafeLine(f.Path), note)
	}
	for _, k := range keys {
		err = writef(w, "key         %s\n", SafeLine(k.String()))
	}
	if err != nil {
		return err
	}
	return writef(w, "\n%s", text)
}
