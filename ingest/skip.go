package ingest

import "fmt"

// Reasons for which input is left out.
const (
	// InvalidJSON is text that is no JSON.
	InvalidJSON SkipReason = "InvalidJSON"
	// CutLine is the end of a source, where it ends inside a JSON value: the writer died, or the file was cut or is
	// still being written.
	CutLine SkipReason = "CutLine"
	// NotAnEvent is JSON that is no audit event.
	NotAnEvent SkipReason = "NotAnEvent"
	// UnsupportedVersion is an audit event of another version than audit.k8s.io/v1.
	UnsupportedVersion SkipReason = "UnsupportedVersion"
	// InvalidEvent is an audit event with a field of another type than audit.k8s.io/v1 gives it.
	InvalidEvent SkipReason = "InvalidEvent"
	// NoAuditID is an audit event that cannot be told from others.
	NoAuditID SkipReason = "NoAuditID"
	// DuplicateKey is an audit event that says one thing twice. The readers of JSON differ on which of the two counts,
	// or mix them, so neither is taken. Bodies are exempt: see Decode.
	DuplicateKey SkipReason = "DuplicateKey"
	// InvalidUTF8 is an audit event with a string that is no Unicode: another reader would see another name. Bodies
	// are exempt: see Decode.
	InvalidUTF8 SkipReason = "InvalidUTF8"
	// TooLarge is a line or an element longer than the limit.
	TooLarge SkipReason = "TooLarge"
	// TooDeep is JSON nested beyond 10,000 levels, which an apiserver would not have read either.
	TooDeep SkipReason = "TooDeep"
	// CutStream is a compressed stream that ends early.
	CutStream SkipReason = "CutStream"
	// CorruptStream is a compressed stream that cannot be decompressed any further.
	CorruptStream SkipReason = "CorruptStream"
	// UnsupportedCompression is a file compressed in a way that is not read.
	UnsupportedCompression SkipReason = "UnsupportedCompression"
	// InvalidEncoding is an envelope whose content is not encoded as it says: no base64.
	InvalidEncoding SkipReason = "InvalidEncoding"
	// CutEvent is an audit event in an envelope, of which the end is missing: a shipper cut what was too long for it.
	CutEvent SkipReason = "CutEvent"
	// SplitEvent is a part of an event that was split, as container runtimes do with lines, and Cloud Logging with
	// entries. The parts that follow are skips too.
	SplitEvent SkipReason = "SplitEvent"
	// ControlMessage is a message of a shipper about itself: CloudWatch Logs tests a new subscription with one.
	ControlMessage SkipReason = "ControlMessage"
	// OtherLog is a record that says that it is of another log than the audit log.
	OtherLog SkipReason = "OtherLog"
	// DuplicateFile is a compressed file left out because the file that it was made from is read.
	DuplicateFile SkipReason = "DuplicateFile"
	// FileGone is a followed file that was deleted or emptied before it was known to be read to its end.
	FileGone SkipReason = "FileGone"
)

func (s Skip) String() string {
	return fmt.Sprintf("%s: %s: %s", s.At, s.Reason, s.Detail)
}

func skipped(reason SkipReason, at Position, format string, args ...any) *Skip {
	return &Skip{Reason: reason, At: at, Detail: fmt.Sprintf(format, args...)}
}

// shorten keeps a name from the input short enough for a report.
func shorten(s string) string {
	const limit = 64
	if len(s) <= limit {
		return s
	}
	return s[:limit] + "…"
}
