package daily

import (
	"cmp"
	"encoding/binary"
	"slices"
	"time"

	"github.com/vapshadow/vapshadow/sink"
	"github.com/vapshadow/vapshadow/sink/internal/table"
)

// workload are the columns that name the workload of a failure.
var workload = []string{"cluster", "namespace", "workload_kind", "workload_name"}

// merger adds up groups that are counted apart.
type merger struct {
	grouping sink.Grouping
	groups   map[string]*group
	key      []byte
}

func newMerger(g sink.Grouping) *merger { return &merger{grouping: g, groups: map[string]*group{}} }

// group is a group as a database counts it. Where workloads are asked for it names one more than the grouping does.
func (m *merger) group(row sink.Group) *group {
	one := &group{Group: row}
	if n := len(m.grouping.By); m.grouping.Workloads {
		one.Values = row.Values[:n]
		one.workloads = map[[16]byte]failing{table.Digest(row.Values[n:]...): {row.Last.UnixMicro(), row.New > 0}}
	}
	return one
}

// project turns the group of a question about a day into one of what is asked for. It is false for a group that the
// filter leaves out.
func (m *merger) project(q question, fixed []column, at time.Time, one *group) bool {
	for _, c := range fixed {
		if one.Values[slices.Index(q.by, c.name)] != table.Text(c.value) {
			return false
		}
	}
	values := make([]string, len(m.grouping.By))
	for i, name := range m.grouping.By {
		values[i] = one.Values[slices.Index(q.by, name)]
	}
	one.Values = values
	width := int64(m.grouping.Every / time.Second)
	if width == 0 {
		one.Span = time.Time{}
		return true
	}
	if !q.hourly {
		one.Span = at
	}
	second := one.Span.Unix()
	one.Span = time.Unix(second-second%width, 0).UTC() // sealed days are after 1970
	return true
}

// add adds a group to those that have all its values.
func (m *merger) add(one *group) {
	m.key = binary.AppendVarint(m.key[:0], one.Span.Unix())
	for _, v := range one.Values {
		m.key = append(binary.AppendUvarint(m.key, uint64(len(v))), v...)
	}
	known := m.groups[string(m.key)]
	if known == nil {
		m.groups[string(m.key)] = one
		if len(one.stored) > 0 {
			one.merge(&group{stored: one.stored})
			one.stored = nil
		}
		return
	}
	known.Count += one.Count
	known.Requests += one.Requests
	known.New += one.New
	known.Sample = min(known.Sample, one.Sample)
	if one.First.Before(known.First) {
		known.First = one.First
	}
	if one.Last.After(known.Last) {
		known.Last = one.Last
	}
	known.merge(one)
}

// ordered are the groups in the order that a database gives them in.
func (m *merger) ordered() []sink.Group {
	out := make([]sink.Group, 0, len(m.groups))
	for _, one := range m.groups {
		if m.grouping.Workloads {
			one.Workloads, one.Requests = int64(len(one.workloads)), 0
		}
		if !m.grouping.New || m.grouping.Workloads {
			one.New = 0
		}
		out = append(out, one.Group)
	}
	slices.SortFunc(out, func(a, b sink.Group) int {
		return cmp.Or(a.Span.Compare(b.Span), -cmp.Compare(a.Requests, b.Requests), -cmp.Compare(a.Count, b.Count), slices.Compare(a.Values, b.Values))
	})
	if n := m.grouping.Limit; n > 0 && len(out) > n {
		out = out[:n]
	}
	return out
}
