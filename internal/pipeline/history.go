package pipeline

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/vapshadow/vapshadow/internal/manifest"
	"github.com/vapshadow/vapshadow/replay"
)

// restore reads the history of an earlier run, if there is one.
func restore(name string, replayer *replay.Replayer) error {
	if name == "" {
		return nil
	}
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return writable(name)
	}
	if err != nil {
		return fmt.Errorf("opening the history: %w", err)
	}
	defer func() { _ = f.Close() }() // It was only read.
	if info, err := f.Stat(); err == nil && info.IsDir() {
		return fmt.Errorf("opening the history: %s is a folder: name a file", name)
	}
	if err := replayer.Restore(bufio.NewReaderSize(f, 1<<16)); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// recall makes a Replayer of all that the history of an earlier run holds, where one is named. It is only read: a run
// that looks at a log anew leaves it as it is.
func recall(cfg ReplayConfig) (*replay.Replayer, error) {
	replayer := replay.New(replay.Config{Minor: cfg.Minor, HistoryBytes: cfg.HistoryBytes})
	if cfg.History == "" {
		return replayer, nil
	}
	if _, err := os.Stat(cfg.History); err != nil {
		return nil, fmt.Errorf("opening the history: %w", err)
	}
	return replayer, restore(cfg.History, replayer)
}

// writable says in good time that a history cannot be written: before the log is read, and not after.
func writable(name string) error {
	dir := filepath.Dir(name)
	info, err := os.Stat(dir)
	switch {
	case err != nil:
		return fmt.Errorf("no history can be written to %s: %w", name, err)
	case !info.IsDir():
		return fmt.Errorf("no history can be written to %s: %s is no folder", name, dir)
	}
	return nil
}

// save writes the history for the next run. A file that is there is replaced in one step: a run that is stopped leaves
// the old one.
func save(name string, replayer *replay.Replayer) (err error) {
	if name == "" {
		return nil
	}
	f, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+".*") // for its owner only: it may hold Secrets
	if err != nil {
		return fmt.Errorf("writing the history: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("writing the history %s: %w", name, err), os.Remove(f.Name()))
		}
	}()
	w := bufio.NewWriterSize(f, 1<<16)
	if err := errors.Join(replayer.Save(w), w.Flush(), f.Sync()); err != nil {
		return errors.Join(err, f.Close())
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), name)
}

// withRestored returns the cluster's objects with the policies and bindings that a restored history holds in place of
// the cluster's own, which are older.
func withRestored(name string, replayer *replay.Replayer, cluster []manifest.Object) []manifest.Object {
	contents, whole := replayer.RestoredPolicies()
	var out []manifest.Object
	known := map[[2]string]bool{}
	for _, content := range contents {
		o := manifest.Object{Content: content, At: manifest.Position{File: name}}
		o.APIVersion, _ = content["apiVersion"].(string)
		o.Kind, _ = content["kind"].(string)
		known[[2]string{o.Kind, nameOf(o)}] = true
		out = append(out, o)
	}
	for _, o := range cluster {
		resource, isPolicy := policyResources[o.Kind]
		if isPolicy && (whole(schema.GroupResource{Group: "admissionregistration.k8s.io", Resource: resource}) || known[[2]string{o.Kind, nameOf(o)}]) {
			continue
		}
		out = append(out, o)
	}
	return out
}

var policyResources = map[string]string{
	"ValidatingAdmissionPolicy": "validatingadmissionpolicies", "ValidatingAdmissionPolicyBinding": "validatingadmissionpolicybindings",
}

func nameOf(o manifest.Object) string {
	metadata, _ := o.Content["metadata"].(map[string]any)
	name, _ := metadata["name"].(string)
	return name
}
