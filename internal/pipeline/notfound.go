package pipeline

import (
	"fmt"
	"strings"

	"github.com/vapshadow/vapshadow/replay"
)

// NotFoundError says that a log holds no admission request with an audit ID.
type NotFoundError struct {
	AuditID string
	// Events were searched; Skipped pieces of input could not be read, and may have held it.
	Events, Skipped int64
	// Found are the events that have the audit ID and are no admission requests, where they are and why.
	Found []string
}

func (e *NotFoundError) Error() string {
	var out strings.Builder
	if len(e.Found) > 0 {
		fmt.Fprintf(&out, "the request with audit ID %q cannot be explained: %s", e.AuditID, strings.Join(e.Found, "; "))
	} else {
		fmt.Fprintf(&out, "no event has audit ID %q", e.AuditID)
	}
	fmt.Fprintf(&out, " (%d events searched", e.Events)
	if e.Skipped > 0 {
		fmt.Fprintf(&out, ", %d pieces of input could not be read", e.Skipped)
	}
	out.WriteString(")")
	return out.String()
}

// maxFound bounds how many events with the audit ID are named.
const maxFound = 5

func (e *NotFoundError) add(d *replay.Decoded) {
	if len(e.Found) < maxFound {
		e.Found = append(e.Found, fmt.Sprintf("%s is a %s event at stage %s: %s (%s)",
			d.Event.At, d.Event.Verb, d.Event.Stage, notAdmission[d.NotAdmission], d.NotAdmission))
	}
}

// notAdmission puts the reasons into words.
var notAdmission = map[replay.NotAdmission]string{
	replay.OtherStage:  "a request is judged by its event at stage ResponseComplete or Panic",
	replay.ReadOnly:    "reads do not go through admission",
	replay.NonResource: "it is about no resource, so it did not go through admission",
	replay.Excluded:    "no policy ever sees this resource",
	replay.Refused:     "authentication or authorization stopped it before admission",
}
