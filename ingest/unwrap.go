package ingest

import (
	"fmt"
	"io"
)

// unwrapper takes the envelopes off JSON: it walks into arrays and into the items of lists, and returns what stands in
// them, one element at a time. It looks at brackets and strings only. So an element that is no JSON costs no
// other as long as its brackets match, and of a document of any size there is no more than one element in memory.
type unwrapper struct {
	text *text
	// max is the most bytes that an element may have.
	max int
	// one ends the reading after one outermost value.
	one bool

	open  []envelope
	begun bool
	// ended is set where the text ends inside a value or a list.
	ended bool
}

func newUnwrapper(t *text, max int) *unwrapper { return &unwrapper{text: t, max: max} }

// next returns the next element, io.EOF after the last, or the error of the text's reader.
func (u *unwrapper) next() (Entry, error) {
	for {
		if u.one && u.begun && len(u.open) == 0 {
			return Entry{}, io.EOF
		}
		if !u.text.passSpace() {
			return u.end()
		}
		u.begun = true
		e, found, err := u.step()
		if err != nil || found {
			return e, err
		}
	}
}

// step goes one bracket, comma or element further.
func (u *unwrapper) step() (e Entry, found bool, err error) {
	switch c := u.text.buf[0]; {
	case c == ',' && len(u.open) > 0:
		u.text.pass(1)
		return Entry{}, false, nil
	case c == ']' && len(u.open) > 0:
		u.text.pass(1)
		return u.close()
	case c == '[' && len(u.open) < maxNesting:
		at := u.text.at
		u.text.pass(max(1, u.text.timedRecord()))
		u.open = append(u.open, envelope{at: at})
		return Entry{}, false, nil
	case c == '[':
		e = u.passOver(&nesting{}, 0, false, TooDeep, fmt.Sprintf("lists nested deeper than %d levels", maxNesting))
	case c == '{':
		e, found, err = u.object()
		return u.inList(e), found, err
	default:
		e, _, err = u.element(&scalar{})
	}
	return u.inList(e), true, err
}

// object returns the object that begins here, or goes into it if it is a list.
func (u *unwrapper) object() (e Entry, found bool, err error) {
	e, items, err := u.element(&nesting{members: len(u.open) < maxNesting})
	if !items {
		return e, true, err
	}
	u.open = append(u.open, openList(e.Data, e.At))
	u.text.pass(1)
	return Entry{}, false, nil
}

// inList refuses an element of a list that is known not to hold events that are read.
func (u *unwrapper) inList(e Entry) Entry {
	if len(u.open) == 0 || len(e.Data) == 0 {
		return e
	}
	if skip := u.open[len(u.open)-1].refuse(e.At); skip != nil {
		return Entry{At: e.At, Skip: skip}
	}
	return e
}

// close leaves an array, or a list with what stands behind its items.
func (u *unwrapper) close() (e Entry, found bool, err error) {
	last := u.open[len(u.open)-1]
	u.open = u.open[:len(u.open)-1]
	if !last.list {
		return Entry{}, false, nil
	}
	e, _, err = u.element(&nesting{depth: 1})
	if err != nil || e.Skip != nil {
		return e, true, err
	}
	skip := last.check(e.Data)
	return Entry{At: last.at, Skip: skip}, skip != nil, nil
}

// follower finds the end of a value that comes in pieces.
type follower interface {
	follow(data []byte) (n int, closed, items bool)
	isItems() bool
	whole()
}

// element returns the value that begins here. Of a list it returns what stands before the items, and stops there.
func (u *unwrapper) element(f follower) (e Entry, items bool, err error) {
	t, n := u.text, 0
	for {
		m, closed, items := f.follow(t.buf[n:])
		n += m
		switch {
		case n > u.max:
			e := u.passOver(f, n, closed, TooLarge, fmt.Sprintf("longer than %d bytes", u.max))
			return e, false, nil
		case items && !opensList(t.buf[:n], f.isItems()):
			f.whole()
		case closed, items:
			at := t.at
			return Entry{Data: t.take(n), At: at}, items, nil
		case !t.more():
			e, err := u.cut(f, n)
			return e, false, err
		}
	}
}

// cut returns the value that the text ends in.
func (u *unwrapper) cut(f follower, n int) (Entry, error) {
	at, err := u.text.at, u.text.err
	if !isEnd(err) {
		return Entry{}, err
	}
	data := u.text.take(n)
	if s, ok := f.(*scalar); ok && !s.inString {
		return Entry{Data: data, At: at}, nil
	}
	u.open, u.ended = nil, true // the lists end there too, which needs no skip more
	return Entry{At: at, Skip: endsInside(err, at, "a value")}, nil
}

// end returns io.EOF, but first what is amiss where the text ends inside a list.
func (u *unwrapper) end() (Entry, error) {
	err := u.text.err
	if !isEnd(err) {
		return Entry{}, err
	}
	if len(u.open) == 0 {
		return Entry{}, io.EOF
	}
	at := u.open[len(u.open)-1].at
	u.open, u.ended = nil, true
	return Entry{At: at, Skip: endsInside(err, at, "a list")}, nil
}

// passOver leaves out the value that begins here, of which f has followed n bytes.
func (u *unwrapper) passOver(f follower, n int, closed bool, reason SkipReason, why string) Entry {
	t := u.text
	at := t.at
	f.whole()
	for t.pass(n); !closed && (len(t.buf) > 0 || t.more()); t.pass(n) {
		n, closed, _ = f.follow(t.buf)
	}
	return Entry{At: at, Skip: skipped(reason, at, "%s: %d bytes passed over", why, t.at.Offset-at.Offset)}
}

// isEnd tells the end of a text from an error of its reader.
func isEnd(err error) bool { return err == io.EOF || err == errLineEnd }

func endsInside(err error, at Position, what string) *Skip {
	if err == io.EOF {
		return skipped(CutLine, at, "the input ends inside %s", what)
	}
	return skipped(InvalidJSON, at, "the line ends inside %s", what)
}
