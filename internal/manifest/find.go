package manifest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const stdinPattern = "-"

// find lists the files that the patterns name, each once, in the order of the patterns and by name within a folder.
func find(patterns []string) ([]string, []Problem, error) {
	f := finder{seen: map[string]bool{}}
	for _, pattern := range patterns {
		if err := f.add(pattern); err != nil {
			return nil, f.problems, err
		}
	}
	return f.files, f.problems, nil
}

type finder struct {
	files    []string
	seen     map[string]bool
	problems []Problem
}

// add adds what a pattern names. A file whose name has glob characters in it is taken by that name.
func (f *finder) add(pattern string) error {
	if pattern == stdinPattern {
		f.addFile(pattern)
		return nil
	}
	_, err := os.Stat(pattern)
	if err == nil {
		return f.addPath(pattern)
	}
	if !errors.Is(err, fs.ErrNotExist) || !strings.ContainsAny(pattern, `*?[`) {
		return fmt.Errorf("reading %s: %w", pattern, unwrapPath(err))
	}
	matches, err := filepath.Glob(pattern)
	if err != nil {
		return fmt.Errorf("%q is no valid file pattern: %w", pattern, err)
	}
	if len(matches) == 0 {
		return fmt.Errorf("no file matches %q", pattern)
	}
	for _, match := range matches {
		if err := f.addPath(match); err != nil {
			return err
		}
	}
	return nil
}

// addPath adds a file, or the manifests of a folder.
func (f *finder) addPath(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("reading %s: %w", path, unwrapPath(err))
	}
	if !info.IsDir() {
		f.addFile(path)
		return nil
	}
	found := false
	// With the separator at its end a folder that is itself a link is entered too.
	err = filepath.WalkDir(path+string(filepath.Separator), func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		added, err := f.addEntry(file, entry, filepath.Clean(file) == filepath.Clean(path))
		found = found || added
		return err
	})
	if err != nil {
		return fmt.Errorf("reading folder %s: %w", path, err)
	}
	if !found {
		return fmt.Errorf("folder %s has no .yaml, .yml or .json files", path)
	}
	return nil
}

// addEntry adds a file of a folder if it has a manifest's name. Names that begin with a dot are passed over: editors
// and git keep theirs there, and a mounted ConfigMap has the same files in such a folder a second time.
func (f *finder) addEntry(path string, entry fs.DirEntry, root bool) (bool, error) {
	if strings.HasPrefix(entry.Name(), ".") && !root {
		if entry.IsDir() {
			return false, filepath.SkipDir
		}
		return false, nil
	}
	if entry.IsDir() {
		return false, nil
	}
	if entry.Type()&fs.ModeSymlink != 0 {
		info, err := os.Stat(path)
		if err != nil && !isManifest(path) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		if info.IsDir() {
			f.problems = append(f.problems, Problem{Position{File: path}, errors.New("is a link to a folder and was not entered: name it as well to read it")})
			return false, nil
		}
	}
	if !isManifest(path) {
		return false, nil
	}
	f.addFile(path)
	return true, nil
}

// addFile adds a file unless it was added before, perhaps by another name.
func (f *finder) addFile(path string) {
	key := path
	if path != stdinPattern {
		if absolute, err := filepath.Abs(path); err == nil {
			key = absolute
		}
		if resolved, err := filepath.EvalSymlinks(key); err == nil {
			key = resolved
		}
	}
	if !f.seen[key] {
		f.seen[key] = true
		f.files = append(f.files, filepath.Clean(path))
	}
}

// isManifest says whether a file in a folder is one of ours by its name.
func isManifest(path string) bool {
	extension := filepath.Ext(path)
	if slices.Contains([]string{".gz", ".zst", ".bz2"}, extension) {
		extension = filepath.Ext(strings.TrimSuffix(path, extension))
	}
	return slices.Contains([]string{".yaml", ".yml", ".json"}, extension)
}

// unwrapPath takes the operation and path off an error whose message names the path already.
func unwrapPath(err error) error {
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		return path.Err
	}
	return err
}
