package file

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/vapshadow/vapshadow/ingest"
)

// followStream reads one log: its contents one after the other, each a generation.
type followStream struct {
	path, cluster string
	opts          FollowOptions
	family        *family

	// generation, off and id are the place up to which all is delivered.
	generation, off int64
	id              identity
	// cur is the content of id; nil where it is to be found again, or where id is before the next content.
	cur *tail
	// held is what was read of a content that has to be found again.
	held *tail
	// since is when cur had nothing more to read; zero where it had.
	since time.Time
	// leaving is set when cur is to be left if one more look finds nothing: the writer has gone on by then.
	leaving bool
	// newer is how many bytes the contents behind cur hold, -1 if not known, and lookedAt when that was so.
	newer    int64
	lookedAt time.Time
}

func newFollowStream(path, cluster string, from ingest.Mark, opts FollowOptions) (*followStream, error) {
	id, err := parseIdentity(from.Detail)
	if err != nil {
		return nil, err
	}
	if id.content.n == 0 && from.Offset != 0 {
		return nil, fmt.Errorf("offset %d: %w", from.Offset, errDetail)
	}
	return &followStream{
		path: path, cluster: cluster, opts: opts, family: newFamily(path),
		generation: from.Generation, off: from.Offset, id: id,
	}, nil
}

// Next returns the lines that are there, or waits for some.
func (s *followStream) Next(ctx context.Context) (ingest.Chunk, error) {
	deadline := time.Now().Add(s.opts.Idle)
	for {
		if err := ctx.Err(); err != nil {
			return ingest.Chunk{}, err
		}
		c, again, err := s.step()
		switch {
		case errors.Is(err, errUnsettled), errors.Is(err, errMoved), errors.Is(err, fs.ErrNotExist):
			c, again = &ingest.Chunk{Cluster: s.cluster, Behind: -1}, false
		case err != nil:
			return ingest.Chunk{}, fmt.Errorf("following audit log %s: %w", s.path, err)
		}
		if len(c.Entries) > 0 || !again && !time.Now().Before(deadline) {
			return *c, nil
		}
		if again {
			continue
		}
		select {
		case <-ctx.Done():
		case <-time.After(min(s.opts.Poll, time.Until(deadline))):
		}
	}
}

// Close closes the file.
func (s *followStream) Close() error {
	if s.cur != nil {
		s.cur.close()
		s.cur = nil
	}
	return nil
}

// step goes one read or one file further. Again is set where the next step is worth to be done at once.
func (s *followStream) step() (c *ingest.Chunk, again bool, err error) {
	c = &ingest.Chunk{Cluster: s.cluster}
	if s.cur == nil {
		again, err = s.enter(c)
		return c, again, err
	}
	if s.take(c); len(c.Entries) > 0 {
		return c, false, s.describe(c)
	}
	n, err := s.cur.read(s.opts.ChunkBytes)
	switch {
	case errors.Is(err, errReplaced):
		s.letGo()
		return c, true, nil
	case errors.Is(err, errShrunk):
		s.shrink(c)
		return c, false, s.describe(c)
	case err != nil:
		return c, false, err
	case n > 0:
		s.since, s.leaving = time.Time{}, false
		if s.take(c); len(c.Entries) > 0 {
			return c, false, s.describe(c)
		}
		return c, true, nil // inside a long line
	}
	again, err = s.atEnd(c)
	return c, again, err
}

// take moves the whole lines that are read to a chunk.
func (s *followStream) take(c *ingest.Chunk) {
	// The head may have grown; what was delivered is part of it, as far as it goes.
	if s.id.content.n != len(s.cur.head) {
		s.id.content = fingerprintOf(s.cur.head)
	}
	detail := s.id.String()
	for len(c.Entries) < s.opts.ChunkEntries {
		e, end, ok := s.cur.next()
		if !ok {
			break
		}
		s.off = end
		s.put(c, e, detail)
	}
}

// put adds an entry, up to the place where the stream is.
func (s *followStream) put(c *ingest.Chunk, e ingest.Entry, detail string) {
	c.Entries = append(c.Entries, e)
	c.Ends = append(c.Ends, ingest.Mark{Generation: s.generation, Offset: s.off, Detail: detail})
}

// describe says how much there is behind a chunk.
func (s *followStream) describe(c *ingest.Chunk) error {
	live, err := s.isLive()
	if err != nil || s.cur == nil {
		return err
	}
	if live {
		c.Behind = s.cur.remaining()
		c.CaughtUp = c.Behind == int64(len(s.cur.data))+s.cur.passed && !s.cur.holdsLine()
		return nil
	}
	if time.Since(s.lookedAt) > s.opts.Idle {
		contents, err := s.family.snapshot()
		if errors.Is(err, errUnsettled) {
			s.newer = -1
		} else if err != nil {
			return err
		}
		s.count(contents)
	}
	c.Behind = sum(s.cur.remaining(), s.newer)
	return nil
}

// isLive tells whether the current content is that of the log's own file.
func (s *followStream) isLive() (bool, error) {
	info, err := os.Stat(s.path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if s.cur == nil || !os.SameFile(info, s.cur.info) {
		return false, nil
	}
	s.cur.info = info
	return true, nil
}

// sum adds counts; -1 is one that is not known.
func sum(a, b int64) int64 {
	if a < 0 || b < 0 {
		return -1
	}
	return a + b
}
