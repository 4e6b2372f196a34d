package pipeline

import (
	"github.com/vapshadow/vapshadow/engine"
	"github.com/vapshadow/vapshadow/sink"
)

// texts are the policies and bindings that the store is not known to have yet.
type texts struct{ known map[sink.PolicyText]bool }

func newTexts() *texts { return &texts{known: map[sink.PolicyText]bool{}} }

// missing are those of an engine's that the store is to be given for a cluster.
func (t *texts) missing(cluster string, of []engine.Text) (out []sink.PolicyText) {
	for _, text := range of {
		p := sink.PolicyText{Cluster: cluster, Kind: text.Kind, Name: text.Name, Hash: text.Hash}
		if !t.known[p] {
			p.Text = text.JSON
			out = append(out, p)
		}
	}
	return out
}

// stored notes that the store has them.
func (t *texts) stored(of []sink.PolicyText) {
	for _, p := range of {
		p.Text = ""
		t.known[p] = true
	}
}
