package pipeline

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/vapshadow/vapshadow/engine"
	"github.com/vapshadow/vapshadow/engine/policy"
	"github.com/vapshadow/vapshadow/internal/manifest"
)

// PolicySet is what was read from the files of policies at one time. It is never changed.
type PolicySet struct {
	Engine *engine.Engine
	// Texts are the policies and bindings that are evaluated, and Pairs which with which.
	Texts []engine.Text
	Pairs []engine.Pair
	// Policies and Bindings are how many an apiserver would have taken in.
	Policies, Bindings int
	// Refusals are the policies and bindings that an apiserver would refuse, and the files that could not be read; Warnings
	// what it would warn of.
	Refusals, Warnings []string
	// Beside are the objects of other kinds that stood in the same files at the start.
	Beside []manifest.Object
	// Hash is that of all Texts: two sets with the same give the same verdicts.
	Hash   string
	Loaded time.Time

	// refused are the Refusals without the place where they stand, which may change though nothing else does.
	refused map[string]bool
}

// steadyReads is how often files that change while they are read are read again at once.
const steadyReads = 5

// readSteady reads files all of which were there at one time: a ConfigMap that is mounted is replaced as a whole.
func readSteady(paths []string) (objects []manifest.Object, problems []manifest.Problem, digest string, err error) {
	for range steadyReads {
		if digest, err = manifest.Digest(paths); err != nil {
			return nil, nil, "", err
		}
		if objects, problems, err = manifest.Read(paths, manifest.Options{}); err != nil {
			return nil, nil, digest, err
		}
		again, err := manifest.Digest(paths)
		if err != nil {
			return nil, nil, digest, err
		}
		if again == digest {
			return objects, problems, digest, nil
		}
	}
	return nil, nil, "", fmt.Errorf("the files changed again each of the %d times that they were read", steadyReads)
}

// loadPolicies reads and compiles the policies of files.
func loadPolicies(cfg PoliciesConfig) (set *PolicySet, digest string, err error) {
	objects, problems, digest, err := readSteady(cfg.Paths)
	if err != nil {
		return nil, digest, err
	}
	set = &PolicySet{Loaded: time.Now(), refused: map[string]bool{}}
	for _, p := range problems {
		if errors.Is(p, manifest.ErrDuplicateKey) {
			set.Warnings = append(set.Warnings, p.Error()) // The object is there; the last value counts, as in an apiserver.
			continue
		}
		set.refuse(p.Error(), p.At.File, p.Err)
	}
	loaded, refusals, beside := policy.Load(objects, policy.Options{Minor: cfg.Minor})
	for _, r := range refusals {
		set.refuse(r.Error(), r.Kind+" "+r.Name, r.Err)
	}
	for _, w := range loaded.Warnings {
		set.Warnings = append(set.Warnings, w.String())
	}
	set.Beside, set.Policies, set.Bindings = beside, len(loaded.Policies), len(loaded.Bindings)
	if set.Policies == 0 {
		return nil, digest, set.nothing(cfg.Paths)
	}
	set.Engine, err = engine.New(engineConfig(ReplayConfig{Minor: cfg.Minor, Unbound: cfg.Unbound}, loaded))
	if err != nil {
		return nil, digest, err
	}
	set.Texts, set.Pairs = set.Engine.Texts(), set.Engine.Pairs()
	if len(set.Pairs) == 0 {
		set.Warnings = append(set.Warnings, "no policy is bound, so that none is evaluated: give a ValidatingAdmissionPolicyBinding too, or evaluate unbound ones")
	}
	set.Hash = hashOf(set.Texts)
	return set, digest, nil
}

func (s *PolicySet) refuse(text, what string, err error) {
	s.Refusals = append(s.Refusals, text)
	s.refused[fmt.Sprintf("%s: %v", what, err)] = true
}

// nothing is the error of files that hold no policy that could be used.
func (s *PolicySet) nothing(paths []string) error {
	err := fmt.Errorf("there is no ValidatingAdmissionPolicy in %s that an apiserver would take in", strings.Join(paths, ", "))
	if len(s.Refusals) == 0 {
		return err
	}
	return fmt.Errorf("%w: %s", err, strings.Join(s.Refusals, "; "))
}

// spoiled says which policies and files can no longer be used that could be before, or are new.
func (s *PolicySet) spoiled(before *PolicySet) error {
	var texts []string
	for text := range s.refused {
		if !before.refused[text] {
			texts = append(texts, text)
		}
	}
	if len(texts) == 0 {
		return nil
	}
	return fmt.Errorf("%d could not be used: %s", len(texts), strings.Join(s.Refusals, "; "))
}

// compareBeside warns of objects of other kinds that have changed: a Replayer was shown them at the start, and once.
func (s *PolicySet) compareBeside(before *PolicySet) {
	same := slices.EqualFunc(s.Beside, before.Beside, func(a, b manifest.Object) bool { return reflect.DeepEqual(a.Content, b.Content) })
	s.Beside = before.Beside
	if same {
		return
	}
	s.Warnings = append(s.Warnings, "objects beside the policies (params, for one) have changed: they are taken in at the next start")
}

func hashOf(texts []engine.Text) string {
	all := sha256.New()
	for _, t := range texts {
		_, _ = fmt.Fprintf(all, "%s\n", t.Hash) // A hash takes everything.
	}
	return hex.EncodeToString(all.Sum(nil))[:16]
}
