package scripted

import (
	"fmt"
	"slices"
	"strings"
)

// maxBreakpoints is how many blocks may have cache_control.
const maxBreakpoints = 4

// readTools decodes and checks the tools.
func (r *messagesRequest) readTools() error {
	seen := map[string]bool{}
	for i, raw := range r.Tools {
		where := fmt.Sprintf("tools.%d", i)
		b, err := readBlock(where, raw, blockTool)
		switch {
		case err != nil:
			return err
		case b.Type != blockTool:
			return wrong("%s: a tool is of type 'custom', not '%s'", where, b.Type)
		case !validName(b.Name):
			return wrong("%s.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,64}$'", where)
		case seen[b.Name]:
			return wrong("tools: Tool names must be unique.")
		case !isObject(b.InputSchema):
			return wrong("%s.custom.input_schema: Field required", where)
		case !strings.Contains(string(b.InputSchema), `"type"`):
			return wrong("%s.custom.input_schema.type: Field required", where)
		}
		if b.Strict != nil && *b.Strict {
			if err := checkStrictSchema(b.InputSchema); err != nil {
				return fmt.Errorf("%s.custom: %w", where, err)
			}
		}
		if b.Deferred && b.CacheControl != nil {
			return wrong("%s.custom.cache_control: it cannot be set on a tool with defer_loading", where)
		}
		seen[b.Name] = true
		r.tools = append(r.tools, b)
	}
	if len(r.tools) > 0 && !slices.ContainsFunc(r.tools, func(b block) bool { return !b.Deferred }) {
		return wrong("tools: At least one tool must have defer_loading=false.")
	}
	return nil
}

// checkReferences makes sure that results lead to tools that there are.
func (r *messagesRequest) checkReferences() error {
	for i, blocks := range r.content {
		for _, b := range blocks {
			if b.Type != blockResult || b.Content == nil {
				continue
			}
			inner, err := readBlocks("content", b.Content, blockText, blockImage, blockReference)
			if err != nil {
				continue // it was complained of, or is empty
			}
			for _, ref := range inner {
				known := func(t block) bool { return t.Name == ref.ToolName }
				if ref.Type == blockReference && !slices.ContainsFunc(r.tools, known) {
					return wrong("messages.%d: Tool reference '%s' not found in available tools", i, ref.ToolName)
				}
			}
		}
	}
	return nil
}

// readSystem decodes and checks the system prompt.
func (r *messagesRequest) readSystem() error {
	if r.System == nil {
		return nil
	}
	var err error
	r.system, err = readBlocks("system", r.System, blockText)
	return err
}

// readContent decodes and checks the messages, each by itself.
func (r *messagesRequest) readContent() error {
	for i, m := range r.Messages {
		where := fmt.Sprintf("messages.%d.content", i)
		kinds := []string{blockText, blockImage, blockResult}
		switch m.Role {
		case "user":
		case "assistant":
			kinds = []string{blockText, blockThinking, blockRedacted, blockCall}
		case "system":
			return wrong(
				"messages: Unexpected role \"system\". The Messages API accepts a top-level `system` parameter, " +
					"not \"system\" as an input message role.",
			)
		default:
			return wrong("messages.%d.role: Input should be 'user' or 'assistant'", i)
		}
		blocks, err := readBlocks(where, m.Content, kinds...)
		if err != nil {
			return err
		}
		if len(blocks) == 0 {
			return wrong("messages.%d: all messages must have non-empty content", i)
		}
		if last := blocks[len(blocks)-1].Type; last == blockThinking || last == blockRedacted {
			return wrong("messages.%d: The final block in an assistant message cannot be `thinking`.", i)
		}
		r.content = append(r.content, blocks)
		r.join(m.Role, blocks)
	}
	return nil
}

// join adds a message to the one before it, if both are of one role.
func (r *messagesRequest) join(role string, blocks []block) {
	if n := len(r.joined); n > 0 && r.joined[n-1].role == role {
		r.joined[n-1].blocks = append(slices.Clip(r.joined[n-1].blocks), blocks...)
		return
	}
	r.joined = append(r.joined, joinedMessage{role, blocks})
}

// checkOrder looks at how the messages follow one another. Their numbers in
// its errors are those of the joined ones.
func (r *messagesRequest) checkOrder() error {
	if r.joined[0].role != "user" {
		return wrong("messages: first message must use the \"user\" role")
	}
	ids := map[string]bool{}
	var waiting []string
	for i, m := range r.joined {
		if err := checkResultBlocks(i, m.blocks, waiting); err != nil {
			return err
		}
		waiting = nil
		for _, b := range m.blocks {
			if b.Type != blockCall {
				continue
			}
			if ids[b.ID] {
				return wrong("messages.%d: `tool_use` ids must be unique", i)
			}
			ids[b.ID] = true
			waiting = append(waiting, b.ID)
		}
	}
	if len(waiting) > 0 {
		return unanswered(len(r.joined)-1, waiting)
	}
	return nil
}

// unanswered says that calls of a message have no results.
func unanswered(message int, ids []string) error {
	return wrong("messages.%d: `tool_use` ids were found without `tool_result` blocks immediately after: %s. "+
		"Each `tool_use` block must have a corresponding `tool_result` block in the next "+
		"message.", message, strings.Join(ids, ", "))
}

// checkResultBlocks makes sure that a message begins with the results of the
// calls that are waiting, each once.
func checkResultBlocks(at int, blocks []block, waiting []string) error {
	var answered []string
	for i, b := range blocks {
		if b.Type != blockResult {
			continue
		}
		switch {
		case !slices.Contains(waiting, b.ToolUseID):
			return wrong("messages.%d.content.%d: unexpected `tool_use_id` found in `tool_result` blocks: %s. "+
				"Each `tool_result` block must have a corresponding `tool_use` block in the previous "+
				"message.", at, i, b.ToolUseID)
		case slices.Contains(answered, b.ToolUseID):
			return wrong(
				"messages.%d.content.%d: each tool_use must have a single result. Found multiple `tool_result` "+
					"blocks with id: %s",
				at,
				i,
				b.ToolUseID,
			)
		case i != len(answered):
			return wrong("messages.%d.content.%d: `tool_result` blocks must come first in a message", at, i)
		}
		answered = append(answered, b.ToolUseID)
	}
	missing := slices.DeleteFunc(slices.Clone(waiting), func(id string) bool { return slices.Contains(answered, id) })
	if len(missing) > 0 {
		return unanswered(at-1, missing)
	}
	return nil
}

// checkReturned makes sure that thinking comes back with the calls that came
// with it, in every message since the user last said something.
func (r *messagesRequest) checkReturned() error {
	if !r.thinks() {
		return nil
	}
	for i := len(r.joined) - 1; i >= 0; i-- {
		blocks := r.joined[i].blocks
		if r.joined[i].role == "user" {
			if hasText(blocks) {
				return nil
			}
			continue
		}
		var thought []string
		for j := range blocks {
			b := &blocks[j]
			if tag, ok := b.thought(); ok {
				thought = append(thought, tag)
			}
			if tag, ok := thoughtCall(b.ID); ok && !slices.Contains(thought, tag) {
				return wrong(
					"messages.%d.content.0.type: Expected `thinking` or `redacted_thinking`, but found `%s`. "+
						"When `thinking` is enabled, a final `assistant` message must start with a thinking block "+
						"(preceding the lastmost set of `tool_use` and `tool_result` blocks).",
					i,
					blocks[0].Type,
				)
			}
		}
	}
	return nil
}

// checkBreakpoints looks at what is to be cached, and takes the request apart
// by it.
func (r *messagesRequest) checkBreakpoints() error {
	r.spans = r.split()
	if err := r.markLast(); err != nil {
		return err
	}
	count, minutes := 0, false
	for _, s := range r.spans {
		if s.ttl == "" {
			continue
		}
		count++
		if s.ttl == ttlHour && minutes {
			return wrong(
				"%s.cache_control.ttl: a ttl='1h' cache_control block must not come after a ttl='5m' "+
					"cache_control block. "+
					"Note that blocks are processed in the following order: `tools`, `system`, `messages`.",
				s.where,
			)
		}
		minutes = minutes || s.ttl == ttlMinutes
	}
	if count > maxBreakpoints {
		return wrong("A maximum of %d blocks with cache_control may be provided. Found %d.", maxBreakpoints, count)
	}
	return nil
}

// markLast puts the breakpoint that the request asks for as a whole at its
// last block.
func (r *messagesRequest) markLast() error {
	c := r.CacheControl
	if c == nil {
		return nil
	}
	if err := c.check("request"); err != nil {
		return err
	}
	last := &r.spans[len(r.spans)-1]
	if last.ttl != "" && last.ttl != c.ttl() {
		return wrong(
			"%s.cache_control: the last block has another ttl than the request's own cache_control",
			last.where,
		)
	}
	last.ttl = c.ttl()
	return nil
}
