package file

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/vapshadow/vapshadow/ingest"
)

// Followed is a growing audit log, or a glob of such.
type Followed struct {
	// Path is the file's path, or a glob. A glob's files are followed each by itself; the rotated files of a followed
	// one belong to it.
	Path string
	// Cluster is the cluster whose apiserver writes the file.
	Cluster string
}

// FollowOptions are the limits and times of a Follower. The zero value is good.
type FollowOptions struct {
	// MaxEntryBytes is the longest line that is read, DefaultMaxEntryBytes if 0; longer ones become skips.
	MaxEntryBytes int
	// ChunkEntries and ChunkBytes bound a chunk: 512 and 4 MiB if 0. A line longer than ChunkBytes still comes whole.
	ChunkEntries, ChunkBytes int
	// Poll is how often a file is looked at: 200 ms if 0.
	Poll time.Duration
	// Idle is how long Next waits for a line before it returns without one: 1 s if 0.
	Idle time.Duration
	// Quiet is how long a rotated file must not have grown before it is left for the next: 2 s if 0.
	Quiet time.Duration
}

func (o FollowOptions) withDefaults() FollowOptions {
	o.MaxEntryBytes = positive(o.MaxEntryBytes, DefaultMaxEntryBytes)
	o.ChunkEntries = positive(o.ChunkEntries, 512)
	o.ChunkBytes = positive(o.ChunkBytes, 4<<20)
	o.Poll = positive(o.Poll, 200*time.Millisecond)
	o.Idle = positive(o.Idle, time.Second)
	o.Quiet = positive(o.Quiet, 2*time.Second)
	return o
}

func positive[T int | time.Duration](n, otherwise T) T {
	if n > 0 {
		return n
	}
	return otherwise
}

// Follower follows audit logs as they grow, through their rotation. It is an [ingest.Source] with one partition a log,
// named by its path. Its methods may be called by several goroutines.
type Follower struct {
	followed []Followed
	opts     FollowOptions

	mu sync.Mutex
	// clusters holds the paths that were found so far. One that is deleted stays: it may be made again.
	clusters map[string]string
}

var _ ingest.Source = (*Follower)(nil)

// NewFollower checks what is to be followed. The files need not be there yet.
func NewFollower(followed []Followed, opts FollowOptions) (*Follower, error) {
	f := &Follower{opts: opts.withDefaults(), clusters: make(map[string]string)}
	for _, fo := range followed {
		if fo.Path == "" {
			return nil, errors.New("following audit logs: a path is empty: name a file or a glob")
		}
		if _, err := filepath.Match(fo.Path, ""); err != nil {
			return nil, fmt.Errorf("following audit logs: pattern %q: %w; put a backslash before a bracket that is part of a name",
				fo.Path, err)
		}
		fo.Path = filepath.Clean(fo.Path)
		f.followed = append(f.followed, fo)
	}
	if len(f.followed) == 0 {
		return nil, errors.New("following audit logs: no file named")
	}
	if _, err := f.find(); err != nil {
		return nil, err
	}
	return f, nil
}

// Watch tells of the files that are followed: those that are named at once, those of a glob when they appear. All are
// this process's own.
func (f *Follower) Watch(ctx context.Context, changed func(ingest.Assignment)) error {
	var told []string
	tick := time.NewTicker(f.opts.Idle)
	defer tick.Stop()
	for first := true; ; first = false {
		names, err := f.find()
		if err != nil {
			return err
		}
		if first || !slices.Equal(names, told) {
			told = names
			changed(ingest.Assignment{All: slices.Clone(names), Own: slices.Clone(names)})
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// Open opens a log behind a mark. From the zero mark on, all is read that is there: the oldest rotated file first.
func (f *Follower) Open(ctx context.Context, name string, from ingest.Mark) (ingest.Stream, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if _, err := f.find(); err != nil {
		return nil, err
	}
	f.mu.Lock()
	cluster, ok := f.clusters[name]
	f.mu.Unlock()
	if !ok {
		return nil, fmt.Errorf("following audit log %s: it is not among the files to follow", name)
	}
	s, err := newFollowStream(name, cluster, from, f.opts)
	if err != nil {
		return nil, fmt.Errorf("following audit log %s: %w", name, err)
	}
	return s, nil
}

// find returns the paths of the logs to follow, sorted.
func (f *Follower) find() ([]string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var matches []Followed
	for _, fo := range f.followed {
		if !strings.ContainsAny(fo.Path, `*?[`) {
			if err := f.add(fo); err != nil {
				return nil, err
			}
			continue
		}
		names, err := filepath.Glob(fo.Path)
		if err != nil {
			return nil, fmt.Errorf("following audit logs: pattern %q: %w", fo.Path, err)
		}
		for _, name := range names {
			matches = append(matches, Followed{Path: name, Cluster: fo.Cluster})
			// While a log is being rotated, there may be nothing but its rotated files.
			for _, live := range liveNames(name) {
				if ok, _ := filepath.Match(fo.Path, live); ok {
					matches = append(matches, Followed{Path: live, Cluster: fo.Cluster})
				}
			}
		}
	}
	for _, m := range leaveRotated(matches, f.clusters) {
		if err := f.add(m); err != nil {
			return nil, err
		}
	}
	names := make([]string, 0, len(f.clusters))
	for name := range f.clusters {
		names = append(names, name)
	}
	slices.Sort(names)
	return names, nil
}

func (f *Follower) add(fo Followed) error {
	if cluster, ok := f.clusters[fo.Path]; ok && cluster != fo.Cluster {
		return fmt.Errorf("following audit logs: %s is named for cluster %q and for cluster %q: name it once",
			fo.Path, cluster, fo.Cluster)
	}
	for name := range f.clusters {
		if isRotatedOf(fo.Path, name) {
			return fmt.Errorf("following audit logs: %s is a rotated file of %s, and is read with it: do not name it",
				fo.Path, name)
		}
	}
	f.clusters[fo.Path] = fo.Cluster
	return nil
}

// leaveRotated leaves out the rotated files of others.
func leaveRotated(matches []Followed, known map[string]string) []Followed {
	names := make(map[string]bool)
	for name := range known {
		names[name] = true
	}
	for _, m := range matches {
		names[m.Path] = true
	}
	return slices.DeleteFunc(matches, func(m Followed) bool {
		return slices.ContainsFunc(liveNames(m.Path), func(live string) bool { return names[live] })
	})
}
