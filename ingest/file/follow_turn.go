package file

import (
	"fmt"
	"path/filepath"
	"time"

	"github.com/vapshadow/vapshadow/ingest"
)

// enter opens the content that the stream is in, or the one that comes next.
func (s *followStream) enter(c *ingest.Chunk) (again bool, err error) {
	contents, err := s.family.snapshot()
	if err != nil {
		return false, err
	}
	if s.id.content.n > 0 {
		return s.resume(c, contents)
	}
	newer := s.id.newer(contents)
	if len(newer) == 0 {
		c.CaughtUp = true
		return false, nil
	}
	if s.cur, err = openTail(newer[0], 0, s.opts.MaxEntryBytes); err != nil {
		return false, err
	}
	s.id = s.id.at(newer[0], contents)
	s.begin()
	s.count(contents)
	return true, nil
}

// resume finds the content again that the stream is in: in the same file or another, or compressed.
func (s *followStream) resume(c *ingest.Chunk, contents []*content) (again bool, err error) {
	for _, found := range contents {
		if !s.id.content.of(found.head) {
			continue
		}
		if s.cur, err = openTail(found, s.off, s.opts.MaxEntryBytes); err != nil {
			return false, err
		}
		s.begin()
		s.count(contents)
		return true, nil
	}
	s.gone(c)
	s.count(contents)
	c.Behind = s.newer
	return false, nil
}

func (s *followStream) begin() {
	s.held, s.since, s.leaving = nil, time.Time{}, false
}

// letGo closes a file that holds another content by now. The rest of its own may be in a copy.
func (s *followStream) letGo() {
	s.cur.close()
	s.cur, s.held = nil, s.cur
}

// gone reports that the rest of the content cannot be found, and goes on behind it.
func (s *followStream) gone(c *ingest.Chunk) {
	if s.held != nil {
		if e, end, ok := s.held.rest(); ok && e.Skip == nil {
			s.off = end
			s.put(c, e, s.id.String())
		}
	}
	at := ingest.Position{Source: s.path, Offset: s.off}
	s.leave()
	s.put(c, ingest.Entry{At: at, Skip: &ingest.Skip{
		Reason: ingest.FileGone,
		At:     at,
		Detail: "the file was deleted or emptied, and no rotated file holds what was behind this place, if anything was",
	}}, s.id.String())
}

// shrink reports that the file was cut behind its beginning, and goes on at its end.
func (s *followStream) shrink(c *ingest.Chunk) {
	t := s.cur
	at := ingest.Position{Source: t.path, Offset: s.off}
	t.off, t.data, t.passed, t.scanned = t.size(), nil, 0, 0
	s.generation, s.off = s.generation+1, t.off
	s.put(c, ingest.Entry{At: at, Skip: &ingest.Skip{
		Reason: ingest.FileGone,
		At:     at,
		Detail: fmt.Sprintf("%s was cut to %d bytes, less than were read of it", filepath.Base(t.path), t.off),
	}}, s.id.String())
}

// leave goes behind the current content.
func (s *followStream) leave() {
	if s.cur != nil {
		s.cur.close()
	}
	s.cur, s.held = nil, nil
	s.id = s.id.left()
	s.generation, s.off = s.generation+1, 0
}

// atEnd decides what comes behind the end of the current file, as far as it goes: more of it, or the next.
//
// A file that was renamed may still be written to, until its writer opens the new one. So it is left when the next has
// content, it has been quiet for a while, and then one more read finds nothing.
func (s *followStream) atEnd(c *ingest.Chunk) (again bool, err error) {
	if s.since.IsZero() {
		s.since = time.Now()
	}
	live, err := s.isLive()
	if err != nil {
		return false, err
	}
	if live {
		c.CaughtUp, c.Behind = true, s.cur.remaining()
		return false, nil
	}
	if s.leaving {
		s.finish(c)
		return true, nil
	}
	contents, err := s.family.snapshot()
	if err != nil {
		return false, err
	}
	s.count(contents)
	c.Behind = sum(s.cur.remaining(), s.newer)
	switch {
	case len(s.id.newer(contents)) == 0:
		c.CaughtUp = true
		return false, nil
	case !s.isQuiet():
		return false, nil
	}
	s.leaving = true
	return true, nil
}

// finish delivers what is left of a content that has ended.
func (s *followStream) finish(c *ingest.Chunk) {
	if err := s.cur.damage(); err != nil {
		at := ingest.Position{Source: s.cur.path, Offset: s.off}
		s.leave()
		s.put(c, ingest.Entry{At: at, Skip: streamSkip(err, at)}, s.id.String())
		return
	}
	if e, end, ok := s.cur.rest(); ok {
		s.off = end
		s.put(c, e, s.id.String())
	}
	s.leave()
}

// isQuiet tells whether the current file has not grown for a while. A compressed one that is whole never grows.
func (s *followStream) isQuiet() bool {
	if s.cur.compressed && s.cur.damage() == nil {
		return true
	}
	return time.Since(s.cur.info.ModTime()) >= s.opts.Quiet || time.Since(s.since) >= s.opts.Quiet
}

// count adds up what the contents hold that come behind the current one.
func (s *followStream) count(contents []*content) {
	s.lookedAt, s.newer = time.Now(), 0
	for _, c := range s.id.newer(contents) {
		n := c.size()
		if c.compressed {
			n = -1
		}
		s.newer = sum(s.newer, n)
	}
}
