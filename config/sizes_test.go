package config_test

import (
	"strings"
	"testing"

	"github.com/plan-engine/plan/config"
)

func TestSizes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]config.Size{"4GiB": 4 << 30, "512 " +
		"MiB": 512 << 20, "20000KiB": 20000 << 10, "1TiB": 1 << 40, "4GB": 4e9, "0": 0, "33554432": 32 << 20} {
		cfg, _, err := config.Load(place(t, "max_memory = '"+text+"'", ""))
		if err != nil || cfg.MaxMemory != want {
			t.Errorf("%s: %d, %v", text, cfg.MaxMemory, err)
		}
	}
	for _, text := range []string{"4G", "15MB", "lots", "-1GiB", "1.5GiB", "99999999999GiB", "4", "GiB", ""} {
		if _, _, err := config.Load(place(t, "max_memory = '"+text+"'", "")); err == nil || !strings.Contains(err.Error(), "is "+
			"not a size: write a whole number with a unit") {
			t.Errorf("%q: %v", text, err)
		}
	}
}
