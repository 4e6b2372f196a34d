package ingest

import (
	"bytes"
	"time"
)

// Layouts of the times before the lines of a log: of the CRI, of S3 exports of CloudWatch Logs, of docker logs -t, of
// Fluentd's files; and without a zone, of aws logs tail --format short.
var prefixTimes = []string{time.RFC3339Nano, "2006-01-02T15:04:05"}

// prefixed decodes a line that begins with a time; false where it does not, or where no JSON follows.
func (d *decoder) prefixed(line []byte, depth int) bool {
	rest, partial, ok := cutPrefix(line)
	if !ok {
		return false
	}
	switch {
	case partial:
		d.skip(*skipped(SplitEvent, d.at, "a part of a line that the container runtime split"))
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
// of the CRI, which also tell whether the line goes on in the next; or one word, the name of a log stream or a tag.
func cutPrefix(line []byte) (rest []byte, partial, ok bool) {
	if len(line) == 0 || line[0] < '0' || line[0] > '9' {
		return nil, false, false
	}
	first, rest := cutWord(line)
	if !isTime(first) {
		return nil, false, false
	}
	if len(rest) == 0 || startsValue(rest[0]) {
		return rest, false, true
	}
	word, rest := cutWord(rest)
	if string(word) == "stdout" || string(word) == "stderr" {
		word, rest = cutWord(rest)
		partial = len(word) > 0 && word[0] == 'P'
	}
	return rest, partial, true
}

// cutWord splits text behind its first word. A word is not long.
func cutWord(text []byte) (word, rest []byte) {
	const longest = 512 // of the name of a log stream
	i := bytes.IndexAny(text[:min(len(text), longest+1)], " \t")
	if i < 0 {
		return text, nil
	}
	return text[:i], trimSpace(text[i:])
}

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
