package replay

// lru keeps the chains of a History in the order in which they were last written, and says which have to go. One that
// was looked at since is spared once. It counts packed bytes only, so that what goes hangs on the log and not on what
// happens to be unpacked.
type lru struct {
	limit, used int64
	head, tail  *chain // head was written last
}

// touch puts a chain in front and counts the bytes that it grew by.
func (l *lru) touch(c *chain, grown int64) {
	l.used += grown
	if l.head == c || pinned[[2]string{c.key.Group, c.key.Resource}] {
		return
	}
	l.unlink(c)
	c.next = l.head
	if l.head != nil {
		l.head.prev = c
	}
	l.head = c
	if l.tail == nil {
		l.tail = c
	}
}

// overflow returns the chains, oldest first, that have to go for the rest to stay within the limit. The one at hand
// stays, however small the limit.
func (l *lru) overflow(atHand *chain) []*chain {
	if l.limit <= 0 {
		return nil
	}
	var out []*chain
	over := l.used - l.limit
	for c := l.tail; c != nil && over > 0; {
		before := c.prev
		switch {
		case c == atHand:
		case c.used.Swap(false):
			l.touch(c, 0)
		default:
			out = append(out, c)
			over -= c.bytes
		}
		c = before
	}
	return out
}

func (l *lru) drop(c *chain) {
	l.used -= c.bytes
	l.unlink(c)
}

func (l *lru) unlink(c *chain) {
	if c.prev != nil {
		c.prev.next = c.next
	} else if l.head == c {
		l.head = c.next
	}
	if c.next != nil {
		c.next.prev = c.prev
	} else if l.tail == c {
		l.tail = c.prev
	}
	c.prev, c.next = nil, nil
}
