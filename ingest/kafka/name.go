package kafka

import (
	"fmt"
	"net"
	"regexp"
	"strconv"
	"strings"
)

// partitionName is what a partition is called outside this package: topic/3.
func partitionName(topic string, partition int32) string {
	return topic + "/" + strconv.Itoa(int(partition))
}

func parsePartition(name string) (topic string, partition int32, err error) {
	topic, number, found := strings.Cut(name, "/")
	n, err := strconv.ParseInt(number, 10, 32)
	// The way back has to lead to the same name: "audit/03" would be a partition with two positions.
	if !found || err != nil || n < 0 || partitionName(topic, int32(n)) != name || checkTopic(topic) != nil {
		return "", 0, fmt.Errorf("%q names no partition: it has to be like audit/3", name)
	}
	return topic, int32(n), nil
}

var topicName = regexp.MustCompile(`^[a-zA-Z0-9._-]{1,249}$`)

func checkTopic(name string) error {
	if !topicName.MatchString(name) || name == "." || name == ".." {
		return fmt.Errorf("%q is no name of a topic: letters, digits, '.', '_' and '-' are allowed, at most 249", name)
	}
	return nil
}

func checkAddress(addr string) error {
	host, port, err := net.SplitHostPort(addr)
	if err != nil || host == "" || port == "" {
		return fmt.Errorf("broker %q: it has to be host:port", addr)
	}
	return nil
}
