// Package migrations holds the schemas of the stores, as SQL that is run step by step. A file that was released is never
// changed; what is new is a new file.
package migrations

import (
	"embed"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
)

//go:embed postgres/*.sql sqlite/*.sql
var files embed.FS

// Of returns the files of a store: "postgres" or "sqlite".
func Of(store string) (fs.FS, error) { return fs.Sub(files, store) }

// Latest is the version of a store's schema with all its files applied.
func Latest(store string) (int64, error) {
	names, err := fs.Glob(files, path.Join(store, "*.sql"))
	if err != nil {
		return 0, err
	}
	if len(names) == 0 {
		return 0, fmt.Errorf("there are no migrations for %q", store)
	}
	number, _, _ := strings.Cut(path.Base(names[len(names)-1]), "_")
	return strconv.ParseInt(number, 10, 64)
}
