package deploy_test

import (
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/vapshadow/vapshadow/internal/config"
	"github.com/vapshadow/vapshadow/internal/pipeline"
)

// checkPod wants what the restricted Pod Security Standard wants, and more; and all that the pod names to be there.
func checkPod(t *testing.T, m *manifests, name string, pod corev1.PodSpec) {
	t.Helper()
	if pod.ServiceAccountName != m.accounts[0].Name || pod.AutomountServiceAccountToken == nil || *pod.AutomountServiceAccountToken {
		t.Errorf("%s: wants the ServiceAccount %s, without its token", name, m.accounts[0].Name)
	}
	s := pod.SecurityContext
	if s == nil || s.RunAsNonRoot == nil || !*s.RunAsNonRoot || s.RunAsUser == nil || *s.RunAsUser == 0 ||
		s.SeccompProfile == nil || s.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault {
		t.Errorf("%s: runs as root, or without seccomp: %+v", name, s)
	}
	for _, c := range pod.Containers {
		s := c.SecurityContext
		if s == nil || s.ReadOnlyRootFilesystem == nil || !*s.ReadOnlyRootFilesystem || s.AllowPrivilegeEscalation == nil ||
			*s.AllowPrivilegeEscalation || s.Capabilities == nil || !slices.Equal(s.Capabilities.Drop, []corev1.Capability{"ALL"}) {
			t.Errorf("%s/%s: has more rights than it needs: %+v", name, c.Name, s)
		}
		if c.Resources.Requests.Cpu().IsZero() || c.Resources.Requests.Memory().IsZero() || c.Resources.Limits.Memory().IsZero() {
			t.Errorf("%s/%s: requests or the limit of memory are missing", name, c.Name)
		}
		if !regexp.MustCompile(`^[a-z.]+/[a-z/]+:\d+\.\d+\.\d+$`).MatchString(c.Image) {
			t.Errorf("%s/%s: the image %s has no fixed version", name, c.Name, c.Image)
		}
		for _, e := range c.Env {
			if ref := e.ValueFrom; ref != nil && ref.SecretKeyRef != nil {
				checkSecret(t, ref.SecretKeyRef.Name, ref.SecretKeyRef.Key)
			}
		}
		for _, mount := range c.VolumeMounts {
			checkMount(t, m, pod, mount)
		}
	}
}

// checkSecret wants a Secret, which is not in the repository, to be told of where the objects are applied.
func checkSecret(t *testing.T, name, key string) {
	t.Helper()
	text := content(t, "base/kustomization.yaml") + content(t, "overlays/webhook/kustomization.yaml")
	if !strings.Contains(text, "create secret generic "+name) || !strings.Contains(text, key+"=") && !strings.Contains(text, "file="+key) {
		t.Errorf("no kustomization.yaml says how to make the Secret %s with %s", name, key)
	}
}

func checkMount(t *testing.T, m *manifests, pod corev1.PodSpec, mount corev1.VolumeMount) {
	t.Helper()
	i := slices.IndexFunc(pod.Volumes, func(v corev1.Volume) bool { return v.Name == mount.Name })
	if i < 0 || !mount.ReadOnly {
		t.Errorf("%s is mounted of no volume, or can be written to", mount.MountPath)
		return
	}
	switch v := pod.Volumes[i]; {
	case v.ConfigMap != nil:
		found := m.config(v.ConfigMap.Name)
		if found == nil {
			t.Errorf("there is no ConfigMap %s", v.ConfigMap.Name)
		} else if _, ok := found.Data[mount.SubPath]; mount.SubPath != "" && !ok {
			t.Errorf("the ConfigMap %s has no %s", v.ConfigMap.Name, mount.SubPath)
		}
	case v.Secret != nil:
		if v.Secret.DefaultMode == nil || *v.Secret.DefaultMode != 0o440 || pod.SecurityContext.FSGroup == nil {
			t.Errorf("the Secret %s can be read by others than the pod's group, or not by that", v.Secret.SecretName)
		}
	default:
		t.Errorf("the volume %s is neither a ConfigMap nor a Secret", mount.Name)
	}
}

func checkDeployment(t *testing.T, m *manifests, d *appsv1.Deployment) {
	t.Helper()
	pod := d.Spec.Template.Spec
	checkPod(t, m, d.Name, pod)
	for k, v := range d.Spec.Selector.MatchLabels {
		if d.Spec.Template.Labels[k] != v {
			t.Errorf("its selector is not what its pods are labelled: %s", k)
		}
	}
	c := pod.Containers[0]
	if c.LivenessProbe == nil || c.ReadinessProbe == nil {
		t.Fatal("a probe is missing")
	}
	checkConfig(t, m, d, c)
	limit, err := resource.ParseQuantity(strings.TrimSuffix(env(c)["GOMEMLIMIT"], "B"))
	if err != nil || limit.Cmp(*c.Resources.Limits.Memory()) >= 0 {
		t.Errorf("GOMEMLIMIT %s is not below the limit of memory (%v)", env(c)["GOMEMLIMIT"], err)
	}
}

// checkConfig reads the configuration as the pod does.
func checkConfig(t *testing.T, m *manifests, d *appsv1.Deployment, c corev1.Container) {
	t.Helper()
	i := slices.Index(c.Args, "--config")
	if i < 0 {
		t.Fatalf("there is no --config: %v", c.Args)
	}
	text, ok := mountedFile(m, d, c, c.Args[i+1])
	if !ok {
		t.Fatalf("%s is not mounted", c.Args[i+1])
	}
	cfg, err := config.Parse([]byte(text), func(name string) (string, bool) { v, ok := env(c)[name]; return v, ok })
	if err != nil {
		t.Fatal(err)
	}
	grace := time.Duration(*d.Spec.Template.Spec.TerminationGracePeriodSeconds) * time.Second
	if grace <= cfg.ShutdownTimeout {
		t.Errorf("a pod is killed after %s, and may need %s", grace, cfg.ShutdownTimeout)
	}
	listens := cfg.Listen
	paths := cfg.Policies
	for _, s := range cfg.Sources {
		if s.Webhook != nil {
			listens = s.Webhook.Listen
			paths = append(paths, s.Webhook.CertFile, s.Webhook.KeyFile, s.Webhook.ClientCAFile)
			paths = append(paths, s.Webhook.TokenFiles...)
		}
	}
	if want := "0.0.0.0:" + strconv.Itoa(int(c.Ports[0].ContainerPort)); listens != want {
		t.Errorf("it listens on %s, and the pod says %s", listens, want)
	}
	for _, p := range paths {
		if !slices.ContainsFunc(c.VolumeMounts, func(v corev1.VolumeMount) bool { return v.MountPath == p || v.MountPath == path.Dir(p) }) {
			t.Errorf("%s is not mounted", p)
		}
		if name := path.Base(p); path.Dir(p) != "/etc/vapshadow" && cfg.Forward != nil {
			checkSecret(t, "vapshadow-audit", name)
		}
	}
}

func mountedFile(m *manifests, d *appsv1.Deployment, c corev1.Container, file string) (string, bool) {
	for _, mount := range c.VolumeMounts {
		for _, v := range d.Spec.Template.Spec.Volumes {
			if mount.MountPath == file && v.Name == mount.Name && v.ConfigMap != nil && m.config(v.ConfigMap.Name) != nil {
				text, ok := m.config(v.ConfigMap.Name).Data[mount.SubPath]
				return text, ok
			}
		}
	}
	return "", false
}

// env is the environment of a container; what comes from a Secret has some value.
func env(c corev1.Container) map[string]string {
	all := map[string]string{}
	for _, e := range c.Env {
		all[e.Name] = e.Value
		if e.ValueFrom != nil {
			all[e.Name] = "postgres://user@host/database"
		}
	}
	return all
}

// The example policies are such as an apiserver takes, all of them.
func TestPoliciesAreGood(t *testing.T) {
	files, err := filepath.Glob("base/policies/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no policies: %v", err)
	}
	for _, file := range files {
		if !strings.Contains(content(t, "base/kustomization.yaml"), strings.TrimPrefix(file, "base/")) {
			t.Errorf("%s is in no ConfigMap", file)
		}
		p, err := pipeline.OpenPolicies(pipeline.PoliciesConfig{Paths: []string{file}, Minor: 37})
		if err != nil {
			t.Fatal(err)
		}
		if s := p.Status(); len(p.Current().Refusals) > 0 || len(p.Current().Warnings) > 0 || s.Policies == 0 || s.Bindings == 0 {
			t.Errorf("%s: %+v %v %v", file, s, p.Current().Refusals, p.Current().Warnings)
		}
	}
}
