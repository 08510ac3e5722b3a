package responses

import (
	"encoding/json"
	"net/http"
	"slices"

	"github.com/plan-engine/plan/loop"
	"github.com/plan-engine/plan/model/wire"
)

// What the codes of errors in a stream mean, where the code alone says it (SDK:
// ResponseErrorCode).
var (
	// filteredCodes: the prompt is not let through.
	filteredCodes = []string{
		"invalid_prompt",
		"bio_policy",
		"cyber_policy",
		"misalignment_policy_violation",
		"image_content_policy_violation",
	}
	// refusedCodes: the request is wrong and stays wrong.
	refusedCodes = []string{
		"invalid_request_error", "invalid_encrypted_content", "data_residency_mismatch", "invalid_image",
		"invalid_image_format",
		"invalid_image_url", "image_too_large", "image_too_small", "image_parse_error", "invalid_image_mode",
		"image_file_too_large",
		"unsupported_image_media_type", "empty_image_file", "failed_to_download_image", "image_file_not_found",
	}
)

// coded are the places where a code can stand.
type coded struct {
	Code  any `json:"code"`
	Type  any `json:"type"`
	Error any `json:"error"`
}

// failure reads the failure that a stream or a response reports. It comes with a
// good status, so the codes have to say what other wires say by a status.
func failure(data []byte) wire.Failure {
	f := wire.Reported(data)
	if f.Kind != loop.ErrServed || f.Status != 0 {
		return f
	}
	is := func(words []string) bool {
		return slices.ContainsFunc(codesOf(data), func(code string) bool { return slices.Contains(words, code) })
	}
	switch {
	case is(filteredCodes):
		f.Kind = loop.ErrFiltered
	case is(refusedCodes):
		f.Kind = loop.ErrRefused
		f.Status = http.StatusBadRequest
	}
	return f
}

// codesOf are the codes of an error: of the event, of the error in it, and of the
// error of the response in it.
func codesOf(data []byte) []string {
	var in struct {
		coded
		Response coded `json:"response"`
	}
	_ = json.Unmarshal(data, &in) // what is not there says nothing
	var out []string
	for _, value := range []any{in.Code, in.Error, in.Response.Error} {
		if inner, ok := value.(map[string]any); ok {
			out = append(out, textOf(inner["code"]), textOf(inner["type"]))
			continue
		}
		out = append(out, textOf(value))
	}
	return out
}

func textOf(value any) string {
	text, _ := value.(string)
	return text
}

// reported is the failure that stands in an event beside everything else, as
// gateways send it; nil where there is none.
func reported(data []byte) error {
	var in struct {
		Error json.RawMessage `json:"error"`
	}
	if json.Unmarshal(data, &in) != nil {
		return nil
	}
	switch string(in.Error) {
	case "", "null", `""`, "{}", "false":
		return nil
	}
	return failure(data)
}
