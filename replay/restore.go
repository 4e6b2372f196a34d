package replay

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/klauspost/compress/zstd"
)

// Restore takes in what Save wrote. It comes before Snapshot, and before all events; of a resource that the restored
// history holds whole, Snapshot then leaves objects out, since the history is the newer of the two. After an error the
// Replayer is of no use.
func (r *Replayer) Restore(from io.Reader) error {
	text, err := zstd.NewReader(from, zstd.WithDecoderConcurrency(1))
	if err != nil {
		return fmt.Errorf("reading the history: %w", err)
	}
	defer text.Close()
	in := &restorer{r: r, lines: json.NewDecoder(text)}
	if err := in.header(); err != nil {
		return err
	}
	for !in.done {
		var l savedLine
		if err := in.lines.Decode(&l); errors.Is(err, io.EOF) {
			return errors.New("the history is cut: its last lines are missing")
		} else if err != nil {
			return fmt.Errorf("reading line %d of the history: %w", in.n+1, err)
		}
		if err := in.line(l); err != nil {
			return fmt.Errorf("reading line %d of the history: %w", in.n+1, err)
		}
		in.n++
	}
	if err := in.lines.Decode(new(json.RawMessage)); !errors.Is(err, io.EOF) {
		return errors.New("the history goes on after its last line: it was damaged")
	}
	r.history.fit()
	return nil
}

// restorer reads the lines of a saved history.
type restorer struct {
	r     *Replayer
	lines *json.Decoder
	n     int64
	told  bool // the first state of the resources was read
	done  bool
}

func (in *restorer) header() error {
	var l savedLine
	err := in.lines.Decode(&l)
	switch {
	case err != nil && (errors.Is(err, zstd.ErrMagicMismatch) || errors.Is(err, io.EOF)):
		return errors.New("this is no history: want a file that vapshadow wrote")
	case err != nil:
		return fmt.Errorf("reading the history: %w", err)
	case l.Header == nil || l.Header.Format != savedFormat:
		return errors.New("this is no history: want a file that vapshadow wrote")
	case l.Header.Version != savedFormatVersion:
		return fmt.Errorf("the history has format version %d, and this vapshadow reads version %d: begin a new one", l.Header.Version, savedFormatVersion)
	}
	in.n++
	h, head := in.r.history, l.Header
	in.r.last, in.r.rbac.listed = head.Last, head.RBACListed
	h.mu.Lock()
	defer h.mu.Unlock()
	h.newest, h.after = head.Newest, head.After
	for _, m := range head.Clock {
		h.clock.add(m.Begun, m.ResourceVersion)
	}
	for _, resource := range head.Listed {
		// Of what is not kept the history goes out of date.
		if as, keep := in.r.keptAs(Key{Group: resource[0], Resource: resource[1]}); keep && as.Resource == resource[1] {
			h.listed[resource], in.r.restored[resource] = true, true
		}
	}
	h.evicted.restore(head.Evicted)
	return nil
}

func (e *evictions) restore(saved savedEvicted) {
	for _, f := range saved.Newer {
		e.newer[f.Hash] = f.floor()
	}
	for _, f := range saved.Older {
		e.older[f.Hash] = f.floor()
	}
	for _, f := range saved.Resources {
		e.resources[f.Resource] = f.floor()
	}
	for _, f := range saved.Forgotten {
		e.forgotten[f.Resource] = f.floor()
	}
}

func (in *restorer) line(l savedLine) error {
	switch {
	case l.Resources != nil:
		in.resources(l.Resources)
	case l.Policy != nil:
		content := decodeBody(l.Policy.Content)
		if content == nil {
			return fmt.Errorf("policy %q has no content", l.Policy.Name)
		}
		in.r.given[keyOf(policyGroup, l.Policy.Resource, "", l.Policy.Name)] = content
	case l.Change != nil:
		return in.change(l.Change)
	case l.Object != nil:
		return in.object(l.Object)
	case l.End != nil && l.End.Lines != in.n:
		return fmt.Errorf("it counts %d lines before it, and there are %d: the file was damaged", l.End.Lines, in.n)
	case l.End != nil:
		in.done = true
	default:
		return errors.New("it holds nothing that this vapshadow knows")
	}
	return nil
}

func (in *restorer) resources(s *savedResources) {
	r := in.r
	if !in.told {
		in.told = true
		r.resources = []timedResources{{Resources: s.restore(r.builtin), from: s.From, to: s.To}}
		return
	}
	r.resources = append(r.resources, timedResources{Resources: s.restore(r.resources[len(r.resources)-1].Resources), from: s.From, to: s.To})
}

func (in *restorer) change(s *savedChange) error {
	c := s.restore()
	switch s.Log {
	case "rbac":
		in.r.rbac.add(c.Change, c.from, c.to)
	case "policies":
		in.r.policies.add(c.Change, c.from, c.to)
	default:
		return fmt.Errorf("changes of %q are not known", s.Log)
	}
	return nil
}

func (in *restorer) object(s *savedObject) error {
	if s.Resource == "" || s.Name == "" || len(s.Versions) == 0 {
		return errors.New("an object has no name, or no versions")
	}
	k := Key{Group: s.Group, Resource: s.Resource, Namespace: s.Namespace, Name: s.Name}
	if as, keep := in.r.keptAs(in.r.unmark(k)); !keep || as != k {
		return nil
	}
	var versions []*version
	for i := range s.Versions {
		v, err := s.Versions[i].restore(func(t time.Time) *Resources { return in.r.resourcesAsOf(t) })
		if err != nil {
			return fmt.Errorf("%s %q: %w", k.Resource, k.Name, err)
		}
		versions = append(versions, v)
	}
	in.r.history.restore(k, versions, s.Used)
	return nil
}
