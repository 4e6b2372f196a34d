package kafka

import "github.com/vapshadow/vapshadow/ingest"

// Expired is why messages are left out that the brokers deleted before they were read: the topic's retention passed. One
// skip stands for a run of offsets; its detail says how many.
const Expired ingest.SkipReason = "Expired"
