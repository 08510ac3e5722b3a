package tui

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/plan-engine/plan/config"
)

// notify rings the bell of the terminal, and has it tell, where a run waits for the
// person or has ended.
func (m *model) notify(v *view) tea.Cmd {
	if m.Host == nil || v.panel == nil && !v.story.Final() && v.story.Parked == nil {
		return nil
	}
	cfg, err := m.Host.Settings("", config.Config{})
	if err != nil {
		return nil // whatever needs the settings says so
	}
	text := bell(cfg.Terminal, "plan: "+v.mark()+": "+v.story.Title)
	if text == "" {
		return nil
	}
	return tea.Raw(text)
}

// bell is what a terminal is sent to tell a person something: the bell, and a
// notification as the settings want it.
func bell(how config.TerminalConfig, text string) string {
	out := ""
	text = strings.ReplaceAll(clean(text), ";", ",")
	switch how.Notify {
	case "osc9":
		out = "\x1b]9;" + text + "\x07"
	case "osc777":
		out = "\x1b]777;notify;plan;" + text + "\x07"
	}
	if how.Bell == nil || *how.Bell {
		out += "\a"
	}
	return out
}
