package main

import (
	"fmt"
	"strconv"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// servedBy asks a broker which versions of each API it serves.
func servedBy(addr string) (versions, error) {
	c, err := dial(addr)
	if err != nil {
		return nil, err
	}
	defer c.close()
	q := kmsg.NewPtrApiVersionsRequest()
	c.send(frameOf(q))
	r, err := decode(q, c.await(answerLimit).frame)
	if err != nil {
		return nil, fmt.Errorf("%s: ApiVersions: %w", addr, err)
	}
	served := versions{}
	for _, k := range r.(*kmsg.ApiVersionsResponse).ApiKeys {
		served[k.ApiKey] = [2]int16{k.MinVersion, k.MaxVersion}
	}
	return served, nil
}

// alike are settings of the broker that fakekafka is given as Kafka has them: times that are long unless one is started for lifeArea or expiryArea.
var alike = []string{"group.min.session.timeout.ms", "offsets.retention.check.interval.ms", "transaction.abort.timed.out.transaction.cleanup.interval.ms"}

// settingsOf asks a broker for the settings that are to be alike.
func settingsOf(addr string) (map[string]string, error) {
	c, err := dial(addr)
	if err != nil {
		return nil, err
	}
	defer c.close()
	metadata := kmsg.NewPtrMetadataRequest()
	metadata.Version, metadata.Topics = 4, []kmsg.MetadataRequestTopic{}
	c.send(frameOf(metadata))
	m, err := decode(metadata, c.await(answerLimit).frame)
	if err != nil {
		return nil, fmt.Errorf("%s: Metadata: %w", addr, err)
	}
	q := kmsg.NewPtrDescribeConfigsRequest()
	q.Version = 4
	r := kmsg.NewDescribeConfigsRequestResource()
	r.ResourceType, r.ConfigNames = kmsg.ConfigResourceTypeBroker, alike
	for _, b := range m.(*kmsg.MetadataResponse).Brokers {
		r.ResourceName = strconv.Itoa(int(b.NodeID))
	}
	q.Resources = append(q.Resources, r)
	c.send(frameOf(q))
	a, err := decode(q, c.await(answerLimit).frame)
	if err != nil {
		return nil, fmt.Errorf("%s: DescribeConfigs: %w", addr, err)
	}
	found := map[string]string{}
	for _, of := range a.(*kmsg.DescribeConfigsResponse).Resources {
		for _, setting := range of.Configs {
			if setting.Value != nil {
				found[setting.Name] = *setting.Value
			}
		}
	}
	return found, nil
}
