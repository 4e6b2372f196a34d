package web

import (
	"bytes"
	"embed"
	"html/template"
	"net/http"
	"strings"
	"time"
)

//go:embed templates static
var files embed.FS

// view is what a template shows.
type view struct {
	Title string
	Nav   string
	Query query
	// Timeless: the page shows the same whatever the period.
	Timeless bool
	Body     any
	// Crumbs lead back to the overview.
	Crumbs []crumb
	// Site is what all pages have in common.
	Site siteView
}

type crumb struct{ Text, Link string }

type siteView struct {
	Title, Version string
	// Session: there is something to log out of.
	Session bool
	// Now is when the page was made.
	Now time.Time
}

// arguments are those of a template that needs several.
type arguments []any

var templates = parse()

func parse() map[string]*template.Template {
	base := template.Must(template.New("").Funcs(template.FuncMap{
		"plain": plain, "number": number, "moment": moment, "minute": minute,
		"periods": func() any { return periods }, "args": func(list ...any) arguments { return list },
	}).ParseFS(files, "templates/layout/*.html"))
	all := map[string]*template.Template{}
	names, err := files.ReadDir("templates")
	if err != nil {
		panic(err) // they are embedded
	}
	for _, entry := range names {
		if name, ok := strings.CutSuffix(entry.Name(), ".html"); ok {
			all[name] = template.Must(template.Must(base.Clone()).ParseFS(files, "templates/"+entry.Name()))
		}
	}
	return all
}

// render writes a page as a whole, or, if a template fails, nothing of it.
func (s *server) render(w http.ResponseWriter, r *http.Request, code int, name string, v view) {
	v.Site = siteView{Title: s.Title, Version: s.Version, Session: s.Token != "" && s.allowed(r), Now: time.Now().UTC()}
	var out bytes.Buffer
	if err := templates[name].ExecuteTemplate(&out, "page", v); err != nil {
		s.Log.Error("a page could not be written", "page", r.URL.Path, "error", err)
		http.Error(w, "the page could not be written; the log of vapshadow says why", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(code)
	_, _ = w.Write(out.Bytes()) // Who asked is gone, if this fails.
}

// fail shows what went wrong, and the way back.
func (s *server) fail(w http.ResponseWriter, r *http.Request, code int, text string) {
	s.render(w, r, code, "problem", view{Title: http.StatusText(code), Body: text})
}

// static serves the stylesheet and the icon.
func static(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-cache")
	http.ServeFileFS(w, r, files, "static/"+r.PathValue("file"))
}
