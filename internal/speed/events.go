package main

import (
	"fmt"
	"strings"
)

// updateEvent is the i-th update of one of 200 Deployments. Every thousandth has a new image, each another status.
func updateEvent(i int) string { return updateWith(i, i/1000+1) }

// changingEvent is an update that has a new image each time.
func changingEvent(i int) string { return updateWith(i, i) }

func updateWith(i, version int) string {
	name := i % 200
	body := deployment(name, i, version)
	return fmt.Sprintf(`{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"RequestResponse","auditID":"%08d-0000-4000-8000-000000000000",`+
		`"stage":"ResponseComplete","requestURI":"/apis/apps/v1/namespaces/shop/deployments/web-%d?fieldManager=controller","verb":"update",`+
		`"user":{"username":"system:serviceaccount:shop:deployer","uid":"5d1f","groups":["system:serviceaccounts","system:serviceaccounts:shop","system:authenticated"]},`+
		`"sourceIPs":["10.0.0.7"],"userAgent":"controller/v1.2.3 (linux/amd64) kubernetes/abcdef0",`+
		`"objectRef":{"resource":"deployments","namespace":"shop","name":"web-%d","uid":"d-%d","apiGroup":"apps","apiVersion":"v1","resourceVersion":"%d"},`+
		`"responseStatus":{"metadata":{},"code":200},"requestObject":%s,"responseObject":%s,`+
		`"requestReceivedTimestamp":"%s","stageTimestamp":"%s","annotations":{"authorization.k8s.io/decision":"allow","authorization.k8s.io/reason":"RBAC: allowed by RoleBinding"}}`,
		i, name, name, name, 1000+i-200, fmt.Sprintf(body, 1000+i-200), fmt.Sprintf(body, 1000+i), moment(i, 1), moment(i, 9))
}

// moment is a time that the i-th event has.
func moment(i, millis int) string {
	return fmt.Sprintf("2026-01-%02dT%02d:%02d:%02d.%03d000Z", 2+i/8640000, i/360000%24, i/6000%60, i/100%60, i%100*10+millis)
}

// deployment is a Deployment of nearly 5 KB, its resourceVersion left open.
func deployment(name, i, version int) string {
	container := func(n int) string {
		return fmt.Sprintf(`{"name":"c%d","image":"registry.example.com/shop/web:v%d","args":["serve","--port=%d"],"ports":[{"name":"http","containerPort":%d,"protocol":"TCP"}],`+
			`"env":[{"name":"A","value":"1"},{"name":"POD_IP","valueFrom":{"fieldRef":{"apiVersion":"v1","fieldPath":"status.podIP"}}}],`+
			`"resources":{"limits":{"cpu":"500m","memory":"512Mi"},"requests":{"cpu":"100m","memory":"128Mi"}},`+
			`"volumeMounts":[{"name":"config","mountPath":"/etc/web"},{"name":"tmp","mountPath":"/tmp"}],`+
			`"livenessProbe":{"httpGet":{"path":"/healthz","port":"http","scheme":"HTTP"},"timeoutSeconds":1,"periodSeconds":10,"successThreshold":1,"failureThreshold":3},`+
			`"readinessProbe":{"httpGet":{"path":"/readyz","port":"http","scheme":"HTTP"},"timeoutSeconds":1,"periodSeconds":10,"successThreshold":1,"failureThreshold":3},`+
			`"terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File","imagePullPolicy":"IfNotPresent",`+
			`"securityContext":{"capabilities":{"drop":["ALL"]},"privileged":false,"runAsNonRoot":true,"readOnlyRootFilesystem":true,"allowPrivilegeEscalation":false}}`, n, version, 8080+n, 8080+n)
	}
	var fields strings.Builder
	for n := range 4 {
		fmt.Fprintf(&fields, `"f:a%[1]d":{},"f:spec%[1]d":{"f:replicas":{},"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"c0\"}":{".":{},"f:image":{}}}}}},`, n)
	}
	return fmt.Sprintf(`{"kind":"Deployment","apiVersion":"apps/v1","metadata":{"name":"web-%[1]d","namespace":"shop","uid":"d-%[1]d","resourceVersion":"%%d","generation":%[2]d,`+
		`"creationTimestamp":"2026-01-01T00:00:00Z","labels":{"app.kubernetes.io/name":"web","app.kubernetes.io/part-of":"shop","tier":"front"},`+
		`"annotations":{"deployment.kubernetes.io/revision":"%[2]d","example.com/owner":"team-shop"},`+
		`"managedFields":[{"manager":"deployer","operation":"Update","apiVersion":"apps/v1","time":"2026-01-01T00:00:00Z","fieldsType":"FieldsV1","fieldsV1":{%[3]s"f:z":{}}}]},`+
		`"spec":{"replicas":3,"selector":{"matchLabels":{"app":"web"}},"template":{"metadata":{"labels":{"app":"web","tier":"front"}},"spec":{"containers":[%[4]s,%[5]s],`+
		`"volumes":[{"name":"config","configMap":{"name":"web","defaultMode":420}},{"name":"tmp","emptyDir":{}}],`+
		`"restartPolicy":"Always","terminationGracePeriodSeconds":30,"dnsPolicy":"ClusterFirst","serviceAccountName":"web","serviceAccount":"web","securityContext":{},"schedulerName":"default-scheduler"}},`+
		`"strategy":{"type":"RollingUpdate","rollingUpdate":{"maxUnavailable":"25%%%%","maxSurge":"25%%%%"}},"revisionHistoryLimit":10,"progressDeadlineSeconds":600},`+
		`"status":{"observedGeneration":%[2]d,"replicas":%[6]d,"readyReplicas":%[6]d,"conditions":[{"type":"Available","status":"True","lastUpdateTime":"2026-01-02T00:00:%02[7]dZ",`+
		`"lastTransitionTime":"2026-01-02T00:00:00Z","reason":"MinimumReplicasAvailable","message":"Deployment has minimum availability."}]}}`,
		name, version, fields.String(), container(0), container(1), i%3+1, i%60)
}

// readEvent is a read as most of a log is.
func readEvent(i int) string {
	return fmt.Sprintf(`{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"Metadata","auditID":"%08d-0000-4000-9000-000000000000",`+
		`"stage":"ResponseComplete","requestURI":"/api/v1/namespaces/shop/configmaps?allowWatchBookmarks=true\u0026resourceVersion=%d\u0026timeoutSeconds=391\u0026watch=true","verb":"%s",`+
		`"user":{"username":"system:node:node-%d","groups":["system:nodes","system:authenticated"],"extra":{"authentication.kubernetes.io/credential-id":["X509SHA256=0f3d"]}},`+
		`"sourceIPs":["10.0.0.%d"],"userAgent":"kubelet/v1.37.1 (linux/amd64) kubernetes/abcdef0",`+
		`"objectRef":{"resource":"configmaps","namespace":"shop","name":"web-%d","apiVersion":"v1"},"responseStatus":{"metadata":{},"code":200},`+
		`"requestReceivedTimestamp":"%s","stageTimestamp":"%s","annotations":{"authorization.k8s.io/decision":"allow","authorization.k8s.io/reason":""}}`,
		i, i, []string{"get", "list", "watch"}[i%3], i%50, i%250, i%300, moment(i, 1), moment(i, 5))
}

// leaseEvent is the renewal of a lease, which no policy matches.
func leaseEvent(i int) string {
	body := fmt.Sprintf(`{"kind":"Lease","apiVersion":"coordination.k8s.io/v1","metadata":{"name":"node-%[1]d","namespace":"kube-node-lease","uid":"l-%[1]d","resourceVersion":"%[2]d",`+
		`"creationTimestamp":"2026-01-01T00:00:00Z","ownerReferences":[{"apiVersion":"v1","kind":"Node","name":"node-%[1]d","uid":"n-%[1]d"}],`+
		`"managedFields":[{"manager":"kubelet","operation":"Update","apiVersion":"coordination.k8s.io/v1","time":"2026-01-01T00:00:00Z","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:renewTime":{}}}}]},`+
		`"spec":{"holderIdentity":"node-%[1]d","leaseDurationSeconds":40,"renewTime":"2026-01-02T00:00:%02[3]d.000000Z"}}`, i%50, 500000+i, i%60)
	return fmt.Sprintf(`{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"RequestResponse","auditID":"%08d-0000-4000-a000-000000000000","stage":"ResponseComplete",`+
		`"requestURI":"/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/node-%d?timeout=10s","verb":"update","user":{"username":"system:node:node-%d","groups":["system:nodes","system:authenticated"]},`+
		`"sourceIPs":["10.0.0.1"],"userAgent":"kubelet/v1.37.1 (linux/amd64) kubernetes/abcdef0",`+
		`"objectRef":{"resource":"leases","namespace":"kube-node-lease","name":"node-%d","uid":"l-%d","apiGroup":"coordination.k8s.io","apiVersion":"v1","resourceVersion":"%d"},`+
		`"responseStatus":{"metadata":{},"code":200},"requestObject":%s,"responseObject":%s,"requestReceivedTimestamp":"%s","stageTimestamp":"%s",`+
		`"annotations":{"authorization.k8s.io/decision":"allow","authorization.k8s.io/reason":""}}`, i, i%50, i%50, i%50, i%50, 500000+i-50, body, body, moment(i, 1), moment(i, 4))
}

func mixedEvent(i int) string {
	switch i % 10 {
	case 0:
		return updateEvent(i / 10)
	case 1, 4, 7:
		return leaseEvent(i)
	}
	return readEvent(i)
}

// createdEvent is the creation of a Deployment of its own.
func createdEvent(i int) string {
	body := fmt.Sprintf(`{"kind":"Deployment","apiVersion":"apps/v1","metadata":{"name":"app-%[1]d","namespace":"shop","uid":"a-%[1]d","resourceVersion":"%[1]d","generation":1,`+
		`"creationTimestamp":"2026-01-02T00:00:00Z","labels":{"app.kubernetes.io/name":"app-%[1]d"}},"spec":{"replicas":1,"selector":{"matchLabels":{"app":"app-%[1]d"}},`+
		`"template":{"metadata":{"labels":{"app":"app-%[1]d"}},"spec":{"containers":[{"name":"main","image":"registry.example.com/shop/app:v%[1]d"}]}}},"status":{}}`, i+1)
	return fmt.Sprintf(`{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"RequestResponse","auditID":"%08d-0000-4000-b000-000000000000","stage":"ResponseComplete",`+
		`"requestURI":"/apis/apps/v1/namespaces/shop/deployments","verb":"create","user":{"username":"jane","groups":["system:authenticated"]},`+
		`"objectRef":{"resource":"deployments","namespace":"shop","name":"app-%d","apiGroup":"apps","apiVersion":"v1"},`+
		`"responseStatus":{"metadata":{},"code":201},"requestObject":%s,"responseObject":%s,"requestReceivedTimestamp":"%s","stageTimestamp":"%s",`+
		`"annotations":{"authorization.k8s.io/decision":"allow","authorization.k8s.io/reason":""}}`, i, i+1, body, body, moment(i, 1), moment(i, 4))
}
