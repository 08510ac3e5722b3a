package tui

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/plan-engine/plan/config"
	"github.com/plan-engine/plan/host"
	"github.com/plan-engine/plan/internal/hint"
	"github.com/plan-engine/plan/internal/outward"
	"github.com/plan-engine/plan/internal/scratch"
)

// editedMsg is a plan as the person's editor left it.
type editedMsg struct {
	panel *panel
	text  string
	err   error
}

// edit opens the person's editor on the plan that waits.
func (m *model) edit(p *panel) tea.Cmd {
	env := m.Host.Clear(m.ctx, m.Dir)
	editor := cmp.Or(config.Lookup(env, "VISUAL"), config.Lookup(env, "EDITOR"))
	if editor == "" {
		m.fail(hint.New("no editor is set", "Set VISUAL or EDITOR."))
		return nil
	}
	room, err := scratch.New("", scratch.Edit)
	if err != nil {
		m.fail(fmt.Errorf("make room for the plan: %w", err))
		return nil
	}
	name := filepath.Join(room.Dir, "plan.md")
	if err := os.WriteFile(name, []byte(p.ask.doc.Text+"\n"), 0o600); err != nil {
		_ = room.Close() // a copy of what the journal has
		m.fail(fmt.Errorf("write the plan for the editor: %w", err))
		return nil
	}
	cmd := outward.Command(m.ctx, env, "sh", "-c", editor+` "$1"`, "sh", name)
	cmd.Dir = room.Dir
	return tea.ExecProcess(cmd, func(err error) tea.Msg {
		defer func() { _ = room.Close() }()
		if err != nil {
			return editedMsg{panel: p, err: fmt.Errorf("the editor %q failed: %w", editor, err)}
		}
		data, err := os.ReadFile(name)
		text := strings.TrimSpace(strings.ToValidUTF8(string(data), "�"))
		return editedMsg{panel: p, text: text, err: err}
	})
}

// edited approves the plan that the person wrote in the place of the one that waits.
func (m *model) edited(msg editedMsg) tea.Cmd {
	p := msg.panel
	switch {
	case msg.err != nil:
		m.fail(msg.err)
		return nil
	case p.view.panel != p:
		m.say("It was decided elsewhere meanwhile; what you wrote was not used.")
		return nil
	case msg.text == "" || msg.text == strings.TrimSpace(p.ask.doc.Text):
		p.remark = "The plan is as it was."
		return nil
	}
	c := p.call()
	return m.give(p.view, host.Letter{
		Kind:   host.Approve,
		Call:   c.Call,
		Digest: c.Digest,
		Plan:   msg.text,
	})
}
