package file

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/vapshadow/vapshadow/ingest"
)

// rotationTries is how often a log may be rotated while its folder is being opened.
const rotationTries = 10

// openPattern opens the files that a pattern names, in order, and reports those of them that it leaves out.
//
// Between the listing of a folder and the opening of its files, a log may be rotated: its name would then lead to the
// new file. So what was opened counts only if the listing has not changed.
func openPattern(pattern string) ([]*input, []ingest.Skip, error) {
	for try := 0; ; try++ {
		names, err := namesOf(pattern)
		if err != nil {
			return nil, nil, err
		}
		inputs, err := openAll(names)
		again, listErr := namesOf(pattern)
		if listErr == nil && slices.Equal(names, again) || try == rotationTries {
			if err != nil {
				return nil, nil, err
			}
			kept, twins := leaveTwins(inputs)
			sortByTime(kept)
			return kept, twins, nil
		}
		closeAll(inputs)
	}
}

func openAll(names []string) ([]*input, error) {
	var inputs []*input
	for _, name := range names {
		in, err := openInput(name)
		if err != nil {
			closeAll(inputs)
			return nil, err
		}
		inputs = append(inputs, in)
	}
	return inputs, nil
}

func closeAll(inputs []*input) {
	for _, in := range inputs {
		in.close()
	}
}

// namesOf lists the files that a pattern names. What is there under the very name is no glob.
func namesOf(pattern string) ([]string, error) {
	_, err := os.Stat(pattern)
	if err == nil {
		return expandFolder(pattern, true)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if !strings.ContainsAny(pattern, `*?[\`) {
		return nil, err
	}
	matches, err := filepath.Glob(pattern)
	if err != nil {
		return nil, fmt.Errorf("pattern %q: %w; put a backslash before a bracket that is part of a name", pattern, err)
	}
	var names []string
	for _, match := range matches {
		inside, err := expandFolder(match, false)
		if err != nil {
			return nil, err
		}
		names = append(names, inside...)
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("no file matches %q", pattern)
	}
	return names, nil
}

// expandFolder lists the files of a folder; any other name stands for itself. A folder that was named must hold one.
func expandFolder(name string, named bool) ([]string, error) {
	info, err := os.Stat(name)
	if err != nil || !info.IsDir() {
		return []string{name}, nil // opening it says what is wrong
	}
	entries, err := os.ReadDir(name)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		path := filepath.Join(name, e.Name())
		if strings.HasPrefix(e.Name(), ".") {
			continue
		}
		// Behind a link there may be a file: kubelets mount files so.
		if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
			continue
		}
		names = append(names, path)
	}
	if len(names) == 0 && named {
		return nil, fmt.Errorf("folder %s holds no file", name)
	}
	return names, nil
}
