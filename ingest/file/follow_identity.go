package file

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// headSize is how much of a file's beginning tells its content from others: some events, or the larger part of one.
const headSize = 1 << 10

// maxKnown is how many contents a mark names as read, the newest of them.
const maxKnown = 100

// fingerprint is that of a content: the hash of its first n bytes, up to headSize. A file of n = 0 has none.
type fingerprint struct {
	n   int
	sum string
	// partial is set where the bytes are not enough to tell this content from others: all events begin alike. Then it
	// is that of a content which holds nothing else.
	partial bool
}

func fingerprintOf(head []byte) fingerprint {
	if len(head) == 0 {
		return fingerprint{}
	}
	sum := sha256.Sum256(head)
	return fingerprint{n: len(head), sum: hex.EncodeToString(sum[:8]), partial: isPartial(head)}
}

// isPartial tells whether a head holds less than one line, and is no whole head.
func isPartial(head []byte) bool {
	return len(head) < headSize && bytes.IndexByte(head, '\n') < 0
}

// of tells whether the fingerprint is that of the content that begins with head: the content may have grown since.
func (p fingerprint) of(head []byte) bool {
	if p.n == 0 || len(head) < p.n || p.partial && len(head) != p.n {
		return false
	}
	sum := sha256.Sum256(head[:p.n])
	return hex.EncodeToString(sum[:8]) == p.sum
}

func (p fingerprint) String() string {
	mark := "."
	if p.partial {
		mark = "!"
	}
	return strconv.Itoa(p.n) + mark + p.sum
}

func parseFingerprint(s string) (p fingerprint, ok bool) {
	if s == "0." {
		return fingerprint{}, true
	}
	i := strings.IndexAny(s, ".!")
	if i < 0 {
		return fingerprint{}, false
	}
	p.n, _ = strconv.Atoi(s[:i])
	p.partial, p.sum = s[i] == '!', s[i+1:]
	return p, p.n > 0 && p.n <= headSize && len(p.sum) == 16
}

// identity is what a mark holds to find its place again. It names contents, not files: an inode is used again, and a
// copy or the compressed form of a file has another.
type identity struct {
	// content is that of the file that the mark's offset is in; empty where the mark is before a file not known yet.
	content fingerprint
	// known are contents that are read, the oldest first: what is neither known nor the mark's own is newer. It holds
	// those of files that are still there, so it does not grow without end.
	known []fingerprint
}

// String writes an identity as the Detail of a mark.
func (id identity) String() string {
	known := make([]string, len(id.known))
	for i, p := range id.known {
		known[i] = p.String()
	}
	return fmt.Sprintf("1;%s;%s", id.content, strings.Join(known, ","))
}

var errDetail = errors.New("the stored mark is not one of a file, or one of another version of vapshadow")

// parseIdentity reads the Detail of a mark. That of the zero mark is empty.
func parseIdentity(detail string) (identity, error) {
	if detail == "" {
		return identity{}, nil
	}
	fields := strings.Split(detail, ";")
	if len(fields) != 3 || fields[0] != "1" {
		return identity{}, errDetail
	}
	var id identity
	var ok bool
	if id.content, ok = parseFingerprint(fields[1]); !ok {
		return identity{}, errDetail
	}
	if fields[2] == "" {
		return id, nil
	}
	for known := range strings.SplitSeq(fields[2], ",") {
		p, ok := parseFingerprint(known)
		if !ok || p.n == 0 {
			return identity{}, errDetail
		}
		id.known = append(id.known, p)
	}
	return id, nil
}

// knows tells whether a content is read already.
func (id identity) knows(c *content) bool {
	return slices.ContainsFunc(id.known, func(p fingerprint) bool { return p.of(c.head) })
}

// newer returns those of a log's contents, in order, that come behind the one of the identity.
func (id identity) newer(contents []*content) []*content {
	if len(id.known) >= maxKnown {
		// What is older than all that are named was read before them.
		contents = contents[max(0, slices.IndexFunc(contents, id.knows)):]
	}
	return slices.DeleteFunc(slices.Clone(contents), func(c *content) bool { return id.content.of(c.head) || id.knows(c) })
}

// left returns the identity of the place behind the content, before whichever comes next.
func (id identity) left() identity {
	known := slices.Clone(id.known)
	if id.content.n > 0 {
		known = append(known, id.content)
	}
	return identity{known: known}
}

// at returns the identity of the place at the beginning of a content. It forgets contents that are not there any more,
// but for the last.
func (id identity) at(c *content, contents []*content) identity {
	last := len(id.known) - 1
	var known []fingerprint
	for i, p := range id.known {
		if i == last || slices.ContainsFunc(contents, func(c *content) bool { return p.of(c.head) }) {
			known = append(known, p)
		}
	}
	return identity{content: fingerprintOf(c.head), known: known[max(0, len(known)-maxKnown):]}
}
