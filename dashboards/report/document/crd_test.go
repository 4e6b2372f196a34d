package document_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"sigs.k8s.io/yaml"

	"github.com/vapshadow/vapshadow/sink"
)

// crd is the schema of a kind as an apiserver holds objects against it.
type crd struct {
	structural *schema.Structural
	validator  validation.SchemaValidator
}

// TestAcceptedByOpenReports: an apiserver with the project's own CustomResourceDefinitions takes the reports, and keeps
// all of their fields.
func TestAcceptedByOpenReports(t *testing.T) {
	crds := openReports(t)
	for _, d := range []string{
		write(t, "openreports", buildWith(t, verified(t, sample()), sink.Filter{}, accepted())),
		write(t, "openreports", build(t, store(t, sample()), sink.Filter{})),
	} {
		for text := range strings.SplitSeq(d, "\n---\n") {
			var object map[string]any
			if err := yaml.UnmarshalStrict([]byte(text), &object); err != nil {
				t.Fatal(err)
			}
			kind, _ := object["kind"].(string)
			crd, ok := crds[kind]
			if !ok {
				t.Fatalf("there is no kind %q", kind)
			}
			for _, err := range validation.ValidateCustomResource(nil, object, crd.validator) {
				t.Error(err)
			}
			options := schema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true}
			for _, unknown := range pruning.PruneWithOptions(object, crd.structural, true, options) {
				t.Errorf("the field %s would be dropped", unknown)
			}
		}
	}
}

// openReports reads the CustomResourceDefinitions of openreports.io/v1alpha1, at the version that deploy/tools pins.
func openReports(t *testing.T) map[string]crd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "mod", "download", "-json", "github.com/openreports/reports-api")
	cmd.Dir = "../../../deploy/tools"
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var module struct{ Dir string }
	if err := json.Unmarshal(out, &module); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(module.Dir, "config/crd/*.yaml"))
	if err != nil || len(files) != 2 {
		t.Fatalf("%v: %v", files, err)
	}
	crds := map[string]crd{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var definition apiextensionsv1.CustomResourceDefinition
		if err := yaml.Unmarshal(text, &definition); err != nil {
			t.Fatal(err)
		}
		crds[definition.Spec.Names.Kind] = newCRD(t, &definition)
	}
	return crds
}

func newCRD(t *testing.T, definition *apiextensionsv1.CustomResourceDefinition) (out crd) {
	t.Helper()
	for _, v := range definition.Spec.Versions {
		if v.Name != "v1alpha1" {
			continue
		}
		var props apiextensions.JSONSchemaProps
		err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(v.Schema.OpenAPIV3Schema, &props, nil)
		if err != nil {
			t.Fatal(err)
		}
		if out.structural, err = schema.NewStructural(&props); err != nil {
			t.Fatal(err)
		}
		if out.validator, _, err = validation.NewSchemaValidator(&props); err != nil {
			t.Fatal(err)
		}
		return out
	}
	t.Fatalf("%s has no v1alpha1", definition.Name)
	return out
}
