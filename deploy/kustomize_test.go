package deploy_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

var kustomizations = []string{"base", "overlays/monitoring", "overlays/webhook"}

// manifests are the objects that a kustomization comes to, by kind.
type manifests struct {
	accounts    []corev1.ServiceAccount
	configs     []corev1.ConfigMap
	services    []corev1.Service
	deployments []appsv1.Deployment
	jobs        []batchv1.Job
	budgets     []policyv1.PodDisruptionBudget
	monitors    []podMonitor
}

// podMonitor is the part of the Prometheus Operator's PodMonitor that is used here.
type podMonitor struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		JobLabel            string               `json:"jobLabel"`
		Selector            metav1.LabelSelector `json:"selector"`
		PodMetricsEndpoints []struct {
			Port     string `json:"port"`
			Path     string `json:"path"`
			Interval string `json:"interval"`
		} `json:"podMetricsEndpoints"`
	} `json:"spec"`
}

// build runs kustomize, and reads what it gives strictly: a field that Kubernetes does not know is an error.
func build(t *testing.T, folder string) *manifests {
	t.Helper()
	m := &manifests{}
	out := tool(t, folder, "sigs.k8s.io/kustomize/kustomize/v5", "build", ".")
	for document := range bytes.SplitSeq(out, []byte("\n---\n")) {
		if err := m.add(document); err != nil {
			t.Fatalf("%v\n%s", err, document)
		}
	}
	return m
}

func (m *manifests) add(document []byte) error {
	var kind metav1.TypeMeta
	if err := yaml.Unmarshal(document, &kind); err != nil {
		return err
	}
	switch kind.APIVersion + " " + kind.Kind {
	case "v1 ServiceAccount":
		return add(document, &m.accounts)
	case "v1 ConfigMap":
		return add(document, &m.configs)
	case "v1 Service":
		return add(document, &m.services)
	case "apps/v1 Deployment":
		return add(document, &m.deployments)
	case "batch/v1 Job":
		return add(document, &m.jobs)
	case "policy/v1 PodDisruptionBudget":
		return add(document, &m.budgets)
	case "monitoring.coreos.com/v1 PodMonitor":
		return add(document, &m.monitors)
	}
	return fmt.Errorf("these tests do not know %s %s", kind.APIVersion, kind.Kind)
}

func add[T any](document []byte, to *[]T) error {
	var object T
	err := yaml.UnmarshalStrict(document, &object)
	*to = append(*to, object)
	return err
}

func (m *manifests) config(name string) *corev1.ConfigMap {
	for i := range m.configs {
		if m.configs[i].Name == name {
			return &m.configs[i]
		}
	}
	return nil
}

// matching are the Deployments whose pods have labels.
func (m *manifests) matching(labels map[string]string) (found []appsv1.Deployment) {
	for _, d := range m.deployments {
		all := len(labels) > 0
		for k, v := range labels {
			all = all && d.Spec.Template.Labels[k] == v
		}
		if all {
			found = append(found, d)
		}
	}
	return found
}

func TestKustomizations(t *testing.T) {
	for _, folder := range kustomizations {
		t.Run(folder, func(t *testing.T) {
			m := build(t, folder)
			if len(m.deployments) == 0 || len(m.jobs) != 1 || len(m.accounts) != 1 {
				t.Fatalf("want Deployments, the Job that migrates and a ServiceAccount: %+v", m)
			}
			for _, d := range m.deployments {
				t.Run(d.Name, func(t *testing.T) { checkDeployment(t, m, &d) })
			}
			checkPod(t, m, m.jobs[0].Name, m.jobs[0].Spec.Template.Spec)
			checkSelectors(t, m)
		})
	}
}

func checkSelectors(t *testing.T, m *manifests) {
	t.Helper()
	for _, s := range m.services {
		found := m.matching(s.Spec.Selector)
		if len(found) != 1 {
			t.Errorf("the Service %s selects the pods of %d Deployments", s.Name, len(found))
			continue
		}
		for _, p := range s.Spec.Ports {
			if port(&found[0], p.TargetPort.StrVal) == 0 {
				t.Errorf("the Service %s leads to the port %s, which %s does not have", s.Name, p.TargetPort.String(), found[0].Name)
			}
		}
	}
	for _, b := range m.budgets {
		if found := m.matching(b.Spec.Selector.MatchLabels); len(found) != 1 {
			t.Errorf("the PodDisruptionBudget %s selects the pods of %d Deployments", b.Name, len(found))
		}
	}
	for _, p := range m.monitors {
		found := m.matching(p.Spec.Selector.MatchLabels)
		if len(found) != 1 || port(&found[0], p.Spec.PodMetricsEndpoints[0].Port) == 0 {
			t.Errorf("the PodMonitor %s selects the pods of %d Deployments, or another port than theirs", p.Name, len(found))
			continue
		}
		// The alerts go by the job.
		if job := found[0].Spec.Template.Labels[p.Spec.JobLabel]; job != "vapshadow" {
			t.Errorf("the PodMonitor %s calls the job %q", p.Name, job)
		}
	}
}

// port is the number of a port that a Deployment's pods name.
func port(d *appsv1.Deployment, name string) int32 {
	for _, c := range d.Spec.Template.Spec.Containers {
		for _, p := range c.Ports {
			if p.Name == name {
				return p.ContainerPort
			}
		}
	}
	return 0
}

// What rbac.yaml allows, it allows to the ServiceAccount that the base makes.
func TestRBACIsOfTheServiceAccount(t *testing.T) {
	account := build(t, "base").accounts[0]
	var binding rbacv1.ClusterRoleBinding
	documents := strings.Split(content(t, "rbac.yaml"), "\n---\n")
	if err := yaml.UnmarshalStrict([]byte(documents[len(documents)-1]), &binding); err != nil {
		t.Fatal(err)
	}
	want := []rbacv1.Subject{{Kind: "ServiceAccount", Name: account.Name, Namespace: account.Namespace}}
	if diff := cmp.Diff(want, binding.Subjects); diff != "" {
		t.Errorf("subjects (-want +got):\n%s", diff)
	}
}
