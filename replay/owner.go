package replay

import "strings"

// Owner is the workload that an object belongs to.
type Owner struct{ Kind, Name string }

// ownerResources are the owners that have owners of their own.
var ownerResources = map[string][2]string{
	"ReplicaSet": {"apps", "replicasets"},
	"Job":        {"batch", "jobs"},
}

// Owner follows the controlling ownerReferences of the request's object up to the workload that a person made: from a
// Pod to its ReplicaSet and on to its Deployment, as far as snapshot and log show them. A Deployment is told by its Pods
// too, where neither shows the ReplicaSet. It is nil for an object that nothing owns.
func (r *Request) Owner() *Owner {
	content := r.Object.Content
	if content == nil || metadataOf(content)["ownerReferences"] == nil && r.OldObject.Content != nil {
		content = r.OldObject.Content
	}
	owner := controller(content)
	for range len(ownerResources) {
		if owner == nil || r.View.history == nil {
			break
		}
		resource, ok := ownerResources[owner.Kind]
		if !ok {
			break
		}
		s, found := r.View.history.asOf(keyOf(resource[0], resource[1], r.Namespace, owner.Name), r.View.from, r.View.to, 0, false)
		if !found {
			s, found = r.View.history.asOf(keyOf(resource[0], resource[1]+ownersOnly, r.Namespace, owner.Name), r.View.from, r.View.to, 0, false)
		}
		if !found || s.Content == nil {
			if deployment := deploymentOf(content, owner); deployment != nil {
				owner = deployment
			}
			break
		}
		next := controller(s.Content)
		if next == nil {
			break
		}
		owner = next
	}
	return owner
}

// deploymentOf tells the Deployment of a Pod by the rule of its controller, which labels the Pods of a ReplicaSet with a
// hash and names the ReplicaSet after the Deployment and the hash. It is nil where the Pod is not of that form. Nothing but
// how requests are grouped hangs on it.
// https://kubernetes.io/docs/concepts/workloads/controllers/deployment/#pod-template-hash-label
func deploymentOf(pod map[string]any, owner *Owner) *Owner {
	labels, _ := metadataOf(pod)["labels"].(map[string]any)
	hash, _ := labels["pod-template-hash"].(string)
	name, ok := strings.CutSuffix(owner.Name, "-"+hash)
	if owner.Kind != "ReplicaSet" || hash == "" || !ok || name == "" {
		return nil
	}
	return &Owner{Kind: "Deployment", Name: name}
}

func controller(content map[string]any) *Owner {
	references, _ := metadataOf(content)["ownerReferences"].([]any)
	for _, raw := range references {
		reference, _ := raw.(map[string]any)
		if reference["controller"] == true {
			return &Owner{Kind: stringAt(reference, "kind"), Name: stringAt(reference, "name")}
		}
	}
	return nil
}
