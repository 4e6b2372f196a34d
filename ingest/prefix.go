package ingest

import (
	"bytes"
	"time"
)

// Layouts of the times before the lines of a log: of the CRI, of S3 exports of CloudWatch Logs, of docker logs -t; and
// without a zone, of aws logs tail --format short.
var prefixTimes = []string{time.RFC3339Nano, "2006-01-02T15:04:05"}

// prefixed decodes a line that begins with a time; false where it does not, or where no JSON follows.
func (d *decoder) prefixed(line []byte, depth int) bool {
	rest, partial, ok := cutPrefix(line)
	if !ok {
		return false
	}
	switch {
	case partial:
		d.skip(*skipped(SplitLine, d.at, "a part of a line that the container runtime split"))
	case len(rest) == 0 || !startsValue(rest[0]):
		d.skip(*skipped(NotAnEvent, d.at, "a line of text behind a time"))
	default:
		d.decode(rest, depth+1)
	}
	return true
}

func hasPrefix(line []byte) bool {
	_, _, ok := cutPrefix(line)
	return ok
}

// cutPrefix takes off the time that a line begins with, and what stands between it and the message: the stream and tags
// of the CRI, which also tell whether the line goes on in the next; or the name of a log stream.
func cutPrefix(line []byte) (rest []byte, partial, ok bool) {
	first, rest, _ := bytes.Cut(line[:min(len(line), longestPrefix)], []byte{' '})
	if !isTime(first) {
		return nil, false, false
	}
	rest = line[min(len(line), len(first)+1):]
	word, behind, _ := bytes.Cut(rest, []byte{' '})
	switch string(word) {
	case "stdout", "stderr":
		tags, message, _ := bytes.Cut(behind, []byte{' '})
		return message, tags != nil && len(tags) > 0 && tags[0] == 'P', true
	}
	rest = trimSpace(rest)
	if len(rest) == 0 || startsValue(rest[0]) {
		return rest, false, true
	}
	// A stream's name holds no space.
	if behind = trimSpace(behind); len(behind) > 0 && startsValue(behind[0]) {
		return behind, false, true
	}
	return rest, false, true
}

// longestPrefix is longer than any time.
const longestPrefix = 40

func isTime(word []byte) bool {
	if len(word) < len("2006-01-02T15:04:05") || word[4] != '-' || word[10] != 'T' {
		return false
	}
	for _, layout := range prefixTimes {
		if _, err := time.Parse(layout, string(word)); err == nil {
			return true
		}
	}
	return false
}
