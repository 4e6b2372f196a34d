package pipeline

import (
	"maps"
	"slices"
	"strings"

	"github.com/vapshadow/vapshadow/engine"
	"github.com/vapshadow/vapshadow/sink"
)

// compareValues compares the audit annotations of policies. A value holds those of several bindings, in any order.
func (c *comparison) compareValues(r *recorded, records []*sink.Record, about Disagreement) {
	if !r.evaluated() {
		return
	}
	for _, key := range valueKeys(r, records) {
		policy, name, _ := strings.Cut(key, "/")
		row := c.annotations[pairName{policy, name}]
		if row == nil {
			row = &AnnotationAgreement{Policy: policy, Key: name, reasons: newReasons()}
			c.annotations[pairName{policy, name}] = row
		}
		d := Disagreement{Policy: policy, Annotation: name, Apiserver: SaidNoValue, Vapshadow: SaidNoValue}
		theirs, recorded := r.values[key]
		if recorded {
			d.Apiserver, d.ApiserverMessage = SaidValue, theirs
		}
		ours := valuesOf(key, records)
		if len(ours) > 0 {
			d.Vapshadow, d.VapshadowMessage = SaidValue, ours[0]
		}
		because, unknown := unknownValues(policy, records)
		switch {
		case recorded && slices.Contains(ours, theirs):
			row.Agreed++
		case recorded && slices.ContainsFunc(ours, func(v string) bool { return sameWords(v, theirs) }):
			row.Agreed++
			row.Reordered++
		case recorded && len(ours) > 0 && len(theirs) >= cutAt:
			row.NotRecorded++ // The same words in another order are cut elsewhere.
		case unknown:
			row.Undecided++
			row.UndecidedBecause[because]++
			c.because[because]++
		case r.perhapsRetried:
			row.Undecided++
			row.UndecidedBecause[becausePerhapsRetried]++
			c.because[becausePerhapsRetried]++
		default:
			row.Disagreed++
			row.disagreed(d.kind(), about.AuditID)
			c.tell(d.at(about))
		}
	}
}

// valueKeys are the keys that either side has a value for.
func valueKeys(r *recorded, records []*sink.Record) []string {
	keys := maps.Clone(r.values)
	for _, record := range records {
		maps.Copy(keys, record.Annotations)
	}
	delete(keys, engine.FailureAnnotation)
	return slices.Sorted(maps.Keys(keys))
}

// valuesOf are the values of an annotation, one an object that has it.
func valuesOf(key string, records []*sink.Record) []string {
	var out []string
	for _, record := range records {
		if v, ok := record.Annotations[key]; ok {
			out = append(out, v)
		}
	}
	return out
}

// unknownValues says whether some evaluation of a policy leaves open what its annotations are.
func unknownValues(policy string, records []*sink.Record) (because string, unknown bool) {
	for _, record := range records {
		for i := range record.Evaluations {
			if e := &record.Evaluations[i]; e.Policy == policy && e.Because != "" {
				return e.Because, true
			}
		}
	}
	return "", false
}
