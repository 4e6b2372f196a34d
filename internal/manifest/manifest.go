// Package manifest reads Kubernetes objects from files as people and kubectl write them: YAML of one or several
// documents, JSON of one or several values, lists, compressed or not.
package manifest

import (
	"errors"
	"fmt"
	"io"
)

// ErrNotObject marks the Problem of a document or list item that is no Kubernetes object: it has no apiVersion or no
// kind. Dumps of discovery and OpenAPI that lie beside the manifests are such documents.
var ErrNotObject = errors.New("not a Kubernetes object")

// ErrDuplicateKey marks the Problem of a key that stands twice in one mapping. The object is read nevertheless, with
// the last of the values, as an apiserver reads it.
var ErrDuplicateKey = errors.New("duplicate key")

// Object is one Kubernetes object of a file, with where it stood.
type Object struct {
	APIVersion string
	Kind       string
	// Content is the object as Kubernetes decodes JSON: int64, float64, string, bool, nil, []any, map[string]any. It
	// holds apiVersion and kind, also where an item of a typed list had none.
	Content map[string]any
	At      Position
}

// Position names a file, the document in it and the line the document begins at; the last two count from 1 and are 0
// where a Problem concerns the whole file.
type Position struct {
	File     string
	Document int
	Line     int
	// Item counts from 1 within a List; 0 where the document is the object itself.
	Item int
}

func (p Position) String() string {
	switch {
	case p.Document == 0:
		return p.File
	case p.Item > 0:
		return fmt.Sprintf("%s:%d (document %d, item %d)", p.File, p.Line, p.Document, p.Item)
	default:
		return fmt.Sprintf("%s:%d (document %d)", p.File, p.Line, p.Document)
	}
}

// Problem is something in a file that could not be used, or not as it was probably meant.
type Problem struct {
	At  Position
	Err error
}

func (p Problem) Error() string { return fmt.Sprintf("%s: %v", p.At, p.Err) }

func (p Problem) Unwrap() error { return p.Err }

// Options say how to read.
type Options struct {
	// Stdin is read for the pattern "-". It must be set when that pattern can occur.
	Stdin io.Reader
}

// Read returns all objects of the files that the patterns name, in the order of the patterns, each file once. A pattern
// is a file, a folder (with all folders in it), a glob, or "-" for standard input. What could not be used is a Problem;
// a pattern that names nothing, or a file that cannot be read to its end, is an error.
func Read(patterns []string, opts Options) ([]Object, []Problem, error) {
	var objects []Object
	problems, err := Walk(patterns, opts, func(o Object) error {
		objects = append(objects, o)
		return nil
	})
	return objects, problems, err
}

// Walk is Read for objects that need not all be held at once. An error of yield ends the walk and is returned.
func Walk(patterns []string, opts Options, yield func(Object) error) ([]Problem, error) {
	files, problems, err := find(patterns)
	if err != nil {
		return problems, err
	}
	for _, file := range files {
		r := reader{file: file, yield: yield}
		if file == stdinPattern {
			r.file = "standard input"
		}
		text, err := load(file, opts.Stdin)
		if err != nil {
			return problems, fmt.Errorf("reading %s: %w", r.file, err)
		}
		err = r.read(text)
		problems = append(problems, r.problems...)
		if err != nil {
			return problems, err
		}
	}
	return problems, nil
}
