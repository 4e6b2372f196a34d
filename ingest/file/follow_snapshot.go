package file

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// settled is how old a file's last change must be for its head to be remembered: a change within the same tick of the
// clock would not show.
const settled = 2 * time.Second

// family reads the folder of one log: the live file, and those that it was rotated to.
type family struct {
	live  string
	heads map[string]*content // by path; of files that have not changed since
}

func newFamily(live string) *family {
	return &family{live: live, heads: make(map[string]*content)}
}

// listed is a file as the folder shows it.
type listed struct {
	path string
	info fs.FileInfo
	rotation
}

// errUnsettled says that files came and went faster than they could be read.
var errUnsettled = errors.New("the log is being rotated")

// snapshot returns the contents of the log, the oldest first, each once. The live file is the last. What holds nothing
// is left out, and so is the live file while it does not hold enough to be told from others. As long as files are renamed under its hands it begins again, so that none is missed;
// it gives up with errUnsettled.
func (f *family) snapshot() ([]*content, error) {
	for range rotationTries {
		before, err := f.list()
		if err != nil {
			return nil, err
		}
		contents, readErr := f.read(before)
		after, err := f.list()
		if err != nil {
			return nil, err
		}
		if !f.sameFiles(before, after, contents) || errors.Is(readErr, fs.ErrNotExist) || errors.Is(readErr, errMoved) {
			continue
		}
		if readErr != nil {
			return nil, readErr
		}
		return f.eachOnce(contents), nil
	}
	return nil, errUnsettled
}

// list returns the rotated files, the oldest first, then the live one.
func (f *family) list() ([]listed, error) {
	dir, base := filepath.Dir(f.live), filepath.Base(f.live)
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var found []listed
	names := make(map[string]bool)
	for _, e := range entries {
		r, ok := rotationOf(e.Name(), base)
		if !ok {
			continue
		}
		path := filepath.Join(dir, e.Name())
		info, err := os.Stat(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if info.Mode().IsRegular() && info.Size() > 0 {
			found = append(found, listed{path: path, info: info, rotation: r})
			names[path] = true
		}
	}
	// While a file is being compressed, both forms are there, and one of them is not complete.
	found = slices.DeleteFunc(found, func(l listed) bool {
		plain := stripCompression(l.path)
		return plain != l.path && names[plain]
	})
	slices.SortFunc(found, func(a, b listed) int { return a.order(b) })
	info, err := os.Stat(f.live)
	switch {
	case err == nil:
		found = append(found, listed{path: f.live, info: info})
	case !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	return found, nil
}

// order sorts by style first; what a folder holds of several styles is put in order by content.
func (l listed) order(o listed) int {
	if l.style != o.style {
		return l.style - o.style
	}
	return l.older(o.rotation)
}

// sameFiles tells whether nothing was moved between two listings. Files may have grown.
func (f *family) sameFiles(before, after []listed, contents []*content) bool {
	return slices.EqualFunc(before, after, func(a, b listed) bool {
		if a.path != b.path || !os.SameFile(a.info, b.info) {
			return false
		}
		return a.path == f.live || unchanged(a.info, b.info) || hasGrown(b.path, contents)
	})
}

// hasGrown tells whether a file still begins as it did: it was not written anew.
func hasGrown(path string, contents []*content) bool {
	i := slices.IndexFunc(contents, func(c *content) bool { return c.path == path })
	if i < 0 {
		return false
	}
	now, file, err := readContent(path)
	if err != nil {
		return false
	}
	_ = file.Close()
	return bytes.HasPrefix(now.head, contents[i].head) && now.size() >= contents[i].size()
}

func unchanged(a, b fs.FileInfo) bool {
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}

// read returns the contents of files, in order of time.
func (f *family) read(files []listed) ([]*content, error) {
	fresh := make(map[string]*content)
	var styles [byNumber + 1][]*content
	var live []*content
	for _, l := range files {
		c, err := f.content(l)
		if err != nil {
			return nil, err
		}
		if time.Since(c.info.ModTime()) > settled {
			fresh[l.path] = c
		}
		switch {
		case len(c.head) == 0, l.path == f.live && isPartial(c.head):
		case l.path == f.live:
			live = append(live, c)
		default:
			styles[l.style] = append(styles[l.style], c)
		}
	}
	f.heads = fresh
	return append(mergeByTime(styles[:]), live...), nil
}

func (f *family) content(l listed) (*content, error) {
	if c, ok := f.heads[l.path]; ok && unchanged(c.info, l.info) {
		return c, nil
	}
	c, file, err := readContent(l.path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	if !os.SameFile(c.info, l.info) {
		return nil, errMoved
	}
	return c, nil
}

// mergeByTime merges runs of files, each in order, by when their contents begin.
func mergeByTime(runs [][]*content) []*content {
	runs = slices.DeleteFunc(runs, func(run []*content) bool { return len(run) == 0 })
	var merged []*content
	for len(runs) > 1 {
		first := 0
		for i := range runs {
			if runs[i][0].begins().Before(runs[first][0].begins()) {
				first = i
			}
		}
		merged = append(merged, runs[first][0])
		if runs[first] = runs[first][1:]; len(runs[first]) == 0 {
			runs = slices.Delete(runs, first, first+1)
		}
	}
	if len(runs) == 1 {
		merged = append(merged, runs[0]...)
	}
	return merged
}

// begins is when the first event was written, or the file last, if no event is found.
func (c *content) begins() time.Time {
	f, err := os.Open(c.path)
	if err != nil {
		return c.info.ModTime()
	}
	defer func() { _ = f.Close() }()
	in := &input{name: c.path, file: f, info: c.info}
	if at, ok := in.firstEvent(); ok {
		return at
	}
	return c.info.ModTime()
}

// eachOnce leaves out copies: of the same content, the live file is kept, else the longest that is not compressed.
func (f *family) eachOnce(contents []*content) []*content {
	var kept []*content
	for _, c := range contents {
		i := slices.IndexFunc(kept, c.same)
		switch {
		case i < 0:
			kept = append(kept, c)
		case c.path == f.live:
			kept = append(slices.Delete(kept, i, i+1), c)
		case kept[i].compressed && !c.compressed, kept[i].compressed == c.compressed && c.size() > kept[i].size():
			kept[i] = c
		}
	}
	return kept
}
