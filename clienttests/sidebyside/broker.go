package main

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"time"

	"github.com/fakekafka/fakekafka/fakekafka"
)

// settings are those that apache-kafka/start.sh gives Kafka, and an assignor of consumer groups that doesn't wait.
var settings = map[string]string{
	"offsets.topic.num.partitions":          "4",
	"transaction.state.log.num.partitions":  "4",
	"group.initial.rebalance.delay.ms":      "0",
	"group.consumer.assignment.interval.ms": "0",
}

// startOurs starts the fakekafka that is compared. It says nothing of requests that it doesn't serve: their connections are
// closed, which is a difference like any other.
func startOurs(more map[string]string) (*fakekafka.Cluster, error) {
	opts := []fakekafka.Option{fakekafka.KafkaTimings()}
	for _, list := range []map[string]string{settings, more} {
		for name, value := range list {
			opts = append(opts, fakekafka.Config(name, value))
		}
	}
	return fakekafka.New(opts...)
}

// outcome is what became of a request.
type outcome struct {
	what  string // one of the constants below
	frame []byte // of an answer, without its size
}

const (
	answered = "an answer"
	closed   = "connection closed"
	silent   = "no answer"
)

// conn is a connection with at most one request under way.
type conn struct {
	tcp     net.Conn
	answers chan outcome // buffered: a reader that is left alone ends
}

func dial(addr string) (*conn, error) {
	tcp, err := net.DialTimeout("tcp", addr, 5*time.Second)
	if err != nil {
		return nil, err
	}
	return &conn{tcp: tcp}, nil
}

// send writes a frame; await tells what became of it.
func (c *conn) send(frame []byte) {
	c.answers = make(chan outcome, 1)
	go func(to chan<- outcome) {
		if _, err := c.tcp.Write(frame); err != nil {
			to <- outcome{what: closed}
			return
		}
		to <- c.read()
	}(c.answers)
}

func (c *conn) read() outcome {
	var size [4]byte
	if _, err := io.ReadFull(c.tcp, size[:]); err != nil {
		if errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, net.ErrClosed) {
			return outcome{what: silent}
		}
		return outcome{what: closed}
	}
	frame := make([]byte, binary.BigEndian.Uint32(size[:]))
	if _, err := io.ReadFull(c.tcp, frame); err != nil {
		return outcome{what: closed}
	}
	return outcome{answered, frame}
}

// await waits for the outcome; it is silent if none comes within d. It may be called again then.
func (c *conn) await(d time.Duration) outcome {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case o := <-c.answers:
		return o
	case <-t.C:
		return outcome{what: silent}
	}
}

func (c *conn) close() { c.tcp.Close() }
