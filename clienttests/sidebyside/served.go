package main

import (
	"fmt"

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
