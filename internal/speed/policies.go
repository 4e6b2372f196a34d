package main

import (
	"fmt"
	"strings"
)

// rules are validations as people write them for workloads.
var rules = []string{
	"object.spec.replicas <= 50",
	"object.spec.replicas >= 1 || object.metadata.name.startsWith('batch-')",
	"has(object.metadata.labels) && 'app.kubernetes.io/name' in object.metadata.labels",
	"object.spec.template.spec.containers.all(c, c.image.startsWith('registry.example.com/'))",
	"object.spec.template.spec.containers.all(c, !c.image.endsWith(':latest'))",
	"object.spec.template.spec.containers.all(c, has(c.resources.limits) && 'memory' in c.resources.limits)",
	"object.spec.template.spec.containers.all(c, has(c.resources.requests) && 'cpu' in c.resources.requests)",
	"object.spec.template.spec.containers.all(c, !has(c.securityContext) || !has(c.securityContext.privileged) || !c.securityContext.privileged)",
	"object.spec.template.spec.containers.all(c, has(c.securityContext) && has(c.securityContext.runAsNonRoot) && c.securityContext.runAsNonRoot)",
	"object.spec.template.spec.containers.all(c, has(c.livenessProbe) && has(c.readinessProbe))",
	"!has(object.spec.template.spec.hostNetwork) || !object.spec.template.spec.hostNetwork",
	"!has(object.spec.template.spec.volumes) || object.spec.template.spec.volumes.all(v, !has(v.hostPath))",
	"object.spec.strategy.type == 'RollingUpdate'",
	"object.spec.template.spec.serviceAccountName != 'default'",
	"oldObject == null || object.spec.selector == oldObject.spec.selector",
	"oldObject == null || object.metadata.labels['app.kubernetes.io/name'] == oldObject.metadata.labels['app.kubernetes.io/name']",
	"request.userInfo.username.startsWith('system:') || has(object.metadata.annotations)",
	"namespaceObject.metadata.labels.team == 'shop'",
	"object.spec.template.metadata.labels.all(k, k.size() < 64)",
	"object.spec.template.spec.containers.map(c, c.name).isSorted()",
	"object.spec.template.spec.containers.all(c, c.resources.limits.all(k, quantity(c.resources.limits[k]).isGreaterThan(quantity('0'))))",
	"has(object.spec.template.spec.terminationGracePeriodSeconds) && object.spec.template.spec.terminationGracePeriodSeconds <= 120",
	"object.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",
	"request.operation != 'DELETE'",
	"object.spec.template.spec.containers.size() <= 10",
}

// policies are so many policies and bindings that match Deployments.
func policies(count int) string {
	var out strings.Builder
	for i := range count {
		fmt.Fprintf(&out, `apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: p%d}
spec:
  failurePolicy: Fail
  matchConstraints: {resourceRules: [{apiGroups: [apps], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [deployments, statefulsets]}]}
  matchConditions: [{name: people, expression: "!request.userInfo.groups.exists(g, g == 'system:masters')"}]
  validations:
  - expression: %q
  - expression: %q
    message: rule %d
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: p%d-audit}
spec: {policyName: p%d, validationActions: [Audit]}
---
`, i, rules[i%len(rules)], rules[(i*7+3)%len(rules)], i, i, i)
	}
	return out.String()
}
