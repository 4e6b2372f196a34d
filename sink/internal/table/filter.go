package table

import "github.com/vapshadow/vapshadow/sink"

// Condition compares a column with a value: a string or a time.Time.
type Condition struct {
	Column, Operator string
	Value            any
}

// Conditions are what a filter asks of the columns that the table has, but for Results.
func (t *Table[T]) Conditions(f sink.Filter) []Condition {
	var out []Condition
	for _, c := range []struct{ column, value string }{
		{"source", f.Source}, {"partition", f.Partition}, {"cluster", f.Cluster}, {"policy", f.Policy}, {"binding", f.Binding},
		{"namespace", f.Namespace}, {"team", f.Team}, {"audit_id", f.AuditID}, {"name", f.Name}, {"username", f.Username}, {"because", f.Because},
		{"policy_hash", f.PolicyHash},
	} {
		if c.value != "" && t.Has(c.column) {
			out = append(out, Condition{c.column, "=", Text(c.value)})
		}
	}
	if t.Has("owner_name") {
		for _, c := range []struct{ column, value string }{{WorkloadKind, f.WorkloadKind}, {WorkloadName, f.WorkloadName}} {
			if c.value != "" {
				out = append(out, Condition{"(" + c.column + ")", "=", Text(c.value)})
			}
		}
	}
	if t.Time == "" {
		return out
	}
	if !f.Since.IsZero() {
		out = append(out, Condition{t.Time, ">=", Time(f.Since)})
	}
	if !f.Until.IsZero() {
		out = append(out, Condition{t.Time, "<", Time(f.Until)})
	}
	return out
}

// IsText says whether a column holds a text.
func (t *Table[T]) IsText(name string) bool {
	for _, c := range t.Columns {
		if c.Name == name {
			_, ok := c.Field(new(T)).(*string)
			return ok
		}
	}
	return false
}
