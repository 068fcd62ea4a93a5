package broker

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/internal/wire"
)

// DescribeCluster, key 60, versions 0-2 (KIP-700).
//   v1: endpoint type (KIP-919); v2: fenced brokers (KIP-1073), which are our stopped ones.

const (
	endpointBrokers     = 1
	endpointControllers = 2
)

func (r *request) describeCluster() (answer, error) {
	req := r.body.(*kmsg.DescribeClusterRequest)
	if r.version >= 1 {
		switch req.EndpointType {
		case endpointBrokers:
		case endpointControllers:
			return describeClusterError(req, wire.MismatchedEndpointType, "The request was sent to an endpoint of the wrong type."), nil
		default:
			return describeClusterError(req, wire.UnsupportedEndpointType, "Unsupported endpoint type"), nil
		}
	}
	m := r.cluster.meta.Load()
	resp := req.ResponseKind().(*kmsg.DescribeClusterResponse)
	resp.ClusterID = r.cluster.id
	resp.ControllerID = r.cluster.controller(m)
	resp.EndpointType = endpointBrokers
	for _, n := range m.nodes {
		if !n.alive && !req.IncludeFencedBrokers {
			continue
		}
		b := kmsg.NewDescribeClusterResponseBroker()
		b.NodeID, b.Host, b.Port, b.Rack, b.IsFenced = n.id, r.brokerHost(n), n.port, rackPtr(n.rack), !n.alive
		resp.Brokers = append(resp.Brokers, b)
	}
	resp.ClusterAuthorizedOperations = noOperations
	if req.IncludeClusterAuthorizedOperations {
		resp.ClusterAuthorizedOperations = clusterOperations
	}
	return resp, nil
}

func describeClusterError(req *kmsg.DescribeClusterRequest, code wire.Code, text string) *kmsg.DescribeClusterResponse {
	resp := req.ResponseKind().(*kmsg.DescribeClusterResponse)
	resp.ErrorCode, resp.ErrorMessage = int16(code), message(text)
	resp.ControllerID, resp.EndpointType = -1, endpointBrokers
	resp.ClusterAuthorizedOperations = noOperations
	return resp
}
