package broker

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/internal/wire"
)

// DescribeCluster, key 60, versions 0-2 (KIP-700).
//   v1: endpoint type (KIP-919); v2: fenced brokers.
// A stopped broker of ours is gone, not fenced.

func (r *request) describeCluster() (answer, error) {
	req := r.body.(*kmsg.DescribeClusterRequest)
	resp := req.ResponseKind().(*kmsg.DescribeClusterResponse)
	resp.ClusterAuthorizedOperations = noOperations
	if r.version >= 1 && req.EndpointType != 1 {
		code, text := wire.UnsupportedEndpointType, "Unsupported endpoint type"
		if req.EndpointType == 2 {
			code, text = wire.MismatchedEndpointType, "The request was sent to an endpoint of the wrong type."
		}
		resp.ErrorCode, resp.ErrorMessage = int16(code), &text
		return resp, nil
	}
	m := r.cluster.meta.Load()
	resp.ClusterID = r.cluster.id
	resp.ControllerID = r.cluster.controller(m)
	resp.EndpointType = 1
	for _, n := range m.nodes {
		if !n.alive {
			continue
		}
		b := kmsg.NewDescribeClusterResponseBroker()
		b.NodeID, b.Host, b.Port, b.Rack = n.id, n.host, n.port, rackPtr(n.rack)
		resp.Brokers = append(resp.Brokers, b)
	}
	if req.IncludeClusterAuthorizedOperations {
		resp.ClusterAuthorizedOperations = clusterOperations
	}
	return resp, nil
}
