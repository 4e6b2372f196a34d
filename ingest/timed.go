package ingest

import (
	"bytes"
	"regexp"
)

// longestTime is how long the time before a record may be, with its metadata.
const longestTime = 256

// beforeRecord is what stands before the record in an array that is an event of Fluentd or Fluent Bit: [time,{…}], and
// [[time,{metadata}],{…}] since Fluent Bit 2.1.
var beforeRecord = regexp.MustCompile(`^\[\s*(?:\[\s*-?[0-9][0-9.eE+-]*\s*,\s*\{[^{}\[\]]*\}\s*\]|-?[0-9][0-9.eE+-]*)\s*,\s*\{`)

// timedRecord tells how many bytes the array that begins here has before its record; 0 for any other array.
func (t *text) timedRecord() int {
	for len(t.buf) < longestTime && !bytes.ContainsAny(t.buf, "\n\"") && t.more() {
	}
	begin := t.buf[:min(len(t.buf), longestTime)]
	second := trimSpace(begin[1:])
	if len(second) == 0 || second[0] != '[' && second[0] != '-' && (second[0] < '0' || second[0] > '9') {
		return 0
	}
	return max(0, len(beforeRecord.Find(begin))-1)
}
