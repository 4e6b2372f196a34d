package replay

import (
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/vapshadow/vapshadow/ingest"
)

// Operation is an admission operation.
type Operation string

const (
	Create  Operation = "CREATE"
	Update  Operation = "UPDATE"
	Delete  Operation = "DELETE"
	Connect Operation = "CONNECT"
)

// Request is an admission request as the ValidatingAdmissionPolicy plugin saw it.
type Request struct {
	Event *ingest.Event

	Operation Operation
	// OrCreate: whether the request made the object (or would have, had it not failed) or changed it is not known.
	// Operation is Update.
	OrCreate    bool
	Resource    schema.GroupVersionResource
	SubResource string
	// Kind is empty where nothing tells it (UnknownKind).
	Kind      schema.GroupVersionKind
	Namespace string
	// Name is admission's: the final one of a generateName create, empty for the items of a deletecollection.
	Name string
	// ObjectName is the object's, where admission has none.
	ObjectName string
	DryRun     bool
	// Perhaps is set where it is not known whether there was such a request at all: a deletecollection whose response is
	// not shown makes one for each item that it found, or none.
	Perhaps Reason
	User    ingest.UserInfo
	// Options are the operation's options as JSON decodes them; null for CONNECT.
	Options Object

	Object    Object
	OldObject Object

	// Unknown are the attributes of `request` that are not known, as paths below it.
	Unknown []Unknown

	// Received and Completed bound the moment of admission.
	Received, Completed time.Time
	// View is the cluster at that moment.
	View View
}
