package policy_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/vapshadow/vapshadow/engine/policy"
	"github.com/vapshadow/vapshadow/internal/manifest"
)

// TestDefaultsAsStored loads policies and bindings as they were applied to an apiserver 1.37, and as it gave them back.
func TestDefaultsAsStored(t *testing.T) {
	applied, refusals, rest := policy.Load(read(t, "testdata/accepted/applied.yaml"), policy.Options{Minor: 37})
	if len(refusals) > 0 || len(rest) > 0 || len(applied.Warnings) > 0 {
		t.Fatal(refusals, rest, applied.Warnings)
	}
	objects := read(t, "testdata/accepted/stored.yaml")
	stored, refusals, rest := policy.Load(objects, policy.Options{Minor: 37, Stored: true})
	if len(refusals) > 0 || len(rest) > 0 || len(stored.Warnings) > 0 || len(stored.Policies)+len(stored.Bindings) != len(objects) {
		t.Fatal(refusals, rest, stored.Warnings)
	}
	policies, bindings := specs(applied)
	wantPolicies, wantBindings := specs(stored)
	if diff := cmp.Diff(wantPolicies, policies); diff != "" {
		t.Errorf("policies (-stored +applied):\n%s", diff)
	}
	if diff := cmp.Diff(wantBindings, bindings, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("bindings (-stored +applied):\n%s", diff)
	}
	hashes, wantHashes := hashes(applied), hashes(stored)
	if diff := cmp.Diff(wantHashes, hashes); diff != "" {
		t.Errorf("hashes (-stored +applied):\n%s", diff)
	}
}

func specs(set policy.Set) (map[string]admissionv1.ValidatingAdmissionPolicySpec, map[string]admissionv1.ValidatingAdmissionPolicyBindingSpec) {
	policies := map[string]admissionv1.ValidatingAdmissionPolicySpec{}
	for _, p := range set.Policies {
		policies[p.Name] = p.Spec
	}
	bindings := map[string]admissionv1.ValidatingAdmissionPolicyBindingSpec{}
	for _, b := range set.Bindings {
		bindings[b.Name] = b.Spec
	}
	return policies, bindings
}

func hashes(set policy.Set) map[string]string {
	out := map[string]string{}
	for _, p := range set.Policies {
		out["policy "+p.Name] = policy.ContentHash(p)
	}
	for _, b := range set.Bindings {
		out["binding "+b.Name] = policy.ContentHash(b)
	}
	return out
}

const (
	policyText = "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicy\nmetadata: {name: %s}\nspec:\n" +
		"  matchConstraints:\n    resourceRules:\n    - {apiGroups: [\"\"], apiVersions: [v1], operations: [CREATE], resources: [pods]}\n" +
		"  validations:\n  - expression: %s\n"
	bindingText = "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicyBinding\nmetadata: {name: %s}\nspec:\n  policyName: %s\n  validationActions: [Audit]\n"
)

// TestLoadReports loads texts; what is loaded, refused, warned of and left is compared as lines.
func TestLoadReports(t *testing.T) {
	tests := []struct {
		name, text string
		opts       policy.Options
		want       []string
	}{
		{
			name: "other objects are left",
			text: fmt.Sprintf(policyText, "p", "'true'") + "---\n" + fmt.Sprintf(bindingText, "b", "p") + "---\napiVersion: v1\nkind: ConfigMap\n---\napiVersion: example.com/v1\nkind: ValidatingAdmissionPolicy\n",
			want: []string{"policy p", "binding b", "rest v1 ConfigMap", "rest example.com/v1 ValidatingAdmissionPolicy"},
		},
		{
			name: "a name that was read before",
			text: fmt.Sprintf(policyText, "p", "'true'") + "---\n" + fmt.Sprintf(policyText, "p", "'false'") + "---\n" + fmt.Sprintf(bindingText, "p", "p"),
			want: []string{
				"policy p", "binding p",
				`refused FILE:11 (document 2): ValidatingAdmissionPolicy "p" is refused: an object of this kind and name was read before, from FILE:1 (document 1): remove one of the two`,
			},
		},
		{
			name: "bindings that do nothing",
			text: fmt.Sprintf(policyText, "p", "'1'") + "---\n" + fmt.Sprintf(bindingText, "a", "p") + "---\n" + fmt.Sprintf(bindingText, "b", "q"),
			want: []string{
				"binding a", "binding b",
				`warning FILE:11 (document 2): ValidatingAdmissionPolicyBinding "a": its policy "p" was refused (FILE:1 (document 1)), so it does nothing`,
				`warning FILE:18 (document 3): ValidatingAdmissionPolicyBinding "b": its policy "q" was not read, so it does nothing`,
				`refused FILE:1 (document 1): ValidatingAdmissionPolicy "p" is refused: spec.validations[0].expression: Invalid value: "1": must evaluate to bool but got int`,
			},
		},
		{
			name: "a stored expression that does not compile",
			text: fmt.Sprintf(policyText, "p", "'1'"),
			opts: policy.Options{Stored: true},
			want: []string{
				"policy p",
				`warning FILE:1 (document 1): ValidatingAdmissionPolicy "p": the expression is in error at each evaluation: spec.validations[0].expression: Invalid value: "1": must evaluate to bool but got int`,
			},
		},
		{
			name: "a stored expression that a new one could not be yet",
			text: fmt.Sprintf(policyText, "p", `semver('1.2.3').major() == 1`),
			opts: policy.Options{Minor: 32, Stored: true},
			want: []string{"policy p"},
		},
		{
			name: "fields that are not known",
			text: fmt.Sprintf(policyText, "p", "'true'") + "    mesage: x\n  failurepolicy: Ignore\n",
			want: []string{
				"policy p",
				`warning FILE:1 (document 1): ValidatingAdmissionPolicy "p": unknown field "spec.failurepolicy"`,
				`warning FILE:1 (document 1): ValidatingAdmissionPolicy "p": unknown field "spec.validations[0].mesage"`,
			},
		},
		{
			name: "versions",
			text: strings.Replace(fmt.Sprintf(policyText, "p", "'true'"), "io/v1", "io/v1beta1", 1) + "---\n" + strings.Replace(fmt.Sprintf(policyText, "q", "'true'"), "io/v1", "io/v2", 1),
			want: []string{
				"policy p",
				`warning FILE:1 (document 1): ValidatingAdmissionPolicy "p": admissionregistration.k8s.io/v1beta1 is not served unless it is switched on, and never from 1.34: write admissionregistration.k8s.io/v1`,
				`refused FILE:11 (document 2): ValidatingAdmissionPolicy "q" is refused: admissionregistration.k8s.io has no version "v2" with this kind: write admissionregistration.k8s.io/v1`,
			},
		},
		{
			name: "a name that would be generated",
			text: strings.Replace(fmt.Sprintf(policyText, "p-", "'true'"), "{name", "{generateName", 1),
			want: []string{`refused FILE:1 (document 1): ValidatingAdmissionPolicy "p-" is refused: it has a generateName only, so its verdicts could not be named: give it a name`},
		},
		{
			name: "a name that 1.36 warns of",
			text: fmt.Sprintf(policyText, "p.static.k8s.io", "'true'"),
			opts: policy.Options{Minor: 36},
			want: []string{
				"policy p.static.k8s.io",
				`warning FILE:1 (document 1): ValidatingAdmissionPolicy "p.static.k8s.io": metadata.name: names ending with ".static.k8s.io" are reserved for static manifest-based configurations and cannot be managed via the API`,
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			objects, problems, err := manifest.Read([]string{"-"}, manifest.Options{Stdin: strings.NewReader(tt.text)})
			if err != nil || len(problems) > 0 {
				t.Fatal(problems, err)
			}
			if diff := cmp.Diff(tt.want, report(policy.Load(objects, tt.opts))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func report(set policy.Set, refusals []policy.Refusal, rest []manifest.Object) []string {
	var out []string
	for _, p := range set.Policies {
		out = append(out, "policy "+p.Name)
	}
	for _, b := range set.Bindings {
		out = append(out, "binding "+b.Name)
	}
	for _, w := range set.Warnings {
		out = append(out, "warning "+w.String())
	}
	for _, r := range refusals {
		out = append(out, "refused "+r.Error())
	}
	for _, o := range rest {
		out = append(out, "rest "+o.APIVersion+" "+o.Kind)
	}
	for i := range out {
		out[i] = strings.ReplaceAll(out[i], "standard input", "FILE")
	}
	return out
}

// TestContentHash tells what changes a hash from what does not.
func TestContentHash(t *testing.T) {
	hash := func(text string) string {
		objects, problems, err := manifest.Read([]string{"-"}, manifest.Options{Stdin: strings.NewReader(text)})
		if err != nil || len(problems) > 0 {
			t.Fatal(problems, err)
		}
		set, refusals, _ := policy.Load(objects, policy.Options{})
		if len(refusals) > 0 {
			t.Fatal(refusals)
		}
		return policy.ContentHash(set.Policies[0])
	}
	text := fmt.Sprintf(policyText, "p", "'true'")
	for name, same := range map[string]string{
		"a label":              strings.Replace(text, "{name: p}", "{name: p, labels: {a: b}}", 1),
		"a default, spelt out": text + "  failurePolicy: Fail\n",
		"an empty list":        strings.Replace(text, "spec:\n", "spec:\n  variables: []\n", 1),
	} {
		if hash(text) != hash(same) {
			t.Errorf("%s changes the hash", name)
		}
	}
	if hash(text) == hash(text+"  failurePolicy: Ignore\n") {
		t.Error("failurePolicy does not change the hash")
	}
	if got := hash(text); len(got) != 16 {
		t.Errorf("got %q, want 16 digits", got)
	}
}

// TestRefusalsNameFields is for callers that point at the field.
func TestRefusalsNameFields(t *testing.T) {
	objects, _, err := manifest.Read([]string{"-"}, manifest.Options{Stdin: strings.NewReader(fmt.Sprintf(bindingText, "B", `""`))})
	if err != nil {
		t.Fatal(err)
	}
	_, refusals, _ := policy.Load(objects, policy.Options{})
	var fields []string
	for _, r := range refusals {
		if invalid, ok := errors.AsType[*field.Error](r); !ok || invalid.Field != r.Field {
			t.Errorf("%v wraps no error of the field %s", r, r.Field)
		}
		fields = append(fields, r.Field)
	}
	if diff := cmp.Diff([]string{"metadata.name", "spec.policyName"}, fields); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
