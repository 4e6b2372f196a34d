package policy

import (
	"errors"
	"fmt"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/vapshadow/vapshadow/internal/manifest"
)

const (
	group       = "admissionregistration.k8s.io"
	policyKind  = "ValidatingAdmissionPolicy"
	bindingKind = "ValidatingAdmissionPolicyBinding"
)

// Load takes in the policies and bindings among objects. It returns those that an apiserver accepts, why it refuses the
// others, and the objects of other kinds.
func Load(objects []manifest.Object, opts Options) (Set, []Refusal, []manifest.Object) {
	l := loader{opts: opts, expressions: newExpressions(opts), first: map[string]manifest.Position{}}
	var rest []manifest.Object
	for _, o := range objects {
		version, ours := strings.CutPrefix(o.APIVersion, group+"/")
		switch {
		case ours && o.Kind == policyKind:
			l.policy(o, version)
		case ours && o.Kind == bindingKind:
			l.binding(o, version)
		default:
			rest = append(rest, o)
		}
	}
	l.warnUnbound()
	return l.set, l.refusals, rest
}

type loader struct {
	opts        Options
	expressions *expressions
	set         Set
	refusals    []Refusal
	// first is where each kind and name was first read, also if it was refused.
	first map[string]manifest.Position
}

func (l *loader) policy(o manifest.Object, version string) {
	p := &admissionv1.ValidatingAdmissionPolicy{}
	if !l.decode(o, version, p, &p.ObjectMeta) {
		return
	}
	if !l.opts.Stored {
		p.Status = admissionv1.ValidatingAdmissionPolicyStatus{}
	}
	defaultPolicy(p)
	c := l.checker()
	c.policy(p)
	if l.accepted(o, p.Name, c) {
		l.set.Policies = append(l.set.Policies, Policy{p, o.At})
	}
}

func (l *loader) binding(o manifest.Object, version string) {
	b := &admissionv1.ValidatingAdmissionPolicyBinding{}
	if !l.decode(o, version, b, &b.ObjectMeta) {
		return
	}
	defaultBinding(b, version)
	c := l.checker()
	c.binding(b)
	if l.accepted(o, b.Name, c) {
		l.set.Bindings = append(l.set.Bindings, Binding{b, o.At})
	}
}

// decode decodes an object and readies its metadata as an apiserver does before it validates. It says whether there is
// an object to validate.
func (l *loader) decode(o manifest.Object, version string, into any, meta *metav1.ObjectMeta) bool {
	unknown, err := decode(o, version, into)
	if err != nil {
		l.refuse(o, nameOf(o), err)
		return false
	}
	key := o.Kind + "/" + meta.Name
	if first, ok := l.first[key]; ok && meta.Name != "" {
		l.refuse(o, meta.Name, fmt.Errorf("an object of this kind and name was read before, from %s: remove one of the two", first))
		return false
	}
	l.first[key] = o.At
	for _, message := range unknown {
		l.warn(o, meta.Name, message)
	}
	if version != "v1" && !l.opts.Stored {
		l.warn(o, meta.Name, fmt.Sprintf("%s/%s is not served unless it is switched on, and never from 1.34: write %s/v1", group, version, group))
	}
	if meta.Name == "" && meta.GenerateName != "" {
		l.refuse(o, meta.GenerateName, errors.New("it has a generateName only, so its verdicts could not be named: give it a name"))
		return false
	}
	meta.Namespace = ""
	if !l.opts.Stored {
		meta.Generation, meta.ManagedFields = 1, nil
	}
	return true
}

func (l *loader) checker() *checker {
	return &checker{minor: l.opts.minor(), stored: l.opts.Stored, expressions: l.expressions}
}

// accepted reports what the check of an object found, and says whether an apiserver takes the object in.
func (l *loader) accepted(o manifest.Object, name string, c *checker) bool {
	seen := map[string]bool{}
	for _, err := range c.errors() {
		if text := err.Error(); !seen[text] {
			seen[text] = true
			l.refusals = append(l.refusals, Refusal{At: o.At, Kind: o.Kind, Name: name, Field: err.Field, Err: err})
		}
	}
	for _, err := range c.broken {
		l.warn(o, name, fmt.Sprintf("the expression is in error at each evaluation: %v", err))
	}
	for _, message := range c.warnings {
		l.warn(o, name, message)
	}
	return len(seen) == 0
}

// warnUnbound warns of bindings whose policy is not there: an apiserver takes them in, and they do nothing.
func (l *loader) warnUnbound() {
	policies := map[string]bool{}
	for _, p := range l.set.Policies {
		policies[p.Name] = true
	}
	for _, b := range l.set.Bindings {
		if policies[b.Spec.PolicyName] {
			continue
		}
		message := fmt.Sprintf("its policy %q was not read, so it does nothing", b.Spec.PolicyName)
		if at, ok := l.first[policyKind+"/"+b.Spec.PolicyName]; ok {
			message = fmt.Sprintf("its policy %q was refused (%s), so it does nothing", b.Spec.PolicyName, at)
		}
		l.set.Warnings = append(l.set.Warnings, Warning{At: b.At, Kind: bindingKind, Name: b.Name, Message: message})
	}
}

func (l *loader) refuse(o manifest.Object, name string, err error) {
	r := Refusal{At: o.At, Kind: o.Kind, Name: name, Err: err}
	if invalid, ok := errors.AsType[*field.Error](err); ok {
		r.Field = invalid.Field
	}
	l.refusals = append(l.refusals, r)
}

func (l *loader) warn(o manifest.Object, name, message string) {
	l.set.Warnings = append(l.set.Warnings, Warning{At: o.At, Kind: o.Kind, Name: name, Message: message})
}
