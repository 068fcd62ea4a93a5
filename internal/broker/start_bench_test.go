package broker

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// BenchmarkStartClose is the life of a cluster that no client comes to, by its number of brokers; start-ns and close-ns are the medians of its two halves.
func BenchmarkStartClose(b *testing.B) {
	for _, brokers := range []int{1, 3} {
		b.Run(fmt.Sprintf("brokers=%d", brokers), func(b *testing.B) {
			var starts, closes []time.Duration
			b.ReportAllocs()
			for b.Loop() {
				t0 := time.Now()
				c := benchCluster(b, brokers)
				t1 := time.Now()
				if err := c.Close(); err != nil {
					b.Fatal(err)
				}
				starts, closes = append(starts, t1.Sub(t0)), append(closes, time.Since(t1))
			}
			b.ReportMetric(float64(median(starts)), "start-ns")
			b.ReportMetric(float64(median(closes)), "close-ns")
		})
	}
}

// BenchmarkFirstRecord starts a cluster, gets a record through it over one bare connection, and closes it under that connection.
func BenchmarkFirstRecord(b *testing.B) {
	batch := oneBatch(b, 1, 100)
	var firsts, closes []time.Duration
	b.ReportAllocs()
	for b.Loop() {
		t0 := time.Now()
		c := benchCluster(b, 1)
		raw := dialRaw(b, c)
		raw.ask(kmsg.NewPtrApiVersionsRequest())
		raw.ask(topicsRequest("t"))
		raw.produce("t", 0, batch)
		if got := raw.ask(fetchRequest("t", time.Second, 0)).(*kmsg.FetchResponse); len(got.Topics[0].Partitions[0].RecordBatches) == 0 {
			b.Fatal("no record")
		}
		t1 := time.Now()
		if err := c.Close(); err != nil {
			b.Fatal(err)
		}
		firsts, closes = append(firsts, t1.Sub(t0)), append(closes, time.Since(t1))
		raw.nc.Close()
	}
	b.ReportMetric(float64(median(firsts)), "first-ns")
	b.ReportMetric(float64(median(closes)), "close-ns")
}

func benchCluster(b *testing.B, brokers int) *Cluster {
	c, err := New(Options{Brokers: brokers, Topics: []TopicSpec{{Name: "t", Partitions: 1}}})
	if err != nil {
		b.Fatal(err)
	}
	return c
}

func median(ds []time.Duration) time.Duration {
	slices.Sort(ds)
	return ds[len(ds)/2]
}

// BenchmarkFirstGroup is what the first group costs a cluster: its coordinator's topic and shards.
func BenchmarkFirstGroup(b *testing.B) {
	var finds []time.Duration
	b.ReportAllocs()
	for b.Loop() {
		c := benchCluster(b, 1)
		raw := dialRaw(b, c)
		req := kmsg.NewPtrFindCoordinatorRequest()
		req.Version, req.CoordinatorKeys = 4, []string{"g"}
		t0 := time.Now()
		if got := raw.ask(req).(*kmsg.FindCoordinatorResponse); len(got.Coordinators) != 1 {
			b.Fatal("no answer")
		}
		finds = append(finds, time.Since(t0))
		raw.nc.Close()
		if err := c.Close(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(median(finds)), "find-ns")
}
