package openapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/internal/plainfile"
	"github.com/plan-engine/plan/tools/catalog"
)

// Bounds of what is read.
const (
	documentBytes  = 32 << 20
	mostOperations = 2000
	fetchPatience  = time.Minute
	keptFor        = 24 * time.Hour // a document at an address
)

func isAddress(spec string) bool {
	return strings.HasPrefix(spec, "https://") || strings.HasPrefix(spec, "http://")
}

// isStale reports whether the document has to be read: it never was, or is another one.
func (s *Service) isStale() bool {
	of := s.catalog.Of()
	if !isAddress(s.cfg.Spec) {
		stamp, err := s.stamp()
		return err != nil || of != stamp
	}
	at, err := time.Parse(time.RFC3339, strings.TrimPrefix(of, s.marked("")))
	return err != nil || s.cfg.Fresh || s.cfg.Now().Sub(at) > keptFor
}

// marked is a stamp that counts for this address of the service alone.
func (s *Service) marked(stamp string) string { return s.cfg.BaseURL + " " + stamp }

// stamp tells one state of the document from another one, without reading it.
func (s *Service) stamp() (string, error) {
	if isAddress(s.cfg.Spec) {
		return s.marked(s.cfg.Now().UTC().Format(time.RFC3339)), nil
	}
	info, err := os.Stat(s.cfg.Spec)
	if err != nil {
		return "", fmt.Errorf("read its document: %w", err)
	}
	return s.marked(fmt.Sprintf("%d %d", info.Size(), info.ModTime().UnixNano())), nil
}

// read reads the document, and takes up its operations.
func (s *Service) read(ctx context.Context) error {
	stamp, err := s.stamp()
	if err != nil {
		return err
	}
	data, err := s.bytes(ctx)
	if err != nil {
		return err
	}
	loader := openapi3.NewLoader() // which follows no reference out of the document
	doc, err := loader.LoadFromData(data)
	switch {
	case err != nil:
		return fmt.Errorf("read its document: %w", err)
	case doc.OpenAPI == "":
		return errors.New("its document is no OpenAPI 3: it lacks \"openapi\" (a Swagger 2 one has to be converted)")
	case doc.Paths == nil:
		return errors.New("its document has no paths")
	}
	base, err := s.base(doc)
	if err != nil {
		return err
	}
	var tools []catalog.Tool
	named := map[string]bool{}
	for _, path := range slices.Sorted(maps.Keys(doc.Paths.Map())) {
		item := doc.Paths.Value(path)
		operations := item.Operations()
		for _, method := range slices.Sorted(maps.Keys(operations)) {
			if len(tools) == mostOperations {
				break
			}
			declared := describe(doc, base, path, method, item, operations[method])
			for i := 2; named[declared.Name]; i++ {
				declared.Name = fmt.Sprintf("%s_%d", strings.TrimSuffix(declared.Name, fmt.Sprintf("_%d", i-1)), i)
			}
			named[declared.Name] = true
			tools = append(tools, catalog.Describe(declared))
		}
	}
	slices.SortFunc(tools, func(a, b catalog.Tool) int { return strings.Compare(a.Name, b.Name) })
	s.catalog.Take(tools, stamp)
	return nil
}

// bytes are those of the document.
func (s *Service) bytes(ctx context.Context) ([]byte, error) {
	if !isAddress(s.cfg.Spec) {
		file, err := plainfile.Open(s.cfg.Spec)
		if err != nil {
			return nil, fmt.Errorf("read its document: %w", err)
		}
		defer file.Close() //nolint:errcheck // it was only read
		return readAll(file)
	}
	if s.cfg.Offline != "" {
		return nil, errors.New(s.cfg.Offline)
	}
	ctx, cancel := context.WithTimeout(ctx, fetchPatience)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.cfg.Spec, nil)
	if err != nil {
		return nil, fmt.Errorf("read its document: %w", err)
	}
	res, err := s.client.Do(r)
	if err != nil {
		return nil, fmt.Errorf("fetch its document: %w", err)
	}
	defer res.Body.Close() //nolint:errcheck // it was only read
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("fetch its document: the answer is %s", res.Status)
	}
	return readAll(res.Body)
}

func readAll(from io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(from, documentBytes+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read its document: %w", err)
	case len(data) > documentBytes:
		return nil, fmt.Errorf("its document has more than %d MiB", documentBytes>>20)
	}
	return data, nil
}

// base is where the service is.
func (s *Service) base(doc *openapi3.T) (string, error) {
	base := s.cfg.BaseURL
	if base == "" && len(doc.Servers) > 0 {
		server := doc.Servers[0]
		base = server.URL
		for name, v := range server.Variables {
			base = strings.ReplaceAll(base, "{"+name+"}", v.Default)
		}
		if from, err := url.Parse(s.cfg.Spec); err == nil && isAddress(s.cfg.Spec) {
			if to, err := from.Parse(base); err == nil {
				base = to.String()
			}
		}
	}
	at, err := url.Parse(base)
	if err != nil || at.Host == "" || at.Scheme != "http" && at.Scheme != "https" || at.RawQuery != "" {
		return "", fmt.Errorf("its document does not say where it is: set base_url in [openapi.%s]", s.cfg.Name)
	}
	return strings.TrimSuffix(base, "/"), nil
}

// operation is how an operation is called.
type operation struct {
	Method     string      `json:"method"`
	Base       string      `json:"base"`
	Path       string      `json:"path"`
	Parameters []parameter `json:"parameters,omitempty"`
	Body       string      `json:"body,omitempty"` // its media type
}

// parameter is where an argument goes.
type parameter struct {
	Argument string `json:"argument"`
	Name     string `json:"name"`
	In       string `json:"in"` // path, query or header
	// Joined has the parts of a list in one value, Deep those of an object as name[part].
	Joined bool `json:"joined,omitempty"`
	Deep   bool `json:"deep,omitempty"`
	JSON   bool `json:"json,omitempty"` // it is written as JSON
}

func operationOf(how string) (operation, error) {
	var op operation
	if err := json.Unmarshal([]byte(how), &op); err != nil {
		return op, fmt.Errorf("read how it is called: %w", err)
	}
	return op, nil
}

// reads reports whether an operation only reads, as its method says.
func (o operation) reads() bool { return o.Method == http.MethodGet || o.Method == http.MethodHead }

// bodyArgument is the argument that has the body of a request.
const bodyArgument = "body"

// describe says of an operation what a tool says of itself.
func describe(
	doc *openapi3.T,
	base, path, method string,
	item *openapi3.PathItem,
	of *openapi3.Operation,
) catalog.Declaration {
	op := operation{
		Method: method,
		Base:   base,
		Path:   path,
	}
	declared := catalog.Declaration{
		Name:        of.OperationID,
		Title:       of.Summary,
		Description: strings.TrimSpace(of.Summary + "\n" + of.Description),
		ReadOnly:    op.reads(),
	}
	if declared.Name == "" {
		declared.Name = strings.ToLower(method) + strings.NewReplacer("/", "_", "{", "", "}", "").Replace(path)
	}
	if of.Deprecated {
		declared.Description = "Deprecated. " + declared.Description
	}
	args := arguments{
		schemas:    expansion{doc: doc},
		properties: map[string]any{},
	}
	for _, p := range parametersOf(item, of) {
		op.Parameters = append(op.Parameters, args.parameter(p))
	}
	problem := ""
	if of.RequestBody != nil && of.RequestBody.Value != nil {
		if op.Body = args.body(of.RequestBody.Value); op.Body == "" && of.RequestBody.Value.Required {
			problem = "it takes a body that cannot be written here"
		}
	}
	declared.Schema = args.write()
	how, err := plan.MarshalCompact(op)
	if err != nil || problem != "" {
		declared.Schema = json.RawMessage(`"` + problem + `"`) // which the catalog finds broken
	}
	declared.How = string(how)
	return declared
}

// arguments are those of an operation, as they come together.
type arguments struct {
	schemas    expansion
	properties map[string]any
	required   []string
}

// parameter adds the argument of a parameter, and says where it goes.
func (a *arguments) parameter(p *openapi3.Parameter) parameter {
	to := parameter{
		Argument: p.Name,
		Name:     p.Name,
		In:       p.In,
		Joined:   p.Explode != nil && !*p.Explode || p.In != openapi3.ParameterInQuery,
		Deep:     p.Style == "deepObject",
		JSON:     p.Schema == nil && len(p.Content) > 0,
	}
	if _, taken := a.properties[to.Argument]; taken || to.Argument == bodyArgument {
		to.Argument = p.In + "_" + p.Name
	}
	schema := a.schemas.of(p.Schema)
	if text := strings.TrimSpace(p.Description); text != "" {
		schema["description"] = text
	}
	a.properties[to.Argument] = schema
	if p.Required {
		a.required = append(a.required, to.Argument)
	}
	return to
}

// body adds the argument of a body, and says how it is written, "" where it cannot be.
func (a *arguments) body(of *openapi3.RequestBody) string {
	media, schema := mediaOf(of.Content)
	if media == "" {
		return ""
	}
	a.properties[bodyArgument] = a.schemas.of(schema)
	if of.Required {
		a.required = append(a.required, bodyArgument)
	}
	return media
}

// write writes the schema of all arguments.
func (a *arguments) write() json.RawMessage { return writeSchema(&a.schemas, a.properties, a.required) }

// parametersOf are those of an operation and of its path, the operation's first.
func parametersOf(item *openapi3.PathItem, of *openapi3.Operation) []*openapi3.Parameter {
	var out []*openapi3.Parameter
	for _, ref := range slices.Concat(of.Parameters, item.Parameters) {
		if ref == nil || ref.Value == nil || ref.Value.In == openapi3.ParameterInCookie {
			continue
		}
		p := ref.Value
		if !slices.ContainsFunc(out, func(o *openapi3.Parameter) bool { return o.Name == p.Name && o.In == p.In }) {
			out = append(out, p)
		}
	}
	return out
}

// Media types of bodies that are written.
const (
	mediaJSON = "application/json"
	mediaForm = "application/x-www-form-urlencoded"
	mediaText = "text/plain"
)

// mediaOf chooses how a body is written, "" where it cannot be.
func mediaOf(content openapi3.Content) (string, *openapi3.SchemaRef) {
	for _, media := range []string{mediaJSON, mediaForm, mediaText} {
		if m := content[media]; m != nil {
			return media, m.Schema
		}
	}
	for _, media := range slices.Sorted(maps.Keys(content)) {
		if plain, _, _ := strings.Cut(media, ";"); strings.HasSuffix(plain, "json") {
			return media, content[media].Schema
		}
	}
	return "", nil
}
