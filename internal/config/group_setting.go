package config

// GroupSetting gives the value a group was given by IncrementalAlterConfigs, unclamped, under its own name such as
// "consumer.session.timeout.ms"; ok is false where the group has none of its own. The group coordinator asks by it.
func (c *Cluster) GroupSetting(group, name string) (value string, ok bool) { panic("TODO") }
