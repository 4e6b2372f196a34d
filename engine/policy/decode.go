package policy

import (
	stdjson "encoding/json"
	"fmt"
	"slices"

	"sigs.k8s.io/json"

	"github.com/vapshadow/vapshadow/internal/manifest"
)

// versions of the group that ever had policies and bindings. Their fields are those of v1, so all decode to it; they
// differ in one default.
var versions = []string{"v1", "v1beta1", "v1alpha1"}

// decode decodes an object strictly. Fields that are not known are no error, as an apiserver only warns of them; a field
// of the wrong type is one.
func decode(o manifest.Object, version string, into any) (unknown []string, err error) {
	if !slices.Contains(versions, version) {
		return nil, fmt.Errorf("%s has no version %q with this kind: write %s/v1", group, version, group)
	}
	text, err := stdjson.Marshal(o.Content)
	if err != nil {
		return nil, err
	}
	found, err := json.UnmarshalStrict(text, into)
	if err != nil {
		return nil, fmt.Errorf("%s in version %q cannot be handled as a %s: %w", o.Kind, version, o.Kind, err)
	}
	for _, f := range found {
		unknown = append(unknown, f.Error())
	}
	return unknown, nil
}

// nameOf is the name of an object that does not decode; empty if it has none.
func nameOf(o manifest.Object) string {
	metadata, _ := o.Content["metadata"].(map[string]any)
	name, _ := metadata["name"].(string)
	return name
}
