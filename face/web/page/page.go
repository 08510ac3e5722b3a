// Package page is what people find at a server: pages that are read without scripts and
// by keyboard, and that follow what goes on where there are scripts. All that they show of
// runs is hostile text: templates escape it, and what acts or cannot be seen is named. The
// package must not know who may ask.
package page

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/plan-engine/plan/face/web/service"
	"github.com/plan-engine/plan/face/web/watch"
	"github.com/plan-engine/plan/internal/hint"
	"github.com/plan-engine/plan/internal/oneline"
	"github.com/plan-engine/plan/internal/sanitize"
)

//go:embed templates/*.html static
var files embed.FS

// Pages answer people.
type Pages struct {
	service   *service.Service
	hub       *watch.Hub
	csrf      string
	templates *template.Template
	mux       *http.ServeMux
}

// New makes the pages. Forms carry the CSRF token.
func New(d *service.Service, hub *watch.Hub, csrf string) (*Pages, error) {
	p := &Pages{
		service: d,
		hub:     hub,
		csrf:    csrf,
		mux:     http.NewServeMux(),
	}
	var err error
	if p.templates, err = template.New("").Funcs(p.functions()).ParseFS(files, "templates/*.html"); err != nil {
		return nil, fmt.Errorf("read the pages: %w", err)
	}
	static, err := fs.Sub(files, "static")
	if err != nil {
		return nil, fmt.Errorf("read what belongs to the pages: %w", err)
	}
	p.mux.Handle("GET /static/", http.StripPrefix("/static/", cached(http.FileServerFS(static))))
	routes := p.routes()
	for pattern, answer := range p.views() {
		method, view, _ := strings.Cut(pattern, " ")
		routes[method+" /runs/{id}"+view] = answer
		routes[method+" /batches/{id}/jobs/{job}"+view] = answer // of a job in the queue
	}
	for pattern, answer := range routes {
		p.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			if err := answer(w, r); err != nil {
				p.fail(w, err)
			}
		})
	}
	p.mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		p.show(w, http.StatusNotFound, "error.html", "Not there", problem{Error: "There is no such page."})
	})
	return p, nil
}

// ServeHTTP implements http.Handler.
func (p *Pages) ServeHTTP(w http.ResponseWriter, r *http.Request) { p.mux.ServeHTTP(w, r) }

// answer answers a request, or says why not.
type answer func(http.ResponseWriter, *http.Request) error

func (p *Pages) routes() map[string]answer {
	return map[string]answer{
		"GET /{$}":                    p.runs,
		"GET /rows":                   p.rows,
		"POST /runs/{id}/resume":      p.resume,
		"POST /runs/{id}/apply":       p.apply,
		"POST /runs/{id}/restore":     p.restore,
		"GET /decisions":              p.decisions,
		"GET /batches":                p.batches,
		"GET /batches/{id}":           p.batch,
		"GET /batches/{id}/plot.json": p.batchPlot,
		"POST /batches/{id}/{what}":   p.changeBatch,
		"GET /skills":                 p.skills,
		"POST /skills/{name}":         p.decideDraft,
		"GET /memory":                 p.memory,
		"POST /memory/{id}/forget":    p.forget,
		"GET /new":                    p.newRun,
		"POST /new":                   p.begin,
	}
}

// views are what there is of each run.
func (p *Pages) views() map[string]answer {
	return map[string]answer{
		"GET ":           p.run,
		"GET /standing":  p.status,
		"GET /live":      p.live,
		"GET /plan":      p.plan,
		"GET /diff":      p.diff,
		"GET /cost":      p.cost,
		"GET /cost.json": p.costPlot,
		"POST /letters":  p.tell,
	}
}

// cached lets browsers keep what comes with the program.
func cached(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "private, max-age=3600")
		next.ServeHTTP(w, r)
	})
}

// functions are those that templates have.
func (p *Pages) functions() template.FuncMap {
	return template.FuncMap{
		"csrf":  func() string { return p.csrf },
		"line":  func(n int, text any) string { return oneline.Cut(oneline.Of(fmt.Sprint(text)), n) },
		"since": func(at time.Time) string { return since(p.service.Host.Now().Sub(at)) },
		"usd":   func(v float64) string { return fmt.Sprintf("$%.4f", v) },
		"times": func(at time.Time) string { return at.Format("15:04:05") },
		"join":  func(list []string) string { return strings.Join(list, ", ") },
		"short": func(id any) string { text := fmt.Sprint(id); return text[max(0, len(text)-8):] },
		"base":  base,
		"part":  part,
		"lower": strings.ToLower,
	}
}

// part is what a template that others include is given.
func part(pairs ...any) map[string]any {
	out := map[string]any{}
	for i := 0; i+1 < len(pairs); i += 2 {
		out[fmt.Sprint(pairs[i])] = pairs[i+1]
	}
	return out
}

// base is the last part of a path.
func base(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

// since is a time that has passed, as roughly as people want it.
func since(d time.Duration) string {
	switch {
	case d < time.Minute:
		return "now"
	case d < time.Hour:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h", int(d.Hours()))
	}
	return fmt.Sprintf("%d days", int(d.Hours()/24))
}

// problem is what an error says.
type problem struct {
	Error, Hint string
}

// fail shows an error.
func (p *Pages) fail(w http.ResponseWriter, err error) {
	p.show(w, service.Status(err), "error.html", "That did not work", problem{
		Error: err.Error(),
		Hint:  hint.Of(err),
	})
}

// frame is what every page has.
type frame struct {
	Title   string
	Section string // of the navigation
	Data    any
}

// show writes a whole page.
func (p *Pages) show(w http.ResponseWriter, status int, name, title string, data any) {
	p.write(w, status, name, frame{
		Title:   title,
		Section: strings.TrimSuffix(name, ".html"),
		Data:    data,
	})
}

// write writes a template. What acts or cannot be seen in it is named.
func (p *Pages) write(w http.ResponseWriter, status int, name string, data any) {
	text, err := p.render(name, data)
	if err != nil {
		http.Error(w, "the page cannot be made: "+sanitize.Text(err.Error()), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(text)) // the reader may have left
}

func (p *Pages) render(name string, data any) (string, error) {
	var out bytes.Buffer
	if err := p.templates.ExecuteTemplate(&out, name, data); err != nil {
		return "", fmt.Errorf("make the page: %w", err)
	}
	return sanitize.HTML(out.String()), nil
}

// redirectBack leads to the page that a form came from, or to another one.
func redirectBack(w http.ResponseWriter, r *http.Request, otherwise string) {
	to := r.PostFormValue("back")
	if at, err := url.Parse(to); err != nil || at.Host != "" || at.Scheme != "" || !strings.HasPrefix(to, "/") ||
		strings.HasPrefix(to, "//") || strings.Contains(to, "\\") {
		to = otherwise
	}
	http.Redirect(w, r, to, http.StatusSeeOther) //nolint:gosec // a path of ours
}
