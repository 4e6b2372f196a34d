package document

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"sigs.k8s.io/yaml"
)

// plain makes a text from a log fit for one line: what does not print, or turns the writing round, is escaped.
func plain(s string) string {
	if strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) {
		quoted := strconv.Quote(s)
		return quoted[1 : len(quoted)-1]
	}
	return s
}

func moment(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format("2006-01-02 15:04:05Z")
}

// scope says which cluster and binding a line is about.
func (b *Binding) scope() string {
	name := plain(b.Policy)
	if b.Binding != "" {
		name += " / " + plain(b.Binding)
	}
	if b.Cluster != "" {
		name = plain(b.Cluster) + ": " + name
	}
	return name
}

func (w *Workload) scope() string {
	name := plain(w.Kind) + " " + plain(w.Name)
	if w.Namespace != "" {
		name = plain(w.Namespace) + ": " + name
	}
	return name
}

// period says what the document is about.
func (d *Document) period() string {
	if d.Last.IsZero() {
		return "nothing matched in " + d.askedPeriod()
	}
	return fmt.Sprintf("matched from %s to %s, in %s", moment(d.First), moment(d.Last.Add(time.Minute)), d.askedPeriod())
}

func (d *Document) askedPeriod() string {
	from, to := d.Asked.From, d.Asked.To
	out := "what is stored from " + moment(from) + " to " + moment(to)
	switch {
	case from.IsZero() && to.IsZero():
		out = "all that is stored"
	case to.IsZero():
		out = "what is stored since " + moment(from)
	case from.IsZero():
		out = "what is stored before " + moment(to)
	}
	if d.Asked.Team != "" {
		out += " of the team " + plain(d.Asked.Team)
	}
	return out
}

// population says what became of all that was read.
func (d *Document) population() string {
	p := d.Population
	return fmt.Sprintf("%d events read in all: %d evaluated (%d admission requests), %d no admission request, %d skipped, %d unreadable",
		p.Ingested, p.Evaluated, p.Requests, total(p.NotAdmission), total(p.Skipped), total(p.DeadLettered))
}

// gaps lists what is missing from the population.
func (d *Document) gaps() []string {
	out := []string{}
	for _, reason := range slices.Sorted(maps.Keys(d.Population.Skipped)) {
		out = append(out, fmt.Sprintf("%d skipped: %s", d.Population.Skipped[reason], plain(reason)))
	}
	for _, reason := range slices.Sorted(maps.Keys(d.Population.DeadLettered)) {
		out = append(out, fmt.Sprintf("%d unreadable: %s", d.Population.DeadLettered[reason], plain(reason)))
	}
	var silent int64
	for _, b := range d.Bindings {
		silent = max(silent, b.SilentDays)
	}
	if silent > 0 {
		out = append(out, fmt.Sprintf("days without any data: %d", silent))
	}
	if n := d.Population.Unaccounted; n != 0 {
		out = append(out, fmt.Sprintf("not accounted for: %d events (run `vapshadow doctor`)", n))
	}
	return out
}

// unknown says what is unknown, and why.
func (b *Binding) unknown() []string {
	var out []string
	for _, reason := range slices.Sorted(maps.Keys(b.UnknownByReason)) {
		name := plain(reason)
		if name == "" {
			name = "no reason given"
		}
		out = append(out, fmt.Sprintf("%d unknown: %s", b.UnknownByReason[reason], name))
	}
	return out
}

func (d *Document) versions() string {
	parts := []string{"vapshadow " + plain(d.Versions.Vapshadow)}
	if v := d.Versions.Apiserver; v != "" {
		parts = append(parts, "k8s.io/apiserver "+plain(v))
	}
	if v := d.Versions.CEL; v != "" {
		parts = append(parts, "cel-go "+plain(v))
	}
	return strings.Join(parts, ", ")
}

func (d *Document) criteria() string {
	out := fmt.Sprintf("ready takes %d days and %g%% decided", d.Asked.Days, d.Asked.Coverage)
	if !d.Asked.Now.IsZero() {
		out += "; now is " + moment(d.Asked.Now)
	}
	return out
}

// asYAML shows the JSON of a policy as people write it.
func asYAML(text string) string {
	out, err := yaml.JSONToYAML([]byte(text))
	if err != nil {
		return text
	}
	return string(out)
}
