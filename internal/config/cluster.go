package config

// Cluster holds the settings of a cluster: given at the start, or changed at
// run time.
type Cluster struct{}

// Start is what a cluster is started with.
type Start struct {
	// Static settings of all brokers, by Kafka's names.
	Static map[string]string
	// PerBroker has settings of one broker, by node id: node.id, broker.rack,
	// listeners, advertised.listeners. Every broker has an entry.
	PerBroker map[int32]map[string]string
	// Defaults replace Kafka's defaults where nothing is set. They show as
	// defaults (source 5), not as static settings.
	Defaults map[string]string
}

// New checks the settings: an unknown name or a bad value is an error that names
// the setting and says what would be right.
func New(s Start) (*Cluster, error) { panic("TODO") }

// Check checks one broker setting given by a user. noEffect is true for a setting
// that Kafka has but that changes nothing here.
func Check(name, value string) (noEffect bool, err error) { panic("TODO") }

// Broker gives the settings in force at one broker: dynamic for this broker,
// dynamic for all, static, default. The result is immutable; it is made anew when
// something changed, so ask again after an alter.
func (c *Cluster) Broker(id int32) *Values { panic("TODO") }

// Topic gives the settings in force of a topic, whether it has any of its own or not.
func (c *Cluster) Topic(name string) *Topic { panic("TODO") }

// Group gives the settings in force of a group, clamped to the broker's limits.
func (c *Cluster) Group(id string) *Group { panic("TODO") }

// CheckTopic checks the configs of a topic that is to be created.
func (c *Cluster) CheckTopic(configs []Setting) *Error { panic("TODO") }

// CreateTopic stores the configs of a new topic, which were checked before.
func (c *Cluster) CreateTopic(name string, configs []Setting) { panic("TODO") }

// DeleteTopic forgets the configs of a topic.
func (c *Cluster) DeleteTopic(name string) { panic("TODO") }

// NewTopicEntries gives the effective configs that a topic with these own configs
// has, sorted by name, as CreateTopics v5+ answers them.
func (c *Cluster) NewTopicEntries(node int32, configs []Setting) []Entry { panic("TODO") }

// Describe answers one resource of a DescribeConfigs request received by broker
// node. names is the key filter (nil or empty: all). topicExists says which topics there are.
func (c *Cluster) Describe(node int32, t ResourceType, name string, names []string, topicExists func(string) bool) ([]Entry, *Error) {
	panic("TODO")
}

// IncrementalAlter handles an IncrementalAlterConfigs request received by broker
// node. Each resource succeeds or fails alone.
func (c *Cluster) IncrementalAlter(node int32, resources []Alteration, topicExists func(string) bool, validateOnly bool) []Result {
	panic("TODO")
}

// Alter handles an AlterConfigs request: the given settings replace all of the resource.
func (c *Cluster) Alter(node int32, resources []Alteration, topicExists func(string) bool, validateOnly bool) []Result {
	panic("TODO")
}

// GroupsWithConfigs and ClientMetricsSubscriptions are sorted lists for ListConfigResources.
func (c *Cluster) GroupsWithConfigs() []string { panic("TODO") }

// ClientMetricsSubscriptions lists the subscriptions that have configs, sorted.
func (c *Cluster) ClientMetricsSubscriptions() []string { panic("TODO") }
