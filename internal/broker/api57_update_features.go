package broker

import (
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/internal/wire"
)

// UpdateFeatures, key 57, versions 0-2 (KIP-584). v1: upgrade types, validate only; v2: no results of single features.
// A level here changes what ApiVersions tells, and with it what clients do; a feature at level 0 has its APIs switched off.

const (
	featureUpgrade         = 1
	featureSafeDowngrade   = 2
	featureUnsafeDowngrade = 3
)

// finalized is the level of a feature that is in force.
func (c *Cluster) finalized(f wire.Feature) int16 {
	if levels := c.features.Load(); levels != nil {
		if level, changed := (*levels)[f.Name]; changed {
			return level
		}
	}
	return f.Finalized
}

func featureNamed(name string) (wire.Feature, bool) {
	all := wire.Features()
	i := slices.IndexFunc(all, func(f wire.Feature) bool { return f.Name == name })
	if i < 0 {
		return wire.Feature{}, false
	}
	return all[i], true
}

// withFeature serves an API only while a feature is not at level 0.
func withFeature(name string, fn handler) handler {
	f, ok := featureNamed(name)
	if !ok {
		panic("broker: no feature " + name)
	}
	return func(r *request) (answer, error) {
		if r.cluster.finalized(f) == 0 {
			return errorForm(r, wire.UnsupportedVersion), nil
		}
		return fn(r)
	}
}

// withConsumerProtocol serves an API of KIP-848 only where its feature and group.coordinator.rebalance.protocols allow it. That
// comes before the question whether this broker coordinates the group.
func withConsumerProtocol(fn handler) handler {
	return withFeature("group.version", func(r *request) (answer, error) {
		if !r.cluster.groups.consumerProtocol {
			return errorForm(r, wire.UnsupportedVersion), nil
		}
		return fn(r)
	})
}

func (r *request) updateFeatures() (answer, error) {
	req := r.body.(*kmsg.UpdateFeaturesRequest)
	return onLoop(r.cluster, func() answer {
		c := r.cluster
		resp := req.ResponseKind().(*kmsg.UpdateFeaturesResponse)
		levels := map[string]int16{}
		if old := c.features.Load(); old != nil {
			maps.Copy(levels, *old)
		}
		for _, u := range req.FeatureUpdates {
			kind := u.UpgradeType
			if r.version == 0 {
				kind = featureUpgrade // whatever AllowDowngrade says
			}
			if err := c.checkFeature(u.Feature, u.MaxVersionLevel, kind); err != nil {
				return errorWithText(req, err.code, "The update failed for all features since the following feature had an error: "+err.text)
			}
			levels[u.Feature] = u.MaxVersionLevel
			o := kmsg.NewUpdateFeaturesResponseResult()
			o.Feature, o.ErrorMessage = u.Feature, kmsg.StringPtr("NONE")
			resp.Results = append(resp.Results, o)
		}
		if !req.ValidateOnly {
			c.features.Store(&levels)
			c.change(func(*metadata) {}) // the epoch of the features grows
		}
		return resp
	})
}

// checkFeature tells whether a feature may be set to a level. On the loop.
func (c *Cluster) checkFeature(name string, level int16, kind int8) *topicError {
	f, ok := featureNamed(name)
	now := c.finalized(f)
	switch {
	case kind < featureUpgrade || kind > featureUnsafeDowngrade:
		return refuse(wire.InvalidUpdateVersion, "Invalid update version %d for feature %s. The controller does not support the given upgrade type.", level, name)
	case !ok:
		return refuse(wire.InvalidUpdateVersion, "Invalid update version %d for feature %s. Local controller %d does not support this feature.", level, name, c.controller(c.meta.Load()))
	case level < f.Min || level > f.Max:
		return refuse(wire.InvalidUpdateVersion, "Invalid update version %d for feature %s. Local controller %d only supports versions %d-%d", level, name, c.controller(c.meta.Load()), f.Min, f.Max)
	case level < now && kind == featureUpgrade:
		return refuse(wire.InvalidUpdateVersion, "Invalid update version %d for feature %s. Can't downgrade the version of this feature without setting the upgrade type to either safe or unsafe downgrade.", level, name)
	case level > now && kind != featureUpgrade:
		return refuse(wire.InvalidUpdateVersion, "Invalid update version %d for feature %s. Can't downgrade to a newer version.", level, name)
	case level != now && name == "metadata.version":
		return refuse(wire.InvalidUpdateVersion, "Unsupported metadata.version downgrade from %d to %d. There is no metadata log here whose format could change.", now, level)
	case level < now && name == "kraft.version":
		return refuse(wire.InvalidUpdateVersion, "Invalid update version %d for feature %s. Can't downgrade the version of this feature.", level, name)
	}
	return nil
}
