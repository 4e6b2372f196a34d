package engine

import "github.com/vapshadow/vapshadow/replay"

// EvaluateAfresh evaluates a request without anything that is remembered.
func (e *Engine) EvaluateAfresh(req *replay.Request) Decision { return e.decide(req, &trace{}) }

// Forget forgets all results.
func (e *Engine) Forget() {
	for i := range e.memory.shards {
		s := &e.memory.shards[i]
		s.mu.Lock()
		clear(s.younger)
		clear(s.older)
		s.mu.Unlock()
	}
}
