package ingest_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vapshadow/vapshadow/ingest"
)

func TestElements(t *testing.T) {
	const event = `{"kind":"Event", "apiVersion":"audit.k8s.io/v1","auditID":"a","requestObject":{"a":1,"a":2.50}}`
	for name, tt := range map[string]struct {
		data string
		want []string
	}{
		"items": {`{"kind":"Event","apiVersion":"audit.k8s.io/v1","auditID":"a","items":[{}]}`,
			[]string{`{"kind":"Event","apiVersion":"audit.k8s.io/v1","auditID":"a","items":[{}]}`}},
		"empty": {"  ", nil},
		"event": {event + "\n", []string{event}},
		"list":  {`{"kind":"EventList","apiVersion":"audit.k8s.io/v1","items":[` + event + `, {"stage": "Panic"}]}`, []string{event, `{"stage": "Panic"}`}},
		"array": {`[` + event + `,7]`, []string{event, "7"}},
		"cut":   {`[` + event + `,{"a":`, []string{event, "InvalidJSON"}},
	} {
		t.Run(name, func(t *testing.T) {
			at := ingest.Position{Source: "audit/0", Offset: 7}
			var got []string
			for _, e := range ingest.Elements(ingest.Entry{Data: []byte(tt.data), At: at}) {
				if e.At != at || e.Skip != nil && e.Skip.At != at {
					t.Errorf("an element is at %v", e.At)
				}
				text := string(e.Data)
				if e.Skip != nil {
					text = string(e.Skip.Reason)
				}
				got = append(got, text)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
