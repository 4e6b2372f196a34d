package engine

import "github.com/vapshadow/vapshadow/replay"

// EvaluateAfresh evaluates a request without anything that is remembered.
func (e *Engine) EvaluateAfresh(req *replay.Request) Decision { return e.decide(req, &trace{}) }
