package replay

import (
	"maps"
	"reflect"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
)

// defaulted are the fields, by struct, that an apiserver fills in where they are absent. The values are its own affair:
// here it is only known that they may come to be there.
// https://kubernetes.io/docs/reference/kubernetes-api/
var defaulted = map[reflect.Type][]string{
	reflect.TypeFor[corev1.PodSpec](): {
		"dnsPolicy", "restartPolicy", "securityContext", "terminationGracePeriodSeconds", "schedulerName", "enableServiceLinks", "resources",
	},
	reflect.TypeFor[corev1.Container]():                                       {"imagePullPolicy", "terminationMessagePath", "terminationMessagePolicy"},
	reflect.TypeFor[corev1.EphemeralContainer]():                              {"imagePullPolicy", "terminationMessagePath", "terminationMessagePolicy"},
	reflect.TypeFor[corev1.ContainerPort]():                                   {"protocol", "hostPort"},
	reflect.TypeFor[corev1.Probe]():                                           {"timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold"},
	reflect.TypeFor[corev1.HTTPGetAction]():                                   {"path", "scheme"},
	reflect.TypeFor[corev1.GRPCAction]():                                      {"service"},
	reflect.TypeFor[corev1.ResourceRequirements]():                            {"requests", "limits"},
	reflect.TypeFor[corev1.VolumeResourceRequirements]():                      {"requests"},
	reflect.TypeFor[corev1.ResourceFieldSelector]():                           {"divisor"},
	reflect.TypeFor[corev1.SecurityContext]():                                 {"procMount"},
	reflect.TypeFor[corev1.ObjectFieldSelector]():                             {"apiVersion"},
	reflect.TypeFor[corev1.Volume]():                                          {"emptyDir"},
	reflect.TypeFor[corev1.ImageVolumeSource]():                               {"pullPolicy"},
	reflect.TypeFor[corev1.SecretVolumeSource]():                              {"defaultMode"},
	reflect.TypeFor[corev1.ConfigMapVolumeSource]():                           {"defaultMode"},
	reflect.TypeFor[corev1.DownwardAPIVolumeSource]():                         {"defaultMode"},
	reflect.TypeFor[corev1.ProjectedVolumeSource]():                           {"defaultMode"},
	reflect.TypeFor[corev1.ServiceAccountTokenProjection]():                   {"expirationSeconds"},
	reflect.TypeFor[corev1.HostPathVolumeSource]():                            {"type"},
	reflect.TypeFor[corev1.ISCSIVolumeSource]():                               {"iscsiInterface"},
	reflect.TypeFor[corev1.RBDVolumeSource]():                                 {"pool", "user", "keyring"},
	reflect.TypeFor[corev1.ScaleIOVolumeSource]():                             {"storageMode", "fsType"},
	reflect.TypeFor[corev1.AzureDiskVolumeSource]():                           {"cachingMode", "fsType", "readOnly", "kind"},
	reflect.TypeFor[corev1.PersistentVolumeClaimSpec]():                       {"volumeMode", "dataSource", "dataSourceRef", "storageClassName"},
	reflect.TypeFor[corev1.PersistentVolumeClaimStatus]():                     {"phase"},
	reflect.TypeFor[corev1.Secret]():                                          {"type"},
	reflect.TypeFor[corev1.ServicePort]():                                     {"protocol", "targetPort", "nodePort"},
	reflect.TypeFor[corev1.EndpointPort]():                                    {"protocol"},
	reflect.TypeFor[corev1.NamespaceStatus]():                                 {"phase"},
	reflect.TypeFor[corev1.NodeStatus]():                                      {"allocatable"},
	reflect.TypeFor[corev1.LoadBalancerIngress]():                             {"ipMode"},
	reflect.TypeFor[appsv1.DeploymentSpec]():                                  {"replicas", "revisionHistoryLimit", "progressDeadlineSeconds"},
	reflect.TypeFor[appsv1.DeploymentStrategy]():                              {"type", "rollingUpdate"},
	reflect.TypeFor[appsv1.RollingUpdateDeployment]():                         {"maxUnavailable", "maxSurge"},
	reflect.TypeFor[appsv1.DaemonSetSpec]():                                   {"revisionHistoryLimit"},
	reflect.TypeFor[appsv1.DaemonSetUpdateStrategy]():                         {"type", "rollingUpdate"},
	reflect.TypeFor[appsv1.RollingUpdateDaemonSet]():                          {"maxUnavailable", "maxSurge"},
	reflect.TypeFor[appsv1.ReplicaSetSpec]():                                  {"replicas"},
	reflect.TypeFor[appsv1.StatefulSetSpec]():                                 {"podManagementPolicy", "persistentVolumeClaimRetentionPolicy", "replicas", "revisionHistoryLimit"},
	reflect.TypeFor[appsv1.StatefulSetUpdateStrategy]():                       {"type", "rollingUpdate"},
	reflect.TypeFor[appsv1.RollingUpdateStatefulSetStrategy]():                {"partition", "maxUnavailable"},
	reflect.TypeFor[appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy](): {"whenDeleted", "whenScaled"},
	reflect.TypeFor[batchv1.JobSpec](): {
		"completions", "parallelism", "backoffLimit", "completionMode", "suspend", "manualSelector", "podReplacementPolicy", "selector",
	},
	reflect.TypeFor[batchv1.PodFailurePolicyOnPodConditionsPattern](): {"status"},
	reflect.TypeFor[batchv1.CronJobSpec]():                            {"concurrencyPolicy", "suspend", "successfulJobsHistoryLimit", "failedJobsHistoryLimit"},
	reflect.TypeFor[autoscalingv1.HorizontalPodAutoscalerSpec]():      {"minReplicas", "targetCPUUtilizationPercentage"},
	reflect.TypeFor[autoscalingv2.HorizontalPodAutoscalerSpec]():      {"minReplicas", "metrics", "behavior", "selectionStrategy"},
	reflect.TypeFor[autoscalingv2.HorizontalPodAutoscalerBehavior]():  {"scaleUp", "scaleDown"},
	reflect.TypeFor[autoscalingv2.HPAScalingRules]():                  {"stabilizationWindowSeconds", "selectPolicy", "policies"},
	reflect.TypeFor[discoveryv1.EndpointPort]():                       {"name", "protocol"},
	reflect.TypeFor[networkingv1.NetworkPolicySpec]():                 {"policyTypes"},
	reflect.TypeFor[networkingv1.NetworkPolicyPort]():                 {"protocol"},
	reflect.TypeFor[networkingv1.IngressClassParametersReference]():   {"scope"},
	reflect.TypeFor[rbacv1.RoleRef]():                                 {"apiGroup"},
	reflect.TypeFor[rbacv1.Subject]():                                 {"apiGroup"},
	reflect.TypeFor[corev1.ServiceSpec](): {
		"clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy", "healthCheckNodePort", "sessionAffinity", "sessionAffinityConfig", "type",
		"externalTrafficPolicy", "internalTrafficPolicy", "allocateLoadBalancerNodePorts",
	},
}

// coupled are the fields, by struct, that an apiserver may change on account of others in it, or next to it.
var coupled = map[reflect.Type][]string{
	reflect.TypeFor[corev1.PodSpec]():              {"serviceAccount", "tolerations", "priority", "resources"},
	reflect.TypeFor[corev1.ResourceRequirements](): {"requests"},
	reflect.TypeFor[corev1.ServiceSpec](): {
		"clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy", "healthCheckNodePort", "ports", "sessionAffinityConfig",
		"externalTrafficPolicy", "internalTrafficPolicy", "allocateLoadBalancerNodePorts",
	},
	reflect.TypeFor[corev1.Secret]():                    {"data", "stringData"},
	reflect.TypeFor[corev1.Endpoints]():                 {"subsets"}, //nolint:staticcheck // deprecated, but still written in every cluster
	reflect.TypeFor[corev1.PersistentVolumeClaimSpec](): {"dataSource", "dataSourceRef"},
}

// defaulting finds what defaults may have been filled in on the way from what a patch made of an object.
type defaulting struct {
	because Reason
	unknown []Unknown
}

func (w *defaulting) add(path []string, field string) {
	w.unknown = append(w.unknown, Unknown{Path: append(append([]string(nil), path...), field), Because: w.because})
}

// object looks at an object that was of a struct before, nil if it is new. Only what changed can have been filled in
// anew: an object that is stored has its defaults.
func (w *defaulting) object(path []string, of reflect.Type, old, next map[string]any) {
	if old != nil && reflect.DeepEqual(old, next) {
		return
	}
	fields := fieldsOf(of)
	touched := old == nil
	for name, field := range fields {
		if _, _, ok := structOf(field.of); !ok && !reflect.DeepEqual(old[name], next[name]) {
			touched = true
		}
	}
	for _, name := range defaulted[of] {
		if _, there := next[name]; there {
			continue
		}
		if _, was := old[name]; was || touched {
			w.add(path, name)
		}
	}
	if touched {
		for _, name := range coupledFields(of, old, next) {
			w.add(path, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(next)) {
		value := next[name]
		inner, list, ok := structOf(fields[name].ofOrNil())
		if !ok {
			continue
		}
		below := append(append([]string(nil), path...), name)
		if !list {
			was, _ := old[name].(map[string]any)
			if now, isMap := value.(map[string]any); isMap {
				w.object(below, inner, was, now)
			}
			continue
		}
		was, _ := old[name].([]any)
		now, _ := value.([]any)
		w.list(append(below, EachElement), inner, fields[name].mergeKey, was, now)
	}
}

// list looks at the elements of a list of objects, each against the one that it was before.
func (w *defaulting) list(path []string, of reflect.Type, key string, old, next []any) {
	for i, value := range next {
		now, ok := value.(map[string]any)
		if !ok {
			continue
		}
		var was map[string]any
		switch {
		case key != "":
			was = elementWith(old, key, now[key])
		case len(old) == len(next):
			was, _ = old[i].(map[string]any)
		}
		w.object(path, of, was, now)
	}
}

// elementWith is the object in a list that has a value in a field; nil if there is none.
func elementWith(list []any, field string, value any) map[string]any {
	for _, raw := range list {
		if element, ok := raw.(map[string]any); ok && reflect.DeepEqual(element[field], value) {
			return element
		}
	}
	return nil
}

// coupledFields are the fields of a struct that changes in some of them may have changed.
func coupledFields(of reflect.Type, old, next map[string]any) []string {
	switch of {
	case reflect.TypeFor[corev1.Secret]():
		if next["stringData"] == nil {
			return nil
		}
	case reflect.TypeFor[corev1.ResourceRequirements]():
		if reflect.DeepEqual(old["limits"], next["limits"]) {
			return nil
		}
	}
	return coupled[of]
}

func (f goField) ofOrNil() reflect.Type {
	if f.of == nil {
		return reflect.TypeFor[string]()
	}
	return f.of
}
