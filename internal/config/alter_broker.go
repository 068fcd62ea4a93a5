package config

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/fakekafka/fakekafka/internal/wire"
)

// alterBroker changes what is set on one broker, or, with an empty name, on all.
func (c *Cluster) alterBroker(node int32, r *Alteration, validateOnly, incremental bool) *Error {
	current := c.dynamicDefault
	if r.Name != "" {
		id, err := strconv.ParseInt(r.Name, 10, 32)
		if err != nil {
			return &Error{invalidRequest, "Node id must be an integer, but it is: " + r.Name}
		}
		if int32(id) != node {
			return &Error{invalidRequest, fmt.Sprintf("Unexpected broker id, expected %d, but received %s", node, r.Name)}
		}
		current = c.dynamic[node]
	}
	var settings map[string]string
	var err *Error
	if incremental {
		settings, err = c.applyBrokerOps(node, current, r)
	} else {
		settings = replacement(r)
	}
	if err == nil {
		err = c.checkDynamic(node, settings, r.Name != "")
	}
	if err == nil {
		err = checkMinInsync(r, settings, incremental)
	}
	if err != nil || validateOnly {
		return err
	}
	if r.Name != "" {
		c.dynamic[node] = settings
	} else {
		c.dynamicDefault, c.onlyDefaults = settings, false
	}
	c.changed()
	return nil
}

// applyBrokerOps gives the settings after the operations. Lists are changed
// beginning from the value in force, where nothing is set at this level.
func (c *Cluster) applyBrokerOps(node int32, current map[string]string, r *Alteration) (map[string]string, *Error) {
	settings := maps.Clone(current)
	if settings == nil {
		settings = map[string]string{}
	}
	for _, s := range r.Settings {
		switch s.Op {
		case Set:
			settings[s.Name] = *s.Value
		case Delete:
			delete(settings, s.Name)
		case Append, Subtract:
			d := dynamicDef(s.Name)
			if d == nil {
				return nil, &Error{invalidConfig, "Unknown config name: " + s.Name}
			}
			if d.typ != List {
				return nil, &Error{invalidConfig, fmt.Sprintf("Config value %s is not allowed for config key: %s", strings.ToLower(s.Op.String()), s.Name)}
			}
			if d.required {
				return nil, &Error{wire.UnknownServerError, ""} // Kafka begins from the default, and there is none
			}
			list, ok := settings[s.Name]
			if !ok && c.fallback(d) != nil {
				list = *c.fallback(d)
			}
			settings[s.Name] = changeList(list, *s.Value, s.Op)
		default:
			return nil, &Error{invalidRequest, "Unknown operations type " + s.Op.String()}
		}
		if len(settings[s.Name]) > maxValueSize {
			return nil, tooLong()
		}
	}
	return settings, nil
}

// checkDynamic checks all settings a broker would have at one dynamic level.
// Settings Kafka doesn't know are taken: a plug-in might know them.
func (c *Cluster) checkDynamic(node int32, settings map[string]string, oneBroker bool) *Error {
	names := slices.Sorted(maps.Keys(settings))
	refuse := func(text string, bad func(name string, d *def) bool) *Error {
		var refused []string
		for _, name := range names {
			if bad(name, brokerDefs().byName[name]) {
				refused = append(refused, name)
			}
		}
		if refused == nil {
			return nil
		}
		return &Error{invalidRequest, text + ": [" + strings.Join(refused, ", ") + "]"}
	}
	if err := refuse("Cannot update these configs dynamically", func(_ string, d *def) bool {
		return d != nil && d.mode == readOnly
	}); err != nil {
		return err
	}
	if err := refuse("These security configs can be dynamically updated only per-listener using the listener prefix", func(name string, d *def) bool {
		return d != nil && d.mode == perBroker && strings.HasPrefix(name, "ssl.") && !slices.Contains(engineSettings, name)
	}); err != nil {
		return err
	}
	for _, name := range names {
		if d := dynamicDef(name); d != nil {
			if _, err := d.parse(settings[name]); err != nil {
				return &Error{invalidRequest, err.Error()}
			}
			if err := refuseForeignCode(d, name, settings[name]); err != nil {
				return &Error{invalidRequest, err.Error()}
			}
		}
	}
	if !oneBroker {
		if err := refuse("Cannot update these configs at default cluster level, broker id must be specified", func(name string, d *def) bool {
			return d != nil && d.mode == perBroker || strings.HasPrefix(name, "listener.name.")
		}); err != nil {
			return err
		}
	}
	before := c.Broker(node)
	after := before.with(settings)
	for _, check := range []func(*Values) error{
		checkBroker,
		ifAny(names, checkLocalRetention, "log.local.retention.ms", "log.local.retention.bytes", "log.retention.ms", "log.retention.bytes"),
		ifAny(names, checkReporters, "metric.reporters"),
		ifAny(names, checkCordoned, "cordoned.log.dirs"),
		ifAny(names, checkListenerProtocols, "listener.security.protocol.map"),
		ifAny(names, refuseListeners, "listeners"),
	} {
		if err := check(after); err != nil {
			return &Error{invalidRequest, err.Error()}
		}
	}
	return checkThreads(before, after, names)
}

// engineSettings are those of TLS that a broker takes at run time for all of its listeners.
var engineSettings = []string{
	"ssl.cipher.suites", "ssl.enabled.protocols", "ssl.endpoint.identification.algorithm", "ssl.keymanager.algorithm",
	"ssl.protocol", "ssl.provider", "ssl.secure.random.implementation", "ssl.trustmanager.algorithm",
}

// ifAny is the check where one of its settings is among the names, else nothing.
func ifAny(names []string, check func(*Values) error, settings ...string) func(*Values) error {
	if slices.ContainsFunc(settings, func(s string) bool { return slices.Contains(names, s) }) {
		return check
	}
	return func(*Values) error { return nil }
}

// checkLocalRetention: what stays on the broker's own disk (-2: all) is not more than what is kept at all (-1: without a limit).
func checkLocalRetention(v *Values) error {
	for _, unit := range []string{"ms", "bytes"} {
		local := v.Int64("log.local.retention." + unit)
		kept := v.Int64("log.retention.bytes")
		if unit == "ms" {
			name := "log.retention.hours"
			for _, n := range []string{"log.retention.minutes", "log.retention.ms"} {
				if v.IsSet(n) {
					name = n
				}
			}
			if kept = -1; v.Int64(name) >= 0 {
				kept = v.Duration(name).Milliseconds()
			}
		}
		switch {
		case kept < 0 || local == -2:
		case local == -1:
			return refusal(fmt.Sprintf("log.local.retention.%s must not be -1 as log.retention.%s is %d", unit, unit, kept))
		case local > kept:
			return refusal(fmt.Sprintf("log.local.retention.%s is %d and must not be larger than log.retention.%s, which is %d", unit, local, unit, kept))
		}
	}
	return nil
}

// checkReporters: only Kafka's own reporter can be loaded at run time. At the start any is taken, as it has no effect.
func checkReporters(v *Values) error {
	const own = "org.apache.kafka.common.metrics.JmxReporter"
	for _, class := range v.List("metric.reporters") {
		if class != own {
			return refusal(fmt.Sprintf("metric.reporters: the class %s can't be loaded; there is %s", class, own))
		}
	}
	return nil
}

// checkCordoned: only directories that the broker has can be closed to new replicas; * is all of them.
func checkCordoned(v *Values) error {
	has := v.List("log.dirs")
	if len(has) == 0 {
		has = v.List("log.dir")
	}
	for _, dir := range v.List("cordoned.log.dirs") {
		if dir != "*" && !slices.Contains(has, dir) {
			return refusal(fmt.Sprintf("cordoned.log.dirs has %s, which is not among the broker's directories %s", dir, strings.Join(has, ", ")))
		}
	}
	return nil
}

// refuseListeners: a broker of one process with its controller, as ours is to its clients, takes no other listeners at run time, as its own are among them.
func refuseListeners(*Values) error {
	return refusal("listeners can't be changed while the broker runs")
}

// checkListenerProtocols reads "NAME:PROTOCOL,NAME:PROTOCOL", which must have every listener of the broker.
func checkListenerProtocols(v *Values) error {
	const name = "listener.security.protocol.map"
	mapped := map[string]bool{}
	for _, entry := range splitList(v.String(name)) {
		listener, protocol, ok := strings.Cut(entry, ":")
		if !ok || !slices.Contains([]string{"PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"}, strings.ToUpper(strings.TrimSpace(protocol))) {
			return refusal(fmt.Sprintf("%s: %s is not of the form listener:protocol, where the protocol is PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL", name, entry))
		}
		mapped[strings.TrimSpace(listener)] = true
	}
	for _, l := range v.List("listeners") {
		if listener, _, ok := strings.Cut(l, "://"); ok && !mapped[listener] {
			return refusal(fmt.Sprintf("%s has no protocol for the listener %s", name, listener))
		}
	}
	return nil
}

// checkThreads: a pool of threads may be halved or doubled at most in one step.
func checkThreads(before, after *Values, names []string) *Error {
	for _, name := range names {
		switch name {
		case "num.io.threads", "num.network.threads", "num.replica.fetchers", "num.recovery.threads.per.data.dir", "background.threads",
			"remote.log.reader.threads", "remote.log.manager.copier.thread.pool.size", "remote.log.manager.expiration.thread.pool.size",
			"remote.log.manager.follower.thread.pool.size":
		default:
			continue
		}
		was, is := before.Int(name), after.Int(name)
		reason := ""
		switch {
		case is > 2*was:
			reason = fmt.Sprintf("value should not be greater than double the current value %d", was)
		case is < was/2:
			reason = fmt.Sprintf("value should be at least half the current value %d", was)
		default:
			continue
		}
		return &Error{invalidRequest, invalid("Invalid dynamic configuration",
			fmt.Sprintf("org.apache.kafka.common.config.ConfigException: Dynamic thread count update validation failed for %s=%d, %s", name, is, reason), "").Error()}
	}
	return nil
}

// checkMinInsync keeps min.insync.replicas one setting for the cluster, as
// eligible leader replicas (KIP-966) need it.
func checkMinInsync(r *Alteration, settings map[string]string, incremental bool) *Error {
	const name = "min.insync.replicas"
	touched := slices.ContainsFunc(r.Settings, func(s AlterSetting) bool { return s.Name == name })
	if r.Name != "" {
		if touched {
			return &Error{invalidConfig, "Broker-level min.insync.replicas cannot be altered while ELR is enabled."}
		}
		return nil
	}
	if _, ok := settings[name]; !ok && (touched || !incremental) {
		return &Error{invalidConfig, "Cluster-level min.insync.replicas cannot be removed while ELR is enabled."}
	}
	return nil
}

// checkBroker has the rules that tie settings of a broker together, at the start and dynamically.
func checkBroker(v *Values) error {
	if !slices.ContainsFunc(v.set, func(s setting) bool { return tied()[s.name] }) {
		return nil // Kafka's defaults keep the rules
	}
	return checkTied(v)
}

// tied are the settings that checkTied looks at.
var tied = sync.OnceValue(func() map[string]bool {
	names := map[string]bool{
		"log.roll.ms": true, "log.roll.jitter.ms": true, "log.retention.ms": true, "log.retention.minutes": true, "log.retention.hours": true,
		"log.cleaner.threads": true, "log.cleaner.dedupe.buffer.size": true, "max.connections.per.ip": true, "max.connections.per.ip.overrides": true,
		"group.coordinator.rebalance.protocols": true, "offsets.topic.compression.codec": true, "share.coordinator.state.topic.compression.codec": true,
		"group.share.assignors": true, "group.streams.num.standby.replicas": true, "group.streams.max.standby.replicas": true,
	}
	for _, kind := range groupKinds {
		names["group."+kind+".heartbeat.interval.ms"] = true
		names["group."+kind+".session.timeout.ms"] = true
		for _, l := range groupLimits()[kind] {
			names[l.least], names[l.usual], names[l.most] = true, true, true
		}
	}
	return names
})

func checkTied(v *Values) error {
	require := func(ok bool, text string) error {
		if ok {
			return nil
		}
		return refusal("requirement failed: " + text)
	}
	unlimited := func(name string) bool { return !v.IsSet(name) || v.Int64(name) == -1 || v.Int64(name) >= 1 }
	atLeast := func(name string, n int64) bool { return !v.IsSet(name) || v.Int64(name) >= n }
	for _, err := range []error{
		require(atLeast("log.roll.ms", 1), "log.roll.ms must be greater than or equal to 1"),
		require(atLeast("log.roll.jitter.ms", 0), "log.roll.jitter.ms must be greater than or equal to 0"),
		require(unlimited("log.retention.ms"), "log.retention.ms must be unlimited (-1) or, greater than or equal to 1"),
		require(unlimited("log.retention.minutes"), "log.retention.minutes must be unlimited (-1) or, greater than or equal to 1"),
		require(unlimited("log.retention.hours"), "log.retention.hours must be unlimited (-1) or, greater than or equal to 1"),
		require(v.Int("log.cleaner.threads") == 0 || v.Int64("log.cleaner.dedupe.buffer.size")/v.Int64("log.cleaner.threads") > 1<<20,
			"log.cleaner.dedupe.buffer.size must be at least 1MB per cleaner thread."),
		require(v.Int("max.connections.per.ip") > 0 || v.String("max.connections.per.ip.overrides") != "",
			"max.connections.per.ip can be set to zero only if max.connections.per.ip.overrides property is set."),
	} {
		if err != nil {
			return err
		}
	}
	if err := checkOverrides(v.String("max.connections.per.ip.overrides")); err != nil {
		return err
	}
	if !slices.Contains(v.List("group.coordinator.rebalance.protocols"), "classic") {
		return refusal("group.coordinator.rebalance.protocols: Disabling the 'classic' protocol is not supported.")
	}
	for _, codec := range []string{"offsets.topic.compression.codec", "share.coordinator.state.topic.compression.codec"} {
		if id := v.Int(codec); id < 0 || id > 4 {
			return refusal(fmt.Sprintf("%s: Unknown compression type id: %d", codec, id))
		}
	}
	for _, kind := range groupKinds {
		if err := checkGroupLimits(v, kind); err != nil {
			return err
		}
	}
	if n := len(v.List("group.share.assignors")); n != 1 {
		return refusal(fmt.Sprintf("group.share.assignors must contain exactly one assignor, but found %d", n))
	}
	if v.Int("group.streams.num.standby.replicas") > v.Int("group.streams.max.standby.replicas") {
		return refusal("group.streams.num.standby.replicas must be less than or equal to group.streams.max.standby.replicas")
	}
	return nil
}

// checkOverrides reads "host:count,host:count".
func checkOverrides(overrides string) error {
	if overrides == "" {
		return nil
	}
	for _, entry := range splitList(overrides) {
		colon := strings.LastIndexByte(entry, ':')
		if colon < 0 {
			return refusal(fmt.Sprintf("Error parsing configuration property 'max.connections.per.ip.overrides': %s is not of the form host:count", entry))
		}
		if _, err := strconv.ParseInt(strings.TrimSpace(entry[colon+1:]), 10, 32); err != nil {
			return refusal(fmt.Sprintf("Error parsing configuration property 'max.connections.per.ip.overrides': %s is no number", entry[colon+1:]))
		}
	}
	return nil
}

// groupKinds are the kinds of groups that have settings of their own, as their names have them.
var groupKinds = []string{"consumer", "share", "streams"}

// groupLimits are, by the kind of group, the names of the settings with a smallest and a largest value.
var groupLimits = sync.OnceValue(func() map[string][]groupLimit {
	all := map[string][]groupLimit{}
	for _, kind := range groupKinds {
		prefix := "group." + kind + "."
		for _, what := range []string{"heartbeat.interval.ms", "session.timeout.ms", "assignment.interval.ms",
			"record.lock.duration.ms", "delivery.count.limit", "partition.max.record.locks"} {
			l := groupLimit{prefix + "min." + what, prefix + what, prefix + "max." + what}
			if brokerDefs().byName[l.least] != nil && brokerDefs().byName[l.most] != nil {
				all[kind] = append(all[kind], l)
			}
		}
	}
	return all
})

type groupLimit struct{ least, usual, most string }

// checkGroupLimits: the smallest, usual and largest value of the groups' settings
// are in this order, and a member beats more than once in its session.
func checkGroupLimits(v *Values, kind string) error {
	prefix := "group." + kind + "."
	for _, l := range groupLimits()[kind] {
		least, usual, most := v.Int(l.least), v.Int(l.usual), v.Int(l.most)
		switch {
		case most < least:
			return refusal(l.most + " must be greater than or equal to " + l.least)
		case usual < least:
			return refusal(l.usual + " must be greater than or equal to " + l.least)
		case usual > most:
			return refusal(l.usual + " must be less than or equal to " + l.most)
		}
	}
	if beat, session := prefix+"heartbeat.interval.ms", prefix+"session.timeout.ms"; v.Int(beat) >= v.Int(session) {
		return refusal(beat + " must be less than " + session)
	}
	return nil
}
