package loop

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop/account"
	"github.com/plan-engine/plan/loop/compact"
	"github.com/plan-engine/plan/loop/estimate"
	"github.com/plan-engine/plan/loop/makeup"
	"github.com/plan-engine/plan/loop/prompt"
	"github.com/plan-engine/plan/loop/storm"
	"github.com/plan-engine/plan/loop/textcalls"
)

// Loop is one conversation. It is used by one goroutine at a time.
type Loop struct {
	cfg       Config
	offered   map[string]*offer
	inner     map[string]*offer // tools that calls of a dispatcher meant
	specs     []Spec
	names     []string         // of the offered tools
	textTools []textcalls.Tool // the same, as calls in text are looked for

	messages  []plan.Message
	prefix    prompt.Prefix
	makeup    makeup.Makeup
	turn      int // index of the current or next turn
	used      int // turns begun in this attempt
	account   *account.Account
	depth     int           // 0; of a sub-agent, how deep it stands
	grace     time.Duration // how long a tool may take to return once it was cancelled
	gating    sync.Mutex    // held while the gate decides for a sub-agent
	last      StopReason
	spokeAt   time.Time // when the model answered last; zero: not known
	open      openTurn
	conv      stretch    // of the conversation, that has begun and not ended
	turnUsage plan.Usage // of the open turn
	turnCost  float64    // USD
	reopened  int        // how often hooks reopened the conversation in this attempt
	storm     storm.Breaker
	size      estimate.Estimator
	counted   int64 // of the next request, uncorrected
	summed    int   // messages that are in it
	compactor compact.Compactor

	learnedWindow learnedWindow // of the model's window
	windowSet     bool          // a hook has named the window
	reliefs       int           // requests in a row that were made smaller for being too long
	sentTo        string        // the model of the latest recorded request

	complained bool // it was said that the server cuts what it is sent

	stuck   string  // why the storm breaker ended the conversation
	taking  []int64 // letters whose taking is not yet recorded
	stopped bool    // a hook or the tools ended the loop after this turn
	busy    atomic.Bool

	kind    Kind              // how the next turn comes to go on, if Continue said so
	rulings map[string]Ruling // what Resume was given, by call

	queue []plan.Event // recorded with the next commit
	dead  error        // why nothing can be recorded any more
}

// ErrBusy is returned by Run while another Run of the same loop is on.
var ErrBusy = errors.New("this conversation is already running")

// New makes a loop, as it stood when past was journalled. Past holds the
// durable events of this conversation in order; nil starts a new one.
func New(cfg Config, past []plan.Event) (*Loop, error) {
	if cfg.Model == nil || cfg.Emit == nil {
		return nil, errors.New("loop: a model and an emit function are needed")
	}
	if err := cfg.Strategy.check(); err != nil {
		return nil, err
	}
	cfg = cfg.withDefaults()
	var err error
	if cfg.System, err = prompt.WithSkills(cfg.System, cfg.Skills); err != nil {
		return nil, err
	}
	cfg.Skills = nil
	l := &Loop{
		cfg:     cfg,
		offered: map[string]*offer{},
		inner:   map[string]*offer{},
		grace:   grace,
		account: account.New(cfg.Limits, cfg.Spent, cfg.Cost),
	}
	if p := cfg.Part; p.Name != "" {
		l.account = account.NewPart(l.account, p.Name, p.Limits, p.Spent, p.Cost)
	}
	for _, t := range cfg.Tools {
		info := t.Info()
		if _, twice := l.offered[info.Name]; twice {
			return nil, fmt.Errorf("loop: tool %s is offered twice", info.Name)
		}
		if err := checkTasks(info); err != nil {
			return nil, err
		}
		l.offered[info.Name] = newOffer(t)
		l.specs = append(l.specs, info.Spec)
		l.names = append(l.names, info.Name)
		l.textTools = append(l.textTools, textcalls.Tool{Name: info.Name, Schema: info.Schema})
	}
	l.size.Count = cfg.Count
	l.makeup = makeup.Makeup{Prompt: cfg.Parts, Shows: l.shows}
	l.compactor = compact.Compactor{
		Level:    cfg.Compaction,
		Size:     l.size.Size,
		Verbatim: l.asks,
	}
	l.updateWindow()
	l.storm.Config = storm.Config{
		Mutating: l.mutating,
		Exempt:   l.repeatable,
		Shell:    l.runsCommands,
	}
	if err := l.prefix.Start(cfg.Name, cfg.System, l.specs); err != nil {
		return nil, err
	}
	l.messages = slices.Clone(cfg.Before)
	if err := l.restore(past); err != nil {
		return nil, err
	}
	return l, nil
}

// Messages is the conversation as the model sees it. It must not be changed.
func (l *Loop) Messages() []plan.Message { return l.messages }
