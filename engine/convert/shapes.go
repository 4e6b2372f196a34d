package convert

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// SameShapes lists the built-in kinds that kube-apiserver 1.30 to 1.37 can serve in several versions which have
// the same fields and convert into each other field by field, so that only apiVersion changes. A test holds it
// against the Go types. Kinds that admission policies never see are left out.
//
// Not in it, so not converted: resource.k8s.io/v1beta1 (its requests have another shape), versions that
// k8s.io/api no longer has (networking.k8s.io/v1alpha1, resource.k8s.io/v1alpha2 …), and
// certificates.k8s.io PodCertificateRequest.
var SameShapes = map[schema.GroupKind][]string{
	{Group: "certificates.k8s.io", Kind: "ClusterTrustBundle"}:          {"v1", "v1beta1", "v1alpha1"},
	{Group: "coordination.k8s.io", Kind: "LeaseCandidate"}:              {"v1beta1", "v1alpha2"},
	{Group: "flowcontrol.apiserver.k8s.io", Kind: "FlowSchema"}:         {"v1", "v1beta3"},
	{Group: "networking.k8s.io", Kind: "IPAddress"}:                     {"v1", "v1beta1"},
	{Group: "networking.k8s.io", Kind: "ServiceCIDR"}:                   {"v1", "v1beta1"},
	{Group: "resource.k8s.io", Kind: "DeviceClass"}:                     {"v1", "v1beta2"},
	{Group: "resource.k8s.io", Kind: "DeviceTaintRule"}:                 {"v1", "v1beta2", "v1alpha3"},
	{Group: "resource.k8s.io", Kind: "ResourceClaim"}:                   {"v1", "v1beta2"},
	{Group: "resource.k8s.io", Kind: "ResourceClaimTemplate"}:           {"v1", "v1beta2"},
	{Group: "resource.k8s.io", Kind: "ResourceSlice"}:                   {"v1", "v1beta2"},
	{Group: "scheduling.k8s.io", Kind: "PodGroup"}:                      {"v1beta1", "v1alpha3"},
	{Group: "scheduling.k8s.io", Kind: "Workload"}:                      {"v1beta1", "v1alpha3"},
	{Group: "storage.k8s.io", Kind: "VolumeAttributesClass"}:            {"v1", "v1beta1", "v1alpha1"},
	{Group: "storagemigration.k8s.io", Kind: "StorageVersionMigration"}: {"v1", "v1beta1"},
}

func sameShape(from schema.GroupVersionKind, to string) bool {
	versions := SameShapes[from.GroupKind()]
	return slices.Contains(versions, from.Version) && slices.Contains(versions, to)
}
