package web

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/vapshadow/vapshadow/sink"
)

// textView is a policy or a binding as it was evaluated.
type textView struct{ Kind, Name, Cluster, Hash, Text string }

// policyTextsOf are the texts of a policy and its bindings.
type policyTextsOf struct{ all []textView }

const (
	kindPolicy  = "ValidatingAdmissionPolicy"
	kindBinding = "ValidatingAdmissionPolicyBinding"
	// maxTexts is how many texts of one name a page shows.
	maxTexts = 10
)

func policyTexts(ctx context.Context, r Reader, f sink.Filter, all []sink.Readiness) (*policyTextsOf, error) {
	out := &policyTextsOf{}
	names := []struct{ kind, name string }{{kindPolicy, f.Policy}}
	for i := range all {
		if all[i].Binding != "" {
			names = append(names, struct{ kind, name string }{kindBinding, all[i].Binding})
		}
	}
	slices.SortFunc(names[1:], func(a, b struct{ kind, name string }) int { return cmp.Compare(a.name, b.name) })
	for _, n := range slices.Compact(names) {
		rows, err := collect(r.Policies(ctx, sink.Filter{Cluster: f.Cluster, Name: n.name, Limit: 4 * maxTexts}))
		if err != nil {
			return nil, err
		}
		shown := 0
		for _, row := range rows {
			if row.Kind == n.kind && shown < maxTexts {
				out.all = append(out.all, textView{row.Kind, row.Name, row.Cluster, row.Hash, indented(row.Text)})
				shown++
			}
		}
	}
	return out, nil
}

func indented(text string) string {
	var out bytes.Buffer
	if json.Indent(&out, []byte(text), "", "  ") != nil {
		return text
	}
	return out.String()
}

// actions are the validationActions of a binding; where its text changed, those of each text.
func (t *policyTextsOf) actions(cluster, binding string) string {
	var found []string
	for _, text := range t.all {
		var b struct {
			Spec struct {
				ValidationActions []string `json:"validationActions"`
			} `json:"spec"`
		}
		if text.Kind != kindBinding || text.Name != binding || text.Cluster != cluster || json.Unmarshal([]byte(text.Text), &b) != nil {
			continue
		}
		if s := "[" + strings.Join(b.Spec.ValidationActions, ", ") + "]"; !slices.Contains(found, s) {
			found = append(found, s)
		}
	}
	return strings.Join(found, " or ")
}

// expressions lists the validations of the policy's texts.
func (t *policyTextsOf) expressions() table {
	out := table{Caption: "Its validations", Head: heads("Validation", "Expression", "Message"), Empty: "The text of this policy is not stored."}
	var seen []string
	for _, text := range t.all {
		var p struct {
			Spec struct {
				Validations []struct{ Expression, Message, MessageExpression string } `json:"validations"`
			} `json:"spec"`
		}
		if text.Kind != kindPolicy || json.Unmarshal([]byte(text.Text), &p) != nil {
			continue
		}
		for i, v := range p.Spec.Validations {
			key := fmt.Sprint(i, v)
			if slices.Contains(seen, key) {
				continue
			}
			seen = append(seen, key)
			out.Rows = append(out.Rows, []cell{
				{Text: fmt.Sprintf("validations[%d]", i), Class: "fixed"}, {Text: v.Expression, Class: "code"}, {Text: cmp.Or(v.MessageExpression, v.Message), Class: "message"},
			})
		}
	}
	return out
}
