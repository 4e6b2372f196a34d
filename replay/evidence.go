// Package replay rebuilds from audit events what admission saw: the request, the object before and after, and the
// cluster around it, each with how it is known.
package replay

import (
	"slices"
	"strings"
)

// Level says how an input of a request is known.
type Level string

const (
	// Exact: the log proves that it is what admission saw.
	Exact Level = "Exact"
	// Presumed: the best reconstruction; nothing contradicts it.
	Presumed Level = "Presumed"
	// Missing: the log does not hold it; Evidence.Because says why.
	Missing Level = "Missing"
)

// Reason is a stable code for why an input is Missing, or why a verdict is Unknown. Additions only.
type Reason string

const (
	// NoBody: the audit level of the event leaves bodies out.
	NoBody Reason = "NoBody"
	// NoResponseBody: the audit level holds the request's body but not the response's.
	NoResponseBody Reason = "NoResponseBody"
	// RequestFailed: the request failed, so that no response shows the object that admission saw.
	RequestFailed Reason = "RequestFailed"
	// PartialResponse: the client asked for metadata or a table only.
	PartialResponse Reason = "PartialResponse"
	// NoHistory: neither the snapshot nor the log shows the object before this request.
	NoHistory Reason = "NoHistory"
	// WritesMissed: the object was written in between by a request whose outcome the log does not show.
	WritesMissed Reason = "WritesMissed"
	// NotStored: a value that the apiserver makes on the way to admission and shows nowhere.
	NotStored Reason = "NotStored"
	// ManagedFieldsOmitted: the audit policy has omitManagedFields.
	ManagedFieldsOmitted Reason = "ManagedFieldsOmitted"
	// Mutated: a mutating webhook or policy changed the object on its way, and no response shows the outcome.
	Mutated Reason = "Mutated"
	// Truncated: the body was cut before it reached the log.
	Truncated Reason = "Truncated"
	// NotInSource: the source of the event never holds it. Logs of a cloud leave out what an apiserver writes.
	NotInSource Reason = "NotInSource"
	// UnknownKind: neither the built-in table nor a CRD nor discovery tells the resource's kind.
	UnknownKind Reason = "UnknownKind"
	// NoNamespace: no snapshot of the namespace was given.
	NoNamespace Reason = "NoNamespace"
	// NoParams: no snapshot of the params' kind was given.
	NoParams Reason = "NoParams"
	// NoRBAC: no snapshot of Roles and bindings was given.
	NoRBAC Reason = "NoRBAC"
	// NotFromCluster: the object was given as a manifest, without what the apiserver fills in.
	NotFromCluster Reason = "NotFromCluster"
	// NumberForm: the log does not tell whether a client sent 2 or 2.0, which are an int and a double to CEL.
	NumberForm Reason = "NumberForm"
	// NodeAuthorizer: the answer is the Node authorizer's, which looks at more than RBAC.
	NodeAuthorizer Reason = "NodeAuthorizer"
	// Changing: the object was being written while the request was admitted.
	Changing Reason = "Changing"
	// Evicted: the object was known, and had to go from the history, which was to stay within its limit.
	Evicted Reason = "Evicted"
	// NotKept: no policy that is evaluated hangs on what the object was before, so that was not kept.
	NotKept Reason = "NotKept"
	// NotWatched: the cluster is watched, and was not at that moment: before the first list, or while it was out of reach.
	NotWatched Reason = "NotWatched"
	// NoConversion: the policy asks for another version of the object, which cannot be had here.
	NoConversion Reason = "NoConversion"
)

// Evidence is how an input is known.
type Evidence struct {
	Level   Level
	Because Reason // set where Level is Missing
}

// Weaker returns the weaker of two levels.
func Weaker(a, b Level) Level {
	if a == b || a.rank() >= b.rank() {
		return a
	}
	return b
}

func (l Level) rank() int { return slices.Index([]Level{Exact, Presumed, Missing}, l) }

// EachElement stands in a path for every element of a list.
const EachElement = "*"

// Unknown is a part of an input that is not known: a path into it, and why. An empty path is the whole.
type Unknown struct {
	Path    []string
	Because Reason
}

func (u Unknown) String() string { return strings.Join(u.Path, ".") }

// Object is an object as admission saw it.
type Object struct {
	Evidence
	// Content is the object as JSON decodes it, shared and never to be changed. It is nil where the object is Missing,
	// and where it is null by definition.
	Content map[string]any
	// Unknown are the parts of Content that are not known.
	Unknown []Unknown
	// Other is what Content may be instead, where the log cannot tell the two apart; nil where it can.
	Other map[string]any
}

func missing(because Reason) Object {
	return Object{Evidence: Evidence{Level: Missing, Because: because}}
}

// null is an object that is null by definition: oldObject of a CREATE.
func null() Object { return Object{Evidence: Evidence{Level: Exact}} }

// Null says whether the object is known to be null.
func (o Object) Null() bool { return o.Content == nil && o.Level != Missing }
