package broker

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/internal/wire"
)

// DescribeClientQuotas, key 48, versions 0-1, and AlterClientQuotas, key 49, versions 0-1 (KIP-546). v1: flexible.

func (r *request) describeClientQuotas() (answer, error) {
	req := r.body.(*kmsg.DescribeClientQuotasRequest)
	filter := make([]quotaMatch, len(req.Components))
	for i, m := range req.Components {
		filter[i] = quotaMatch{m.EntityType, int8(m.MatchType), m.Match}
	}
	if err := checkQuotaFilter(filter); err != nil {
		return errorWithText(req, err.code, err.text), nil
	}
	return onLoop(r.cluster, func() answer {
		resp := req.ResponseKind().(*kmsg.DescribeClientQuotasResponse)
		resp.ErrorMessage = kmsg.StringPtr("")
		resp.Entries = []kmsg.DescribeClientQuotasResponseEntry{} // null is for errors
		for _, e := range r.cluster.quotas.find(filter, req.Strict) {
			out := kmsg.NewDescribeClientQuotasResponseEntry()
			for _, p := range e.parts {
				o := kmsg.NewDescribeClientQuotasResponseEntryEntity()
				o.Type, o.Name = p.kind, p.name
				out.Entity = append(out.Entity, o)
			}
			for _, k := range sortedKeys(e.values) {
				o := kmsg.NewDescribeClientQuotasResponseEntryValue()
				o.Key, o.Value = k, e.values[k]
				out.Values = append(out.Values, o)
			}
			resp.Entries = append(resp.Entries, out)
		}
		return resp
	})
}

func (r *request) alterClientQuotas() (answer, error) {
	req := r.body.(*kmsg.AlterClientQuotasRequest)
	return onLoop(r.cluster, func() answer {
		resp := req.ResponseKind().(*kmsg.AlterClientQuotasResponse)
		seen := map[string]int{} // entity -> its place in the answer
		for _, w := range req.Entries {
			parts := make([]quotaPart, len(w.Entity))
			for i, p := range w.Entity {
				parts[i] = quotaPart{p.Type, p.Name}
			}
			ops := make([]quotaOp, len(w.Ops))
			for i, o := range w.Ops {
				ops[i] = quotaOp{o.Key, o.Value, o.Remove}
			}
			e, err := newQuotaEntity(parts)
			if first, twice := seen[e.key()]; twice { // the first has taken effect already, if it was right
				resp.Entries[first] = quotaResult(e.wire(), refuse(wire.InvalidRequest, "Attempting to alter a client quota entity more than once in the same request."))
				continue
			}
			seen[e.key()] = len(resp.Entries)
			if err == nil {
				err = e.check(ops)
			}
			if err == nil && !req.ValidateOnly {
				r.cluster.quotas.alter(e, ops)
			}
			resp.Entries = append(resp.Entries, quotaResult(e.wire(), err))
		}
		r.cluster.quotas.publish(r.cluster)
		return resp
	})
}

// wire is the entity as an answer names it.
func (e *quotaEntity) wire() []kmsg.AlterClientQuotasRequestEntryEntity {
	var parts []kmsg.AlterClientQuotasRequestEntryEntity
	for _, p := range e.parts {
		o := kmsg.NewAlterClientQuotasRequestEntryEntity()
		o.Type, o.Name = p.kind, p.name
		parts = append(parts, o)
	}
	return parts
}

func quotaResult(entity []kmsg.AlterClientQuotasRequestEntryEntity, err *topicError) kmsg.AlterClientQuotasResponseEntry {
	out := kmsg.NewAlterClientQuotasResponseEntry()
	if err != nil {
		out.ErrorCode, out.ErrorMessage = int16(err.code), message(err.text)
	}
	for _, p := range entity {
		o := kmsg.NewAlterClientQuotasResponseEntryEntity()
		o.Type, o.Name = p.Type, p.Name
		out.Entity = append(out.Entity, o)
	}
	return out
}
