package file

import (
	"cmp"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// The ways in which programs name the files that they rotate a log to. Compressed, the names end in .gz or .zst too.
const (
	// byTime is the apiserver's: audit-2026-11-21T06-49-22.123.log.
	byTime = iota
	// byDate is logrotate's dateext, and the kubelet's: audit.log-20261121, audit.log.20261121-064922,
	// audit-20261121.log.
	byDate
	// byNumber is logrotate's: audit.log.1, audit.1.log. The highest number is the oldest.
	byNumber
)

var rotationMarks = []struct {
	style  int
	before *regexp.Regexp // what stands between the base name and the end, or between stem and extension
}{
	{byTime, regexp.MustCompile(`^-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d\.\d{3}$`)},
	{byDate, regexp.MustCompile(`^[-.]\d{8}([-_.T]?\d+)*Z?$`)},
	{byNumber, regexp.MustCompile(`^\.\d{1,7}$`)},
}

// rotation is what the name of a rotated file says.
type rotation struct {
	style  int
	number int    // byNumber
	time   string // otherwise; in the order of time
}

// older sorts the rotated files of one style, the oldest first.
func (r rotation) older(o rotation) int {
	if r.style == byNumber {
		return cmp.Compare(o.number, r.number)
	}
	return strings.Compare(r.time, o.time)
}

// rotationOf reads the name of a file as one that live was rotated to. Both are names in one folder.
func rotationOf(name, live string) (rotation, bool) {
	name = stripCompression(name)
	ext := filepath.Ext(live)
	stem := strings.TrimSuffix(live, ext)
	if mark, ok := strings.CutPrefix(name, live); ok {
		if r, ok := parseMark(mark); ok {
			return r, true
		}
	}
	mark, ok := strings.CutPrefix(name, stem)
	if !ok {
		return rotation{}, false
	}
	if mark, ok = strings.CutSuffix(mark, ext); !ok {
		return rotation{}, false
	}
	return parseMark(mark)
}

func parseMark(mark string) (rotation, bool) {
	for _, m := range rotationMarks {
		if !m.before.MatchString(mark) {
			continue
		}
		r := rotation{style: m.style, time: mark[1:]}
		if m.style == byNumber {
			r.number, _ = strconv.Atoi(mark[1:]) // the pattern holds digits that fit
		}
		return r, true
	}
	return rotation{}, false
}

func isRotatedOf(path, live string) bool {
	if filepath.Dir(path) != filepath.Dir(live) || path == live {
		return false
	}
	_, ok := rotationOf(filepath.Base(path), filepath.Base(live))
	return ok
}

// liveNames returns the paths that a file may have been rotated from.
func liveNames(path string) []string {
	dir, name := filepath.Split(path)
	plain := stripCompression(name)
	best, lives := byNumber, []string(nil)
	// A mark begins with a dash or a dot, and ends with the name or before the extension.
	for begin := 1; begin < len(plain); begin++ {
		for _, ext := range []string{"", filepath.Ext(plain)} {
			live := plain[:begin] + ext
			r, ok := rotationOf(name, live)
			if !ok || r.style > best {
				continue
			}
			// The .123 in audit-2026-11-21T06-49-22.123.log is part of a time, and no number.
			if r.style < best {
				best, lives = r.style, nil
			}
			if !slices.Contains(lives, dir+live) {
				lives = append(lives, dir+live)
			}
		}
	}
	return lives
}
