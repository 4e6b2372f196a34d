// Generate writes the dashboards as JSON into a folder: go generate ./dashboards/grafana.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/vapshadow/vapshadow/dashboards/grafana"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: generate FOLDER")
		os.Exit(2)
	}
	if err := write(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

func write(folder string) error {
	for _, d := range grafana.All() {
		content, err := d.JSON()
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(folder, d.UID+".json"), content, 0o644); err != nil {
			return err
		}
	}
	return nil
}
