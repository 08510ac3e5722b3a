package openapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/internal/oneline"
	"github.com/plan-engine/plan/loop"
	"github.com/plan-engine/plan/tools/catalog"
	"github.com/plan-engine/plan/tools/outside"
)

// answerBytes bounds an answer.
const answerBytes = 8 << 20

// tool is an operation of a service.
type tool struct {
	service *Service
	tool    catalog.Tool
	op      operation
}

// Info implements loop.Tool.
func (t *tool) Info() loop.Info {
	info := loop.Info{
		Spec: loop.Spec{
			Name:        outside.Name("openapi", t.service.cfg.Name, t.tool.Name),
			Schema:      t.tool.Schema,
			Description: outside.OwnWords + t.tool.Description,
		},
		Effect:   plan.EffectUnknown,
		Writes:   true,
		Category: loop.CategoryMCP,
		Timeout:  t.service.cfg.Timeout + fetchPatience,
	}
	if t.op.reads() {
		info.Effect, info.Writes = plan.EffectReplay, false
	}
	return info
}

// Run implements loop.Tool. Whatever goes wrong is a result.
func (t *tool) Run(ctx context.Context, in loop.Input) (loop.Result, error) {
	s := t.service
	name := s.Name() + "." + t.tool.Name
	nothing := func(why string) (loop.Result, error) {
		return loop.Failed(fmt.Sprintf("%s was not called: %s. Nothing was done.", name, why)), nil
	}
	if s.cfg.Offline != "" {
		return nothing(s.cfg.Offline)
	}
	within, stop := context.WithTimeoutCause(ctx, s.cfg.Timeout, errSlow)
	defer stop()
	if s.isStale() { // it may be another document than the one that was accepted
		if _, err := s.Load(within); err != nil && s.catalog.Of() == "" {
			return nothing(oneline.Cut(oneline.Of(err.Error()), 400))
		}
	}
	if !slices.ContainsFunc(s.catalog.Callable(), func(now catalog.Tool) bool {
		return now.Name == t.tool.Name && now.Digest == t.tool.Digest
	}) {
		return nothing("its document describes it otherwise than when it was accepted, and a person has to look at " +
			"that first (`plan trust`)")
	}
	r, err := t.request(within, in.Args)
	if err != nil {
		return nothing(err.Error())
	}
	if err := s.sign(within, r); err != nil {
		return nothing("its key cannot be had: " + oneline.Cut(oneline.Of(err.Error()), 300))
	}
	began := s.cfg.Now()
	res, err := t.send(r)
	if s.cfg.Observe != nil {
		s.cfg.Observe(ctx, t.Info().Name, s.cfg.Now().Sub(began), err != nil || res.Error)
	}
	if err == nil {
		return res, nil
	}
	return t.failed(ctx, within, name, err), nil
}

var errSlow = errors.New("the service did not answer in time")

// failed is the result of a call that was not answered.
func (t *tool) failed(ctx, within context.Context, name string, err error) loop.Result {
	res := loop.Failed(fmt.Sprintf("%s failed: %s.", name, oneline.Cut(oneline.Of(plainly(err)), 400)))
	switch {
	case ctx.Err() != nil:
		res.Output, res.Status = "Cancelled.", "cancelled"
	case errors.Is(context.Cause(within), errSlow):
		res.Output = fmt.Sprintf("%s did not answer in %s, and the call was given up.", name, t.service.cfg.Timeout)
		res.Status = "timeout"
	case !t.op.reads():
		res.Status = "unknown"
	}
	if !t.op.reads() {
		res.Output += outside.Unsure
	}
	return res
}

// plainly is an error without the address, which may hold what is secret.
func plainly(err error) string {
	var of *url.Error
	if errors.As(err, &of) {
		return of.Err.Error()
	}
	return err.Error()
}

// sign adds the headers and the key, which go to the service alone.
func (s *Service) sign(ctx context.Context, r *http.Request) error {
	for name, value := range s.cfg.Headers {
		r.Header.Set(name, value)
	}
	if s.cfg.Key == nil {
		return nil
	}
	key, err := s.cfg.Key(ctx)
	switch {
	case err != nil:
		return err
	case key == "":
	case s.cfg.KeyHeader != "":
		r.Header.Set(s.cfg.KeyHeader, key)
	default:
		r.Header.Set("Authorization", "Bearer "+key)
	}
	return nil
}

// request makes the request of a call.
func (t *tool) request(ctx context.Context, args json.RawMessage) (*http.Request, error) {
	values := map[string]any{}
	numbers := json.NewDecoder(bytes.NewReader(args))
	numbers.UseNumber()
	if err := numbers.Decode(&values); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("its arguments are no JSON object: %w", err)
	}
	at := place{
		path:    t.op.Path,
		query:   url.Values{},
		headers: http.Header{},
	}
	for _, p := range t.op.Parameters {
		if err := t.put(&at, p, values[p.Argument]); err != nil {
			return nil, err
		}
	}
	to, err := url.Parse(t.op.Base + at.path)
	if err != nil {
		return nil, fmt.Errorf("its address cannot be made: %w", err)
	}
	to.RawQuery = at.query.Encode()
	var body io.Reader
	if values[bodyArgument] != nil && t.op.Body != "" {
		text, err := t.body(values[bodyArgument])
		if err != nil {
			return nil, err
		}
		body = strings.NewReader(text)
		at.headers.Set("Content-Type", t.op.Body)
	}
	r, err := http.NewRequestWithContext(ctx, t.op.Method, to.String(), body)
	if err != nil {
		return nil, fmt.Errorf("its request cannot be made: %w", err)
	}
	at.headers.Set("Accept", "application/json, text/*;q=0.8, */*;q=0.1")
	r.Header = at.headers
	return r, nil
}

// place is where the arguments of a call go.
type place struct {
	path    string
	query   url.Values
	headers http.Header
}

// put puts an argument where its parameter belongs.
func (t *tool) put(at *place, p parameter, value any) error {
	switch {
	case value == nil && p.In == "path":
		return fmt.Errorf("the argument %s is missing", p.Argument)
	case value == nil:
	case p.In == "path":
		text := p.text(value)
		if text == "" || text == "." || text == ".." { // it would be another operation
			return fmt.Errorf("%s is %q, which names nothing in a path", p.Argument, text)
		}
		at.path = strings.ReplaceAll(at.path, "{"+p.Name+"}", url.PathEscape(text))
	case p.In == "query":
		p.query(value, at.query)
	case p.In == "header":
		if t.isOurs(p.Name) {
			return fmt.Errorf("%s is a header that the settings have", p.Argument)
		}
		at.headers.Set(p.Name, oneline.Of(p.text(value)))
	}
	return nil
}

// isOurs reports whether a header is none that a model may set.
func (t *tool) isOurs(name string) bool {
	name = http.CanonicalHeaderKey(name)
	if slices.Contains([]string{
		"Authorization", "Proxy-Authorization", "Cookie", "Host", "Content-Length", "Transfer-Encoding", "Connection",
		http.CanonicalHeaderKey(t.service.cfg.KeyHeader),
	}, name) {
		return true
	}
	for ours := range t.service.cfg.Headers {
		if http.CanonicalHeaderKey(ours) == name {
			return true
		}
	}
	return false
}

// body writes the body of a request.
func (t *tool) body(value any) (string, error) {
	switch t.op.Body {
	case mediaForm:
		fields, ok := value.(map[string]any)
		if !ok {
			return "", errors.New("its body has to be an object")
		}
		form := url.Values{}
		for name, field := range fields {
			parameter{Name: name, Deep: true}.query(field, form)
		}
		return form.Encode(), nil
	case mediaText:
		return textOf(value), nil
	}
	data, err := plan.MarshalCompact(value)
	if err != nil {
		return "", fmt.Errorf("its body cannot be written: %w", err)
	}
	return string(data), nil
}

// query writes a value into a query.
func (p parameter) query(value any, to url.Values) {
	switch v := value.(type) {
	case []any:
		if p.Joined || p.JSON {
			to.Set(p.Name, p.text(value))
			return
		}
		for _, element := range v {
			to.Add(p.Name, textOf(element))
		}
	case map[string]any:
		for name, member := range v {
			switch {
			case p.JSON:
				to.Set(p.Name, p.text(value))
			case p.Deep:
				parameter{Name: p.Name + "[" + name + "]", Deep: true}.query(member, to)
			default:
				to.Add(name, textOf(member))
			}
		}
	default:
		to.Set(p.Name, textOf(value))
	}
}

// text is a value as one text.
func (p parameter) text(value any) string {
	list, ok := value.([]any)
	if !ok || p.JSON {
		return textOf(value)
	}
	parts := make([]string, len(list))
	for i, element := range list {
		parts[i] = textOf(element)
	}
	return strings.Join(parts, ",")
}

func textOf(value any) string {
	if text, ok := value.(string); ok {
		return text
	}
	data, _ := plan.MarshalCompact(value) // of a JSON document
	return string(data)
}

// send sends a request, and reads what is answered.
func (t *tool) send(r *http.Request) (loop.Result, error) {
	res, err := t.service.client.Do(r)
	if err != nil {
		return loop.Result{}, err //nolint:wrapcheck // failed says what was asked
	}
	defer res.Body.Close() //nolint:errcheck // it was only read
	data, err := io.ReadAll(io.LimitReader(res.Body, answerBytes+1))
	if err != nil {
		return loop.Result{}, fmt.Errorf("read its answer: %w", err)
	}
	note := ""
	if len(data) > answerBytes {
		data, note = data[:answerBytes], fmt.Sprintf("\n[the answer has more than %d MiB, and is cut]", answerBytes>>20)
	}
	failed := ""
	if res.StatusCode >= http.StatusMultipleChoices {
		failed = "The service answered " + res.Status + "."
	}
	text := t.readable(res, data, failed == "") + note
	out := outside.Answer(text, failed)
	if failed == "" && res.StatusCode != http.StatusOK {
		out.Output = res.Status + "\n" + out.Output
	}
	return out, nil
}

// readable is an answer as a model reads it.
func (t *tool) readable(res *http.Response, data []byte, trims bool) string {
	media, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	switch {
	case len(data) == 0:
		return "(nothing)"
	case !utf8.Valid(data):
		return fmt.Sprintf("[%s, %d bytes, which are no text]", media, len(data))
	case !strings.HasSuffix(media, "json") && !json.Valid(data):
		return string(data)
	}
	var document any
	numbers := json.NewDecoder(bytes.NewReader(data))
	numbers.UseNumber()
	if numbers.Decode(&document) != nil {
		return string(data)
	}
	if of := t.trim(); of != nil && trims {
		nodes := of.path.Select(document)
		document = []any(nodes)
		if len(nodes) == 1 {
			document = nodes[0]
		}
	}
	text, err := plan.MarshalCompact(document)
	var out bytes.Buffer
	if err != nil || json.Indent(&out, text, "", " ") != nil {
		return string(data)
	}
	return out.String()
}

// trim is the part of an answer that is read, nil for all of it.
func (t *tool) trim() *trim {
	for i := range t.service.trims {
		if of := &t.service.trims[i]; of.wrong == nil && fits([]string{of.pattern}, t.tool.Name) {
			return of
		}
	}
	return nil
}
