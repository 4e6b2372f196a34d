package pipeline

import (
	"slices"
	"sync"

	"github.com/vapshadow/vapshadow/engine"
	"github.com/vapshadow/vapshadow/replay"
	"github.com/vapshadow/vapshadow/sink"
)

// record turns what the policies came to on a request into its row. teamLabel is the label of Namespaces that names their
// team.
func record(cluster, teamLabel string, req *replay.Request, d engine.Decision) *sink.Record {
	out := &sink.Record{
		AuditID: req.Event.AuditID, StageTimestamp: req.Event.StageTimestamp, Cluster: cluster,
		Operation:   string(req.Operation),
		Resource:    sink.Resource{Group: req.Resource.Group, Version: req.Resource.Version, Resource: req.Resource.Resource},
		SubResource: req.SubResource,
		Kind:        sink.Kind{Group: req.Kind.Group, Version: req.Kind.Version, Kind: req.Kind.Kind},
		Namespace:   req.Namespace, Name: req.ObjectName, DryRun: req.DryRun,
		User:      sink.User{Username: req.User.Username, Groups: req.User.Groups},
		UserAgent: req.Event.UserAgent,
		Evidence: map[string]sink.Evidence{
			"object": evidence(req.Object.Evidence), "oldObject": evidence(req.OldObject.Evidence), "options": evidence(req.Options.Evidence),
		},
		Evaluations: borrowEvaluations(len(d.Evaluations)),
		Annotations: d.Annotations,
	}
	if req.Event.ResponseStatus != nil {
		out.Code = req.Event.ResponseStatus.Code
	}
	if owner := req.Owner(); owner != nil {
		out.Owner = &sink.Owner{Kind: owner.Kind, Name: owner.Name}
	}
	if teamLabel != "" && len(d.Evaluations) > 0 { // Nothing is stored of other requests.
		out.Team = req.NamespaceLabel(teamLabel)
	}
	for i := range d.Evaluations {
		out.Evaluations[i] = evaluation(&d.Evaluations[i])
	}
	return out
}

// evaluationLists are lists of evaluations that nobody uses.
var evaluationLists = sync.Pool{New: func() any { return &[]sink.Evaluation{} }}

func borrowEvaluations(n int) []sink.Evaluation {
	list := *evaluationLists.Get().(*[]sink.Evaluation)
	return slices.Grow(list, n)[:n]
}

// recycle gives the lists of evaluations to records that follow.
func (v verdicts) recycle() {
	for _, r := range v.records {
		clear(r.Evaluations)
		list := r.Evaluations[:0]
		evaluationLists.Put(&list)
		r.Evaluations = nil
	}
}

func evidence(e replay.Evidence) sink.Evidence {
	return sink.Evidence{Level: string(e.Level), Because: string(e.Because)}
}

func evaluation(e *engine.Evaluation) sink.Evaluation {
	out := sink.Evaluation{
		Policy: e.Policy, Binding: e.Binding, ValidationActions: e.ValidationActions,
		PolicyHash: e.PolicyHash, BindingHash: e.BindingHash, ParamsHash: e.ParamsHash,
		Result: string(e.Result), Evidence: string(e.Evidence), ConfigError: e.ConfigError, AnnotationError: e.AnnotationError,
		Because: string(e.Because), Unknown: e.Unknown, Effect: e.Effect, BlocksAnyway: e.BlocksAnyway,
	}
	if e.Params != nil {
		out.Params = &sink.Params{Namespace: e.Params.Namespace, Name: e.Params.Name}
	}
	for _, v := range e.Verdicts {
		out.Verdicts = append(out.Verdicts, sink.Verdict{
			ExpressionIndex: v.ExpressionIndex, Result: string(v.Result), Message: v.Message, Reason: v.Reason,
			Ignored: v.Ignored, Unknown: v.Unknown, Because: string(v.Because), Repeats: v.Repeats,
		})
	}
	return out
}
