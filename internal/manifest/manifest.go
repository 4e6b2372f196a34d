// Package manifest reads Kubernetes objects from files as people and kubectl write them.
package manifest

import "fmt"

// Object is one Kubernetes object of a file, with where it stood.
type Object struct {
	APIVersion string
	Kind       string
	// Content is the object as JSON decodes it: int64, float64, string, bool, nil, []any, map[string]any.
	Content map[string]any
	At      Position
}

// Position names a file, the document in it and the line the document begins at; the last two count from 1.
type Position struct {
	File     string
	Document int
	Line     int
	// Item counts from 1 within a List; 0 where the document is the object itself.
	Item int
}

func (p Position) String() string {
	if p.Item > 0 {
		return fmt.Sprintf("%s:%d (document %d, item %d)", p.File, p.Line, p.Document, p.Item)
	}
	return fmt.Sprintf("%s:%d (document %d)", p.File, p.Line, p.Document)
}

// Problem is something in a file that could not be used.
type Problem struct {
	At  Position
	Err error
}

func (p Problem) Error() string { return fmt.Sprintf("%s: %v", p.At, p.Err) }

func (p Problem) Unwrap() error { return p.Err }
