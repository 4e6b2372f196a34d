package kafka

import (
	"cmp"
	"maps"
	"slices"

	kafkago "github.com/segmentio/kafka-go"
)

// dealer divides the partitions of all topics together, one to each member in turn. kafka-go's own balancers begin anew
// with each topic: of many topics with one partition each, the first member would get all.
type dealer struct{}

// ProtocolName is what Kafka's own clients call the same way of dividing.
func (dealer) ProtocolName() string { return "roundrobin" }

// UserData is nothing.
func (dealer) UserData() ([]byte, error) { return nil, nil }

// AssignGroups gives each partition to one of the members that read its topic.
func (dealer) AssignGroups(members []kafkago.GroupMember, partitions []kafkago.Partition) kafkago.GroupMemberAssignments {
	byID := make(map[string]kafkago.GroupMember)
	assigned := make(kafkago.GroupMemberAssignments)
	for _, m := range members {
		byID[m.ID] = m
		assigned[m.ID] = make(map[string][]int)
	}
	order := slices.Sorted(maps.Keys(byID))
	slices.SortFunc(partitions, func(a, b kafkago.Partition) int {
		return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.ID, b.ID))
	})
	turn := 0
	for _, p := range partitions {
		for range order {
			id := order[turn%len(order)]
			turn++
			if slices.Contains(byID[id].Topics, p.Topic) {
				assigned[id][p.Topic] = append(assigned[id][p.Topic], p.ID)
				break
			}
		}
	}
	return assigned
}
