package document

import (
	_ "embed"
	"html/template"
	"io"
)

//go:embed report.html.tmpl
var page string

// pageTemplate escapes by context: nothing from a log becomes markup.
var pageTemplate = template.Must(template.New("report").Funcs(template.FuncMap{
	"plain": plain, "moment": moment, "yaml": asYAML,
	"shown":    func(l []Workload) []Workload { return l[:min(mostShown*5, len(l))] },
	"more":     func(b Binding) int64 { return b.Workloads - int64(min(mostShown*5, len(b.Failing))) },
	"scope":    func(b Binding) string { return b.scope() },
	"workload": func(w Workload) string { return w.scope() },
	"unknown":  func(b Binding) []string { return b.unknown() },
	"accepted": func(a *Accepted) string { return a.words() }, "excepted": func(n *Excepted) string { return n.words() },
	"left": func(l LeftOut) string { return l.line() },
	"of":   func(e GivenException) string { return e.policy() }, "where": func(e GivenException) string { return e.where() },
	"state": func(e GivenException) string { return e.state() }, "summary": func(x *Exceptions) string { return sentenceCase(x.sentence()) },
	"hidden": func(b Binding) bool { return b.SystemActors > int64(len(b.SystemActorNames)) },
}).Parse(page))

// view gives the page the phrases that the other forms have too.
type view struct {
	*Document
	Period, PopulationText, Criteria, VersionText string
	Gaps, Agreed                                  []string
}

func writeHTML(w io.Writer, d *Document) error {
	return pageTemplate.Execute(w, view{
		Document: d, Period: d.period(), PopulationText: d.population(), Criteria: d.criteria(), VersionText: d.versions(), Gaps: d.gaps(),
		Agreed: d.Agreement.lines(),
	})
}
