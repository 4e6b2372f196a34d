package sink

import (
	"fmt"
	"time"
)

// SchemaError says that a database's schema is not the one that this vapshadow knows.
type SchemaError struct {
	// Have is the version of the database's schema, 0 for none; Want is the one that this vapshadow knows.
	Have, Want int64
}

func (e *SchemaError) Error() string {
	switch {
	case e.Have == 0:
		return fmt.Sprintf("the database has no schema of vapshadow's yet (it needs version %d): run `vapshadow migrate up`", e.Want)
	case e.Have < e.Want:
		return fmt.Sprintf("the database's schema has version %d, and this vapshadow needs version %d: run `vapshadow migrate up`",
			e.Have, e.Want)
	default:
		return fmt.Sprintf("the database's schema has version %d, and this vapshadow knows version %d at most: a newer vapshadow ran "+
			"`vapshadow migrate up` on it, so use that one here too", e.Have, e.Want)
	}
}

// Migration is one step of a database's schema.
type Migration struct {
	Version int64
	Name    string
	Applied bool
	// At is when it was applied; zero where it was not.
	At time.Time
}
