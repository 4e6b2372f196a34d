package replay

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/vapshadow/vapshadow/ingest"
)

// Config is what a Replayer starts from.
type Config struct {
	// Minor is the apiserver's minor version: 37 for Kubernetes 1.37.
	Minor int
	// HistoryBytes bounds, approximately, the objects that are kept; 0 is no bound.
	HistoryBytes int64
	// Keep says whether earlier states of a resource's objects are needed, by group and plural name; events are those of
	// the core group. What any request may hang on (namespaces, RBAC, CRDs, policies) is kept anyway, and of what owns
	// pods, whose it is. Nil keeps everything. It may be called from several goroutines, and
	// Rekeep told when its answers change.
	Keep func(group, resource string) bool
}

// Replayer rebuilds admission requests. It is first shown the snapshot of the cluster, then each event twice, in the
// order of the log: once to Observe, which may run some way ahead, and once to Requests, which looks at the past
// and, where writes overlap, at what Observe has seen of the near future.
type Replayer struct {
	config  Config
	keeping sync.Map // what Keep said, by group and resource
	asking  sync.Mutex
	history *History
	rbac    *changeLog
	// policies are the writes of policies and bindings that the log shows; the snapshot's are not among them.
	policies *changeLog

	mu sync.RWMutex
	// resources is the discovery of the cluster, one entry a change of a CRD, in the order of time.
	resources []timedResources
	// last is the latest end of a request that wrote.
	last time.Time
	// builtin is what the apiserver itself has.
	builtin *Resources

	// given are the policies and bindings of the snapshot, and restored the resources that a restored history holds whole.
	given    map[Key]map[string]any
	restored map[[2]string]bool
}

type timedResources struct {
	*Resources
	from, to time.Time
}

// New makes a Replayer that knows the built-in resources and nothing of the cluster.
func New(cfg Config) *Replayer {
	builtin := BuiltinResources(cfg.Minor)
	return &Replayer{
		builtin:   builtin,
		config:    cfg,
		given:     map[Key]map[string]any{},
		restored:  map[[2]string]bool{},
		history:   NewHistory(cfg.HistoryBytes),
		rbac:      &changeLog{lag: cacheLag},
		policies:  &changeLog{lag: policyLag},
		resources: []timedResources{{Resources: builtin}},
	}
}

// ErrUnknownKind says that nothing tells the resource of a kind: its CRD has to come first.
var ErrUnknownKind = errors.New("no built-in resource, CRD or discovery document is of this kind")

// Snapshot takes in an object of the cluster as it was when the log began. CRDs and discovery documents have to come
// before the objects of their kinds.
func (r *Replayer) Snapshot(apiVersion, kind string, content map[string]any) error {
	switch kind {
	case "APIGroupDiscoveryList", "APIResourceList":
		if err := r.tell(func(now *Resources) (*Resources, error) { return now.WithDiscovery(content) }); err != nil {
			return fmt.Errorf("reading discovery: %w", err)
		}
		return nil
	case "CustomResourceDefinition":
		if r.restored[[2]string{crdGroup, "customresourcedefinitions"}] {
			return nil
		}
		if err := r.tell(func(now *Resources) (*Resources, error) { return now.WithCRD(content) }); err != nil {
			return fmt.Errorf("reading CustomResourceDefinition: %w", err)
		}
	}
	gvr, namespaced, ok := r.resources[0].Resource(schema.FromAPIVersionAndKind(apiVersion, kind))
	if !ok {
		return ErrUnknownKind
	}
	metadata := metadataOf(content)
	key := keyOf(gvr.Group, gvr.Resource, "", stringAt(metadata, "name"))
	if namespaced {
		key.Namespace = stringAt(metadata, "namespace")
	}
	if r.restored[[2]string{gvr.Group, gvr.Resource}] || r.restores(key) {
		return nil
	}
	if _, isRBAC := rbacKinds[gvr.Resource]; isRBAC && gvr.Group == rbacGroup {
		r.rbac.listed = true
		r.rbac.add(Change{Kind: kind, Namespace: key.Namespace, Name: key.Name, Content: content}, time.Time{}, time.Time{})
	}
	if _, isPolicy := policyKinds[gvr.Resource]; isPolicy && gvr.Group == policyGroup {
		r.given[key] = content
	}
	r.keepSnapshot(key, &version{uid: stringAt(metadata, "uid"), rv: revision(content), content: content, unknown: unstored(content)})
	return nil
}

// tell changes what is known of the resources, at all times.
func (r *Replayer) tell(with func(*Resources) (*Resources, error)) error {
	for i := range r.resources {
		next, err := with(r.resources[i].Resources)
		if err != nil {
			return err
		}
		r.resources[i].Resources = next
	}
	return nil
}

// unstored are the fields that an apiserver fills in when it stores an object. A manifest that was never read back from
// one does not show them.
func unstored(content map[string]any) []Unknown {
	if stringAt(metadataOf(content), "uid") != "" {
		return nil
	}
	var out []Unknown
	for _, field := range []string{"uid", "resourceVersion", "creationTimestamp", "generation", "managedFields"} {
		if metadataOf(content)[field] == nil {
			out = append(out, Unknown{Path: []string{"metadata", field}, Because: NotFromCluster})
		}
	}
	if content["kind"] == "Namespace" {
		for _, field := range []string{"spec", "status"} {
			out = append(out, Unknown{Path: []string{field}, Because: NotFromCluster})
		}
	}
	return out
}

// Decoded is an event with its bodies decoded: the costly part, which needs no order.
type Decoded struct {
	Event             *ingest.Event
	Operation         Operation
	NotAdmission      NotAdmission
	request, response map[string]any
	// light is what Light says; late: the bodies are not decoded yet.
	light, late bool
}

// Decode decodes what of an event the other methods look at.
func Decode(ev *ingest.Event) *Decoded {
	d := &Decoded{Event: ev}
	d.Operation, d.NotAdmission = classify(ev)
	receivedAtLeast(ev, d.Operation)
	d.decodeBodies()
	return d
}

func (d *Decoded) decodeBodies() {
	d.late = false
	if d.Operation != "" || d.NotAdmission == Excluded {
		d.request, d.response = decodeBody(d.Event.RequestObject), decodeBody(d.Event.ResponseObject)
	}
}

func (r *Replayer) resourcesAsOf(from time.Time) *Resources {
	r.mu.RLock()
	defer r.mu.RUnlock()
	for i := len(r.resources) - 1; i > 0; i-- {
		if !r.resources[i].to.After(from) {
			return r.resources[i].Resources
		}
	}
	return r.resources[0].Resources
}

// View is the cluster between two moments.
func (r *Replayer) View(from, to time.Time) View {
	return View{history: r.history, resources: r.resourcesAsOf(from), rbac: r.rbac, policies: r.policies, from: from, to: to}
}

// Resources are those that the snapshot tells of.
func (r *Replayer) Resources() *Resources { return r.resources[0].Resources }

// key names the object of an event.
func key(ev *ingest.Event, resources *Resources, name string) Key {
	ref := ev.ObjectRef
	k := keyOf(ref.APIGroup, ref.Resource, ref.Namespace, name)
	if namespaced, ok := resources.Namespaced(gvrOf(ref)); ok && !namespaced {
		k.Namespace = ""
	}
	return k
}

func gvrOf(ref *ingest.ObjectReference) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: ref.APIGroup, Version: ref.APIVersion, Resource: ref.Resource}
}

// TellsKinds says whether objects of a kind tell of other kinds, so that Snapshot has to see them first.
func TellsKinds(kind string) bool {
	return kind == "APIGroupDiscoveryList" || kind == "APIResourceList" || kind == "CustomResourceDefinition"
}
