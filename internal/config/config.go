// Package config reads the configuration of the service: one YAML file, strictly.
package config

import "time"

// Config is the configuration of `vapshadow serve` and `vapshadow forward`. Example describes each field.
type Config struct {
	// Name is that of the installation: processes of the same name share the work and their checkpoints.
	Name string `yaml:"name"`
	// KubernetesVersion is the apiserver to be, such as "1.37"; the newest that is known if empty.
	KubernetesVersion string `yaml:"kubernetesVersion"`
	// Store is where rows go: postgres://…, or sqlite:FILE.
	Store string `yaml:"store"`
	// Policies are files, globs and folders of policies and bindings. Without them those of each cluster are used, from
	// its snapshot and its log.
	Policies []string `yaml:"policies"`
	// PoliciesEvery is how often they are looked at for a change.
	PoliciesEvery time.Duration `yaml:"policiesEvery"`
	// Unbound evaluates policies without a binding as though bound to everything with [Audit].
	Unbound bool `yaml:"unbound"`
	// TeamLabel is the label of Namespaces that names the team that they belong to; empty for none.
	TeamLabel string    `yaml:"teamLabel"`
	Clusters  []Cluster `yaml:"clusters"`
	Sources   []Source  `yaml:"sources"`
	// Forward is where `vapshadow forward` writes to; the service does not look at it.
	Forward *Forward `yaml:"forward"`
	// Listen is the address of /metrics, /healthz, /readyz and the pages; Pprof that of /debug/pprof, empty for none.
	Listen string `yaml:"listen"`
	Pprof  string `yaml:"pprof"`
	// Pages says who may see the pages.
	Pages Pages `yaml:"pages"`
	// Workers is how many events are decoded and evaluated at a time; 0 is one a core.
	Workers int    `yaml:"workers"`
	Limits  Limits `yaml:"limits"`
	// Retention is how long rows are kept, by the time of their events; 0 is for ever.
	Retention time.Duration `yaml:"retention"`
	// CheckpointEvery is how often the state of the clusters is stored.
	CheckpointEvery time.Duration `yaml:"checkpointEvery"`
	// ShutdownTimeout is how long the batch at hand may take when the service is told to end.
	ShutdownTimeout time.Duration `yaml:"shutdownTimeout"`
	Log             Log           `yaml:"log"`
}

// Pages is how those who look at the pages say who they are. On an address that others reach there are no pages without.
type Pages struct {
	// TokenFile holds the token that they have to know.
	TokenFile string `yaml:"tokenFile"`
	// TrustedHeader is the header in which a proxy says who they are; nothing else may reach the address.
	TrustedHeader string `yaml:"trustedHeader"`
}

// Cluster is a cluster, and where its state is taken from.
type Cluster struct {
	Name string `yaml:"name"`
	// Snapshot are files of objects as the cluster held them.
	Snapshot []string `yaml:"snapshot"`
	// Live reads the cluster itself, and follows it.
	Live *Live `yaml:"live"`
}

// Live is how a cluster is reached.
type Live struct {
	// Kubeconfig is a file; empty for the service account of the pod.
	Kubeconfig string `yaml:"kubeconfig"`
	Context    string `yaml:"context"`
	// PolicySelector is the label selector of the policies and bindings to be evaluated; empty takes none from the
	// cluster.
	PolicySelector string `yaml:"policySelector"`
}

// Source is one source of audit events: exactly one of Kafka, File and Webhook is given.
type Source struct {
	// Name is unique and stays: the store knows by it how far the source is.
	Name string `yaml:"name"`
	// Cluster is the cluster of the events that name none.
	Cluster string   `yaml:"cluster"`
	Kafka   *Kafka   `yaml:"kafka"`
	File    *File    `yaml:"file"`
	Webhook *Webhook `yaml:"webhook"`
}

// Kafka reads topics.
type Kafka struct {
	Brokers []string `yaml:"brokers"`
	Topics  []string `yaml:"topics"`
	// Group is the consumer group that shares the partitions.
	Group    string `yaml:"group"`
	ClientID string `yaml:"clientID"`
	// ClusterHeader is the message header that names the cluster; empty stands for vapshadow-cluster. Clusters names it
	// by topic.
	ClusterHeader string            `yaml:"clusterHeader"`
	Clusters      map[string]string `yaml:"clusters"`
	// MaxBytes is the largest message.
	MaxBytes Bytes `yaml:"maxBytes"`
	TLS      *TLS  `yaml:"tls"`
	SASL     *SASL `yaml:"sasl"`
}

// Forward is a topic to write to.
type Forward struct {
	Brokers []string `yaml:"brokers"`
	Topic   string   `yaml:"topic"`
	// ClientID names this process in the logs of the brokers.
	ClientID string `yaml:"clientID"`
	// ClusterHeader is the message header that gets the name of the cluster.
	ClusterHeader string `yaml:"clusterHeader"`
	// MaxBytes is the largest event.
	MaxBytes Bytes `yaml:"maxBytes"`
	TLS      *TLS  `yaml:"tls"`
	SASL     *SASL `yaml:"sasl"`
}

// TLS is how a connection is secured.
type TLS struct {
	CAFile     string `yaml:"caFile"`
	CertFile   string `yaml:"certFile"`
	KeyFile    string `yaml:"keyFile"`
	ServerName string `yaml:"serverName"`
	// InsecureSkipVerify accepts any server: for trying things out only.
	InsecureSkipVerify bool `yaml:"insecureSkipVerify"`
}

// SASL is how a Kafka client says who it is.
type SASL struct {
	// Mechanism is PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512.
	Mechanism string `yaml:"mechanism"`
	Username  string `yaml:"username"`
	Password  string `yaml:"password"`
}

// File follows audit logs.
type File struct {
	Paths []string `yaml:"paths"`
	// MaxLineBytes is the longest line.
	MaxLineBytes Bytes `yaml:"maxLineBytes"`
}

// Webhook is an audit webhook backend.
type Webhook struct {
	Listen string `yaml:"listen"`
	// CertFile and KeyFile are the server's; without them it speaks plain HTTP, which only loopback may.
	CertFile string `yaml:"certFile"`
	KeyFile  string `yaml:"keyFile"`
	// ClientCAFile: clients have to show a certificate that it signed.
	ClientCAFile string `yaml:"clientCAFile"`
	// TokenFiles hold bearer tokens, one a file.
	TokenFiles []string `yaml:"tokenFiles"`
	// MaxBodyBytes is the largest request; MaxQueueBytes bounds all that are under way.
	MaxBodyBytes  Bytes `yaml:"maxBodyBytes"`
	MaxQueueBytes Bytes `yaml:"maxQueueBytes"`
	// PlainHTTP allows HTTP on an address that is not loopback, behind something that ends TLS.
	PlainHTTP bool `yaml:"plainHTTP"`
}

// Limits bound the memory.
type Limits struct {
	// HistoryBytes is for earlier states of objects, a cluster.
	HistoryBytes Bytes `yaml:"historyBytes"`
	// QueueBytes is for input that is under way.
	QueueBytes Bytes `yaml:"queueBytes"`
}

// Log is what the service says of itself.
type Log struct {
	// Level is debug, info, warn or error.
	Level string `yaml:"level"`
	// Format is text or json.
	Format string `yaml:"format"`
}
