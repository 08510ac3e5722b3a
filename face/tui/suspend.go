package tui

import (
	"os"
	"os/signal"
	"syscall"
	"time"

	tea "charm.land/bubbletea/v2"
)

// suspender stops the process until it is continued.
type suspender struct{ suspend func() }

func (s suspender) Run() error {
	s.suspend()
	return nil
}

// suspend gives the terminal back and stops, as the shell's Ctrl-Z does.
func (m *model) suspend() tea.Cmd {
	stop := m.Suspend
	if stop == nil {
		stop = stopUntilContinued
	}
	return tea.Exec(tty{suspender{stop}}, func(error) tea.Msg { return nil })
}

// stopUntilContinued signals the group of this process, as a terminal does. What
// catches the signal stops the process where no other one waits for it. A process that
// no shell could continue is never stopped, and goes on.
func stopUntilContinued() {
	goesOn := make(chan os.Signal, 1)
	signal.Notify(goesOn, syscall.SIGCONT)
	defer signal.Stop(goesOn)
	if syscall.Kill(0, syscall.SIGTSTP) != nil {
		return
	}
	const patience = time.Second
	select {
	case <-goesOn:
	case <-time.After(patience):
	}
}
