package responses

import (
	"strconv"
	"strings"

	"github.com/plan-engine/plan/model/wire"
)

// The parts of a request that it could do without, and the words of servers that
// refuse them. Messages quote the conversation's own fields and values, so a
// parameter is looked for as it is quoted there and not as a mere word.
var (
	// partStore keeps the conversation off the server. It is left out only where
	// the server does not know it, and so has no store.
	partStore = wire.Optional{
		Part:  "store",
		From:  "false",
		Words: []string{"parameter: 'store'", "parameter: store", `"body","store"`, `"body", "store"`, "field store"},
	}
	partInclude = wire.Optional{
		Part: "include",
		From: "reasoning.encrypted_content",
		Words: []string{
			"'include'", `"include"`, "`include`", "include[", "parameter: include", "reasoning.encrypted_content",
			"encrypted content is not supported", "encrypted_content is not supported",
		},
	}
	partSummary = wire.Optional{
		Part:  "reasoning.summary",
		From:  "auto",
		Words: append([]string{"reasoning.summary", "reasoning summar", "'summary'", `"summary"`}, allReasoning...),
	}
	partCacheKey = wire.Optional{Part: "prompt_cache_key"}
	partMetadata = wire.Optional{
		Part: "metadata",
		// OpenRouter has a field of this name in its errors.
		Words: []string{
			"'metadata'",
			"`metadata`",
			`"body","metadata"`,
			`"body", "metadata"`,
			`"param":"metadata"`,
			"parameter: metadata",
			"field metadata",
		},
	}
	partStrict = wire.Optional{
		Part:  "strict",
		From:  "false",
		Words: []string{"'strict'", `"strict"`, "`strict`", ".strict", "parameter: strict", "field strict"},
	}
	partFormat = wire.Optional{
		Part: "text.format",
		From: "json_schema",
		Words: []string{
			"text.format",
			"response_format",
			"json_schema",
			"json schema",
			"parameter: text",
			"parameter: 'text'",
		},
	}
	// An organisation that is not verified may use some models, but not stream
	// them.
	partStream = wire.Optional{
		Part: fieldStream,
		From: "true",
		To:   "false",
		Words: []string{
			"to stream this model",
			"'stream'",
			`"stream"`,
			"`stream`",
			"parameter: stream",
			"streaming is not supported",
		},
	}
	// partReasoning is the reasoning of earlier answers. What another key, model
	// or account encrypted cannot be read, and what is paired wrongly is refused.
	partReasoning = wire.Optional{
		Part: "reasoning items",
		Words: []string{
			"invalid_encrypted_content", "could not be verified", "could not be decrypted",
			"encrypted content is not supported",
			"of type 'reasoning'", "required 'reasoning' item", "required following item", "required preceding item",
			"items are not persisted", "'rs_", "encrypted_content", "item['content']",
		},
	}
	// partIDs are the ids of messages and calls that go back with reasoning.
	partIDs = wire.Optional{
		Part:  "item ids",
		Words: []string{"expected an id that", ".id'", `.id"`, "duplicate item found", "'msg_", "'fc_"},
	}
	partPhase = wire.Optional{Part: "phase"}
)

// allReasoning are the words of servers that know no reasoning parameters.
var allReasoning = []string{
	"parameter: 'reasoning'", `parameter: "reasoning"`, "parameter: reasoning", `"reasoning"`,
	"`reasoning`", "argument: reasoning",
	"reasoning is not supported", "does not support reasoning",
}

func partEffort(effort string) wire.Optional {
	return wire.Optional{
		Part:  "reasoning.effort",
		From:  effort,
		Words: append([]string{"effort"}, allReasoning...),
	}
}

// partSchema are the keywords of the tools' schemas that not every server takes.
func partSchema() wire.Optional {
	return wire.Optional{
		Part:  "schema keywords",
		To:    "type, description, properties, required, items and enum alone",
		Words: wire.SchemaWords(),
	}
}

func partTemperature(t float64) wire.Optional {
	return wire.Optional{
		Part: "temperature",
		From: strconv.FormatFloat(t, 'g', -1, 64),
	}
}

func partOutput(limit int) wire.Optional {
	return wire.Optional{
		Part:  wire.PartOutput,
		From:  strconv.Itoa(limit),
		Words: []string{"max_output_tokens"},
	}
}

// partExtra is a field that a server added to a call.
func partExtra(name string) wire.Optional {
	lower := strings.ToLower(name)
	return wire.Optional{
		Part:  name,
		Words: []string{"'" + lower + "'", `"` + lower + `"`, "." + lower, "parameter: " + lower, "field " + lower},
	}
}
