package rbac

import (
	"hash/maphash"
	"strings"
)

// tree is an ordered map that never changes: with and without return another, which shares all but the path to the key.
// It is a treap: in order of keys from left to right, and a heap of the keys' hashes from the root down, which keeps it
// balanced whatever the order of the changes.
type tree[V any] struct{ root *node[V] }

type node[V any] struct {
	key         string
	hash        uint64
	value       V
	left, right *node[V]
}

var seed = maphash.MakeSeed()

func (t tree[V]) get(key string) (value V, ok bool) {
	n := t.root
	for n != nil && n.key != key {
		if key < n.key {
			n = n.left
		} else {
			n = n.right
		}
	}
	if n == nil {
		return value, false
	}
	return n.value, true
}

func (t tree[V]) with(key string, value V) tree[V] {
	below, above := split(t.root, key)
	return tree[V]{join(join(below, &node[V]{key: key, hash: maphash.String(seed, key), value: value}), above)}
}

func (t tree[V]) without(key string) tree[V] {
	if _, ok := t.get(key); !ok {
		return t
	}
	return tree[V]{join(split(t.root, key))}
}

// under calls f with the values whose keys begin with the prefix, in order of the keys, until f returns false.
func (t tree[V]) under(prefix string, f func(V) bool) { t.root.under(prefix, f) }

func (n *node[V]) under(prefix string, f func(V) bool) bool {
	if n == nil {
		return true
	}
	within := strings.HasPrefix(n.key, prefix)
	if n.key > prefix && !n.left.under(prefix, f) {
		return false
	}
	if within && !f(n.value) {
		return false
	}
	if within || n.key < prefix {
		return n.right.under(prefix, f)
	}
	return true
}

// split returns the trees of the keys below and above key, which is in neither.
func split[V any](n *node[V], key string) (below, above *node[V]) {
	if n == nil {
		return nil, nil
	}
	if n.key == key {
		return n.left, n.right
	}
	half := *n
	if n.key < key {
		half.right, above = split(n.right, key)
		return &half, above
	}
	below, half.left = split(n.left, key)
	return below, &half
}

// join returns the tree of both, where all keys of the first are below all of the second.
func join[V any](below, above *node[V]) *node[V] {
	if below == nil {
		return above
	}
	if above == nil {
		return below
	}
	if below.hash > above.hash {
		top := *below
		top.right = join(below.right, above)
		return &top
	}
	top := *above
	top.left = join(below, above.left)
	return &top
}
