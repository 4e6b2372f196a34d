package replay

// NamespaceLabel is what a label of the request's Namespace said while the request was admitted. Of a request on a
// Namespace it is the Namespace's own: as it becomes, or, where it goes, as it was. It is empty where the Namespace is not
// known, where it has no such label, and for what is in no namespace.
func (r *Request) NamespaceLabel(name string) string {
	if r.Resource.Group == "" && r.Resource.Resource == "namespaces" {
		for _, own := range []Object{r.Object, r.OldObject} {
			if own.Content != nil {
				return own.label(name)
			}
		}
	}
	if r.Namespace == "" {
		return ""
	}
	return r.View.Namespace(r.Namespace).label(name)
}

// label is a label of the object; empty where it is not known.
func (o Object) label(name string) string {
	if covers(o.Unknown, "metadata", "labels", name) {
		return ""
	}
	labels, _ := metadataOf(o.Content)["labels"].(map[string]any)
	value, _ := labels[name].(string)
	return value
}
