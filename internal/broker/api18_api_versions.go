package broker

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/internal/wire"
)

// ApiVersions, key 18, versions 0-4 (KIP-35, KIP-511).
//   v3: flexible; the client's software name and version.
//   v4: features may have minimum 0 in the answer.

// softwareName tells whether a client's software name or version has the form that KIP-511 asks for: letters and digits of ASCII, with hyphens and points
// between them. Every connection asks it twice, so it is no regular expression.
func softwareName(s string) bool {
	for i, c := range []byte(s) {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		case (c == '-' || c == '.') && 0 < i && i < len(s)-1:
		default:
			return false
		}
	}
	return s != ""
}

func (r *request) apiVersions() (answer, error) {
	req := r.body.(*kmsg.ApiVersionsRequest)
	resp := req.ResponseKind().(*kmsg.ApiVersionsResponse)
	if r.version >= 3 {
		if !softwareName(req.ClientSoftwareName) || !softwareName(req.ClientSoftwareVersion) {
			resp.ErrorCode = int16(wire.InvalidRequest)
			return resp, nil
		}
		r.conn.software, r.conn.softwareVersion = req.ClientSoftwareName, req.ClientSoftwareVersion
	}
	resp.ApiKeys = make([]kmsg.ApiVersionsResponseApiKey, 0, maxKey)
	for k := range wire.Key(maxKey) {
		min, max, ok := wire.Advertised(k)
		if !ok || r.cluster.handlers[k] == nil {
			continue
		}
		a := kmsg.NewApiVersionsResponseApiKey()
		a.ApiKey, a.MinVersion, a.MaxVersion = int16(k), min, max
		resp.ApiKeys = append(resp.ApiKeys, a)
	}
	if r.version >= 3 {
		r.features(resp)
	}
	return resp, nil
}

func (r *request) features(resp *kmsg.ApiVersionsResponse) {
	resp.FinalizedFeaturesEpoch = r.cluster.meta.Load().version
	features := wire.Features()
	resp.SupportedFeatures = make([]kmsg.ApiVersionsResponseSupportedFeature, 0, len(features))
	resp.FinalizedFeatures = make([]kmsg.ApiVersionsResponseFinalizedFeature, 0, len(features))
	for _, f := range features {
		if r.version >= 4 || f.Min > 0 { // v3 clients choke on a minimum of 0 (KAFKA-17011)
			s := kmsg.NewApiVersionsResponseSupportedFeature()
			s.Name, s.MinVersion, s.MaxVersion = f.Name, f.Min, f.Max
			resp.SupportedFeatures = append(resp.SupportedFeatures, s)
		}
		if level := r.cluster.finalized(f); level > 0 {
			s := kmsg.NewApiVersionsResponseFinalizedFeature()
			s.Name, s.MinVersionLevel, s.MaxVersionLevel = f.Name, level, level
			resp.FinalizedFeatures = append(resp.FinalizedFeatures, s)
		}
	}
}

// apiVersionsUnsupported answers an ApiVersions of a version that isn't known, in the v0 form, so that the client can ask again.
func apiVersionsUnsupported() answer {
	resp := kmsg.NewPtrApiVersionsResponse()
	resp.ErrorCode = int16(wire.UnsupportedVersion)
	a := kmsg.NewApiVersionsResponseApiKey()
	a.ApiKey = int16(wire.ApiVersions)
	_, a.MaxVersion, _ = wire.Advertised(wire.ApiVersions)
	resp.ApiKeys = append(resp.ApiKeys, a)
	return resp
}
