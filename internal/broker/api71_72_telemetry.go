package broker

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/internal/wire"
)

// GetTelemetrySubscriptions, key 71, version 0, and PushTelemetry, key 72, version 0 (KIP-714). Answered, but not advertised: clients
// send them only where a broker has a receiver for metrics, and this one has none.

func (r *request) getTelemetrySubscriptions() (answer, error) {
	req := r.body.(*kmsg.GetTelemetrySubscriptionsRequest)
	return onLoop(r.cluster, func() answer {
		c := r.cluster
		id := req.ClientInstanceID
		if id == ([16]byte{}) {
			id = c.uuid()
		}
		i := c.telemetry.instance(r, id)
		if code := i.get(c.clock.Now()); code != wire.None {
			return errorResponse(req, code)
		}
		resp := req.ResponseKind().(*kmsg.GetTelemetrySubscriptionsResponse)
		resp.ClientInstanceID = id
		resp.SubscriptionID = i.subscription.id
		resp.AcceptedCompressionTypes = telemetryCompressions
		resp.PushIntervalMillis = int32(i.subscription.interval.Milliseconds())
		resp.TelemetryMaxBytes = c.settings(r.node.id).Int32("telemetry.max.bytes")
		resp.DeltaTemporality = true
		resp.RequestedMetrics = i.subscription.metrics
		return resp
	})
}

func (r *request) pushTelemetry() (answer, error) {
	req := r.body.(*kmsg.PushTelemetryRequest)
	// No client can push as 0, nor as 1, which was the metadata log's id.
	if id := req.ClientInstanceID; id == ([16]byte{}) || id == [16]byte{15: 1} {
		return errorForm(r, wire.InvalidRequest), nil
	}
	return onLoop(r.cluster, func() answer {
		c := r.cluster
		limit := c.settings(r.node.id).Int("telemetry.max.bytes")
		i := c.telemetry.instance(r, req.ClientInstanceID)
		return errorResponse(req, i.push(c.clock.Now(), req.Terminating, req.SubscriptionID, req.CompressionType, len(req.Metrics), limit))
	})
}
