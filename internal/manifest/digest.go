package manifest

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
)

// Digest tells whether what Read reads has changed: it is a hash of the names and the bytes of the files that the
// patterns name. Standard input has none, since it cannot be read twice.
func Digest(patterns []string) (string, error) {
	files, problems, err := find(patterns)
	if err != nil {
		return "", err
	}
	all := sha256.New()
	for _, file := range files {
		if err := digestFile(all, file); err != nil {
			return "", fmt.Errorf("reading %s: %w", file, err)
		}
	}
	for _, p := range problems {
		_, _ = fmt.Fprintf(all, "%q\n", p.Error()) // A hash takes everything.
	}
	return hex.EncodeToString(all.Sum(nil)), nil
}

// digestFile adds the name and a hash of the bytes of a file.
func digestFile(all hash.Hash, file string) error {
	if file == stdinPattern {
		return errors.New("standard input cannot be read again when it changes: name a file")
	}
	f, err := os.Open(file)
	if err != nil {
		return unwrapPath(err)
	}
	defer func() { _ = f.Close() }() // It was only read.
	one := sha256.New()
	if _, err := io.Copy(one, f); err != nil {
		return unwrapPath(err)
	}
	_, _ = fmt.Fprintf(all, "%q %x\n", file, one.Sum(nil)) // A hash takes everything.
	return nil
}
