package rbac

// ErrUnknown is the error of an answer that a Snapshot cannot know.
type ErrUnknown struct {
	// Because is a stable code.
	Because string
}

const (
	// NoRBAC: no Role, ClusterRole or binding was supplied.
	NoRBAC = "NoRBAC"
	// NodeAuthorizer: the user is a node, and what the Node authorizer lets it do hangs on the pods that it runs.
	NodeAuthorizer = "NodeAuthorizer"
)

func (e ErrUnknown) Error() string {
	switch e.Because {
	case NoRBAC:
		return "authorization is unknown: no RBAC objects were supplied"
	case NodeAuthorizer:
		return "authorization is unknown: the Node authorizer decides on it"
	}
	return "authorization is unknown: " + e.Because
}
