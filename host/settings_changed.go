package host

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/host/connect"
)

// compareSettings says what is different between two settings of a run; nil
// for nothing. They are kept without what may be a key.
func compareSettings(previous, current stored) (*plan.SettingsChanged, error) {
	before, _, err := flattenSettings(previous)
	if err != nil {
		return nil, err
	}
	after, data, err := flattenSettings(current)
	if err != nil {
		return nil, err
	}
	var changed []string
	for key, value := range after {
		if old, had := before[key]; !had {
			changed = append(changed, fmt.Sprintf("%s: %s", key, value))
		} else if old != value {
			changed = append(changed, fmt.Sprintf("%s: %s → %s", key, old, value))
		}
	}
	for key, old := range before {
		if _, has := after[key]; !has {
			changed = append(changed, fmt.Sprintf("%s: %s → none", key, old))
		}
	}
	if len(changed) == 0 {
		return nil, nil
	}
	slices.Sort(changed)
	return &plan.SettingsChanged{
		Changed: changed,
		Config:  data,
		Models:  connect.PhaseModels(current.Config),
	}, nil
}

// flattenSettings writes settings as JSON, and as dotted keys with their values.
func flattenSettings(s stored) (map[string]string, json.RawMessage, error) {
	s.Config = s.Public()
	data, err := plan.MarshalCompact(s)
	if err != nil {
		return nil, nil, fmt.Errorf("write the settings of the run: %w", err)
	}
	var tree map[string]any
	if err := json.Unmarshal(data, &tree); err != nil {
		return nil, nil, fmt.Errorf("write the settings of the run: %w", err)
	}
	out := map[string]string{}
	addLeaves("", tree, out)
	return out, data, nil
}

func addLeaves(prefix string, value any, out map[string]string) {
	if table, ok := value.(map[string]any); ok {
		for key, v := range table {
			addLeaves(prefix+"."+key, v, out)
		}
		return
	}
	text, err := plan.MarshalCompact(value)
	if err != nil {
		return // it came from JSON
	}
	if s, ok := value.(string); ok {
		text = []byte(s)
	}
	out[prefix[1:]] = string(text)
}
