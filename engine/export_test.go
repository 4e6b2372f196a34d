package engine

import "github.com/vapshadow/vapshadow/replay"

// EvaluateAfresh evaluates a request without anything that is remembered.
func (e *Engine) EvaluateAfresh(req *replay.Request) Decision { return e.decide(req, &trace{}) }

// Forget forgets all results.
func (e *Engine) Forget() {
	e.memory.evaluations.clear()
	e.memory.expressions.clear()
}

// ForgetEvaluations forgets what whole policies came to, but not what single expressions did.
func (e *Engine) ForgetEvaluations() { e.memory.evaluations.clear() }

func (c *cache[V]) clear() {
	for i := range c.shards {
		s := &c.shards[i]
		s.mu.Lock()
		clear(s.younger)
		clear(s.older)
		s.mu.Unlock()
	}
}
