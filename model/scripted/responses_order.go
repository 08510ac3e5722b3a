package scripted

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// checkItems looks at how the items follow one another. Stored says that the
// server was to keep what it said.
func checkItems(items []inputItem, stored bool) error {
	ids := map[string]bool{}
	for i := range items {
		id := items[i].ID
		if id == nil {
			continue
		}
		if ids[*id] {
			return wrong(
				"Duplicate item found with id %s. Remove duplicate items from your input and try again.",
				*id,
			)
		}
		ids[*id] = true
	}
	if err := checkResults(items); err != nil {
		return err
	}
	if err := checkReasoning(items, stored); err != nil {
		return err
	}
	return checkRoles(items)
}

// checkResults makes sure that every call is answered once, before anything
// else is said.
func checkResults(items []inputItem) error {
	var waiting []string // ids of calls without a result
	for i := range items {
		it := &items[i]
		if it.Type == itemResult {
			at := slices.Index(waiting, it.CallID)
			if at < 0 {
				return wrong("No tool call found for function call output with call_id %s.", it.CallID)
			}
			waiting = slices.Delete(waiting, at, at+1)
			continue
		}
		// An answer may say more after a call, but not once results came.
		between := i > 0 && items[i-1].Type == itemResult
		if len(waiting) > 0 && (between || !it.output()) {
			return wrong("No tool output found for function call %s.", waiting[0])
		}
		if it.Type != itemCall {
			continue
		}
		if slices.Contains(waiting, it.CallID) {
			return fmt.Errorf("input[%d]: call_id %s is used twice", i, it.CallID)
		}
		waiting = append(waiting, it.CallID)
	}
	if len(waiting) > 0 {
		return wrong("No tool output found for function call %s.", waiting[0])
	}
	return nil
}

// checkRoles makes sure that system prompts come first and that there is
// something to answer.
func checkRoles(items []inputItem) error {
	begun := false
	for i := range items {
		it := &items[i]
		if it.Role != "system" && it.Role != "developer" {
			begun = true
			continue
		}
		if begun {
			return fmt.Errorf("input[%d]: a %s message comes after the conversation began", i, it.Role)
		}
	}
	if last := items[len(items)-1]; !begun || last.output() {
		return errors.New("the last item is not from the user, which leaves nothing to answer")
	}
	return nil
}

// checkReasoning makes sure that the reasoning of an answer comes back as it
// was, right before the rest of the answer.
func checkReasoning(items []inputItem, stored bool) error {
	thought := "" // the answer whose reasoning stands before this item
	for i := range items {
		it := &items[i]
		switch {
		case it.Type == itemReasoning:
			tag, err := it.reasoningTag(stored)
			if err != nil {
				return err
			}
			if i+1 == len(items) || !items[i+1].output() || items[i+1].Type == itemReasoning {
				return wrong(
					"Item 'rs_%s' of type 'reasoning' was provided without its required following item.",
					tag,
				)
			}
			thought = tag
		case it.Type == itemCall:
			if tag, ok := thoughtCall(it.CallID); ok && tag != thought {
				return wrong(
					"Item '%s' of type 'function_call' was provided without its required 'reasoning' item: 'rs_%s'.",
					"fc"+strings.TrimPrefix(it.CallID, "call"),
					tag,
				)
			}
		case !it.output():
			thought = ""
		}
	}
	return nil
}

// reasoningTag names the answer that a reasoning item is of.
func (it *inputItem) reasoningTag(stored bool) (string, error) {
	id := ""
	if it.ID != nil {
		id = *it.ID
	}
	if it.Encrypted == nil || *it.Encrypted == "" {
		if !stored || id == "" {
			return "", wrong("Item with id '%s' not found. Items are not persisted when `store` is set to false. "+
				"Try again with `store` set to true, or remove this item from your input.", id)
		}
		return strings.TrimPrefix(id, "rs_"), nil
	}
	tag, ok := unseal("encrypted", *it.Encrypted, "")
	if !ok || id != "" && id != "rs_"+tag {
		return "", wrong("The encrypted content for item %s could not be verified. "+
			"Reason: Encrypted content could not be decrypted or parsed.", id)
	}
	return tag, nil
}

// thoughtMark ends the ids of calls whose answer held reasoning that has to
// come back with them.
const thoughtMark = "_r"

// thoughtCall is the tag of the answer that a call is of, if that answer held
// reasoning which has to come back.
func thoughtCall(id string) (tag string, ok bool) {
	id, ok = strings.CutSuffix(id, thoughtMark)
	if !ok {
		return "", false
	}
	_, id, _ = strings.Cut(id, "_")
	end := strings.LastIndexByte(id, '_')
	if end < 0 {
		return "", false
	}
	return id[:end], true
}
