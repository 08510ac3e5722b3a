package acp

import (
	"encoding/json"
	"fmt"
	"path/filepath"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/tools"
)

// maxOutput is how much of a call's output an editor is given, in bytes; the journal
// has all of it.
const maxOutput = 32 << 10

// call is a tool call as an editor shows it.
type call struct {
	id        sdk.ToolCallId
	title     string
	kind      sdk.ToolKind
	locations []sdk.ToolCallLocation
}

// describe is a call of a tool, in the words of the tool itself. Root is where its paths
// start; "" leaves them out.
func describe(id, name string, args json.RawMessage, root string) call {
	described := tools.Describe(name, args, "")
	c := call{
		id:    sdk.ToolCallId(id),
		title: cleanLine(name + " " + described.Title + described.Detail),
		kind:  kindOf(name),
	}
	if root == "" {
		return c
	}
	for _, path := range described.Paths {
		if !filepath.IsAbs(path) {
			path = filepath.Join(root, path)
		}
		c.locations = append(c.locations, sdk.ToolCallLocation{Path: path})
	}
	return c
}

// kindOf is what a tool is for, in the protocol's words.
func kindOf(name string) sdk.ToolKind {
	switch tools.PurposeOf(name) {
	case tools.Inspect:
		if name == "read" {
			return sdk.ToolKindRead
		}
		return sdk.ToolKindSearch
	case tools.Modify:
		return sdk.ToolKindEdit
	case tools.Execute:
		return sdk.ToolKindExecute
	case tools.Recall, tools.Remember, tools.Skill, tools.Prune, tools.Replan:
		return sdk.ToolKindThink
	}
	return sdk.ToolKindOther
}

// toolStarts tells that a call begins.
func toolStarts(b plan.ToolStart, root string) sdk.SessionUpdate {
	c := describe(b.Call, b.Name, b.Args, root)
	return sdk.StartToolCall(
		c.id,
		c.title,
		sdk.WithStartKind(c.kind),
		sdk.WithStartStatus(sdk.ToolCallStatusInProgress),
		sdk.WithStartLocations(c.locations),
		sdk.WithStartRawInput(rawInput(b.Args)),
		sdk.WithStartContent(changesOf(b.Args, root)),
	)
}

// changesOf is what a call writes, as a diff that the editor can show; nil where the
// arguments do not say it.
func changesOf(args json.RawMessage, root string) []sdk.ToolCallContent {
	var a struct {
		Path      string  `json:"path"`
		Content   *string `json:"content"`
		OldString *string `json:"old_string"`
		NewString string  `json:"new_string"`
		Patch     string  `json:"patch"`
	}
	if json.Unmarshal(args, &a) != nil {
		return nil
	}
	path := filepath.Join(root, a.Path)
	switch {
	case a.Patch != "":
		return textContent(a.Patch)
	case a.Path == "":
		return nil
	case a.OldString != nil:
		return []sdk.ToolCallContent{sdk.ToolDiffContent(path, clean(a.NewString), clean(*a.OldString))}
	case a.Content != nil:
		return []sdk.ToolCallContent{sdk.ToolDiffContent(path, clean(*a.Content))}
	}
	return nil
}

// toolEnds tells that a call ended. What it changed stands as it began.
func toolEnds(b plan.ToolEnd) sdk.SessionUpdate {
	status := sdk.ToolCallStatusCompleted
	if b.Error || b.Status != "" {
		status = sdk.ToolCallStatusFailed
	}
	options := []sdk.ToolCallUpdateOpt{sdk.WithUpdateStatus(status)}
	if b.Error || kindOf(b.Name) != sdk.ToolKindEdit {
		options = append(options, sdk.WithUpdateContent(textContent(b.Output)))
	}
	return sdk.UpdateToolCall(sdk.ToolCallId(b.Call), options...)
}

// textContent is text as a call's content, its end where it is long.
func textContent(text string) []sdk.ToolCallContent {
	if over := len(text) - maxOutput; over > 0 {
		text = "… " + text[over:]
	}
	return wholeContent(text)
}

// wholeContent is text as a call's content, however long it is: who decides reads all.
func wholeContent(text string) []sdk.ToolCallContent {
	text = clean(text)
	fence := fenceFor(text)
	return []sdk.ToolCallContent{sdk.ToolContent(sdk.TextBlock(fence + "\n" + text + "\n" + fence))}
}

// checkStarts tells that a check begins, as a command.
func checkStarts(n int, b plan.CheckStart) sdk.SessionUpdate {
	title := "check: " + b.Command
	switch {
	case b.Source == plan.CheckSetup:
		title = "setup: " + b.Command
	case b.Baseline:
		title += " (before the change)"
	case b.Evidence == plan.TreeCounter:
		title += " (without the change, where it should fail)"
	case b.Evidence != "":
		title += " (once more, on the " + b.Evidence + " tree)"
	}
	return sdk.StartToolCall(
		checkID(n),
		cleanLine(title),
		sdk.WithStartKind(sdk.ToolKindExecute),
		sdk.WithStartStatus(sdk.ToolCallStatusInProgress),
	)
}

// checkEnds tells what a check said.
func checkEnds(n int, b plan.CheckEnd) sdk.SessionUpdate {
	status := sdk.ToolCallStatusCompleted
	if !b.Passed() && b.Evidence != plan.TreeCounter {
		status = sdk.ToolCallStatusFailed
	}
	return sdk.UpdateToolCall(
		checkID(n),
		sdk.WithUpdateStatus(status),
		sdk.WithUpdateContent(textContent(fmt.Sprintf("%s\nexit %d", b.Output, b.ExitCode))),
	)
}

func checkID(n int) sdk.ToolCallId { return sdk.ToolCallId(fmt.Sprintf("check-%d", n)) }
