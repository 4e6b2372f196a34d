package replay

import (
	"encoding/json"
	"time"
)

// savedChange is a change of RBAC or of policies.
type savedChange struct {
	Log       string          `json:"log"` // rbac or policies
	Kind      string          `json:"kind"`
	Namespace string          `json:"namespace,omitempty"`
	Name      string          `json:"name"`
	Content   json.RawMessage `json:"content,omitempty"`
	Opaque    bool            `json:"opaque,omitempty"`
	AuditID   string          `json:"auditID,omitempty"`
	From      time.Time       `json:"from,omitzero"`
	To        time.Time       `json:"to,omitzero"`
}

// changes writes the changes of a log that matter after the horizon. Of those before it these are the last of each
// object: of RBAC where the object was left behind, of policies where it is not shown, as Policy lines have the others.
func (s *saver) changes(name string, l *changeLog) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	settled := map[[3]string]int{} // the last change of each object before the horizon
	for i, c := range l.changes {
		if c.to.Before(s.before) {
			settled[[3]string{c.Kind, c.Namespace, c.Name}] = i
		}
	}
	for i, c := range l.changes {
		if c.to.Before(s.before) {
			superseded := settled[[3]string{c.Kind, c.Namespace, c.Name}] != i
			if superseded || !c.Opaque && (c.Content == nil || name == "policies") {
				continue
			}
		}
		out := &savedChange{Log: name, Kind: c.Kind, Namespace: c.Namespace, Name: c.Name, Opaque: c.Opaque, AuditID: c.AuditID, From: c.from, To: c.to}
		if c.Content != nil {
			out.Content = appendJSON(nil, c.Content)
		}
		s.line(savedLine{Change: out})
	}
}

func (c *savedChange) restore() timedChange {
	return timedChange{
		Change: Change{Kind: c.Kind, Namespace: c.Namespace, Name: c.Name, Content: decodeBody(c.Content), Opaque: c.Opaque, AuditID: c.AuditID},
		from:   c.From, to: c.To,
	}
}
