package trust

import "testing"

// TestElsewhere: the file that a line runs is that of the other folder, however the line
// leads to it; what it only names stays, and so does a line that moves about.
func TestElsewhere(t *testing.T) {
	t.Parallel()
	const root, from = "/repo", "/sealed"
	names := []string{"scripts/x", "scripts/y"}
	for command, want := range map[string]string{
		"./scripts/x --all":                       "/sealed/scripts/x --all",
		"/repo/scripts/x":                         "/sealed/scripts/x",
		"'scripts/x' a":                           "/sealed/scripts/x a",
		`"./scripts/x"`:                           "/sealed/scripts/x",
		"bash scripts/x scripts/y":                "bash /sealed/scripts/x scripts/y",
		"bash -e scripts/x":                       "bash -e /sealed/scripts/x",
		"bash -eu -o pipefail scripts/x":          "bash -eu -o pipefail /sealed/scripts/x",
		"python3 -u scripts/x":                    "python3 -u /sealed/scripts/x",
		"nice -n 5 scripts/x":                     "nice -n 5 /sealed/scripts/x",
		"nice -n 5 env -u A B=c sh scripts/x":     "nice -n 5 env -u A B=c sh /sealed/scripts/x",
		"time -p -- ./scripts/x":                  "time -p -- ./scripts/x", // bash's own word, no call
		"nohup -- ./scripts/x":                    "nohup -- /sealed/scripts/x",
		"scripts/x $(scripts/y a) | sh scripts/y": "/sealed/scripts/x $(/sealed/scripts/y a) | sh /sealed/scripts/y",
		"A=$(scripts/y) scripts/x":                "A=$(/sealed/scripts/y) /sealed/scripts/x",
		"cat scripts/x":                           "cat scripts/x",
		"bash -c 'exec scripts/x'":                "bash -c 'exec scripts/x'",
		"cd scripts && ./x":                       "cd scripts && ./x",
		"./scripts/$X":                            "./scripts/$X",
		"if":                                      "if",
	} {
		if got := Elsewhere(command, root, from, names); got != want {
			t.Errorf("%s\n got %s\nwant %s", command, got, want)
		}
	}
}
