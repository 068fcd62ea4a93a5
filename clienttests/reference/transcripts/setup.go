package main

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"maps"
	"net"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

var freshRE = regexp.MustCompile(`\$(\{)?((?:group|topic|txn)[0-9]*)\b`)

// freshNames gives every placeholder of a group, topic or transactional id in the file a name that no run had before. It answers the
// groups' placeholders.
func (r *runner) freshNames(raw []byte) (groups []string) {
	run := randHex(4)
	for _, m := range freshRE.FindAllStringSubmatch(string(raw), -1) {
		name := "$" + m[2]
		if _, ok := r.env.vals[name]; ok || strings.HasSuffix(m[2], "_id") {
			continue
		}
		kind := strings.TrimRight(m[2], "0123456789")
		r.env.vals[name] = fmt.Sprintf("%s-%s-%s", kind, run, m[2])
		if kind == "group" {
			groups = append(groups, name)
		}
	}
	return groups
}

func randHex(n int) string {
	b := make([]byte, n)
	rand.Read(b)
	return hex.EncodeToString(b)
}

// setUp does what comes before the first step: topics are made, blobs built, and the coordinators of all groups and transactional ids waited for.
func (r *runner) setUp(groups []string) error {
	if err := r.topics(); err != nil {
		return fmt.Errorf("setup: %w", err)
	}
	if err := r.blobs(); err != nil {
		return err
	}
	for _, n := range groups {
		if err := r.ready(r.env.vals[n]); err != nil {
			return fmt.Errorf("setup of %s (the player asks FindCoordinator v4, then DescribeGroups v5 until it answers without error): %w", n, err)
		}
	}
	for n, v := range r.env.vals {
		if strings.HasPrefix(n, "$txn") && v != "" {
			if err := r.readyTxn(v); err != nil {
				return fmt.Errorf("setup of %s (the player asks FindCoordinator v4, then DescribeTransactions v0 until it answers twice): %w", n, err)
			}
		}
	}
	return nil
}

// blobs builds the scenario's byte values, in the order of their names.
func (r *runner) blobs() error {
	for _, n := range slices.Sorted(maps.Keys(r.sc.Blobs)) {
		j, err := parseJSON(r.sc.Blobs[n])
		if err != nil {
			return err
		}
		if j, err = r.env.subst(j); err != nil {
			return err
		}
		b, err := makeBlob(j)
		if err != nil {
			return fmt.Errorf("blob %s: %w", n, err)
		}
		r.env.vals[n] = bytesToText(b)
	}
	return nil
}

// topics makes the scenario's topics and waits until their leaders serve them, so that no step meets a broker that is still learning of them.
func (r *runner) topics() error {
	if len(r.sc.Topics) == 0 {
		return nil
	}
	req := kmsg.NewPtrCreateTopicsRequest()
	req.Version = 7
	req.TimeoutMillis = 10000
	for _, t := range r.sc.Topics {
		n, err := r.env.subst(t.Name)
		if err != nil {
			return err
		}
		rt := kmsg.NewCreateTopicsRequestTopic()
		rt.Topic, rt.NumPartitions, rt.ReplicationFactor = n.(string), t.Partitions, 1
		for k, v := range t.Configs {
			c := kmsg.NewCreateTopicsRequestTopicConfig()
			c.Name, c.Value = k, kmsg.StringPtr(v)
			rt.Configs = append(rt.Configs, c)
		}
		req.Topics = append(req.Topics, rt)
	}
	resp, _, err := r.call("setup", r.bootstrap, req, 15*time.Second)
	if err != nil {
		return err
	}
	for _, t := range resp.(*kmsg.CreateTopicsResponse).Topics {
		if t.ErrorCode != 0 {
			return fmt.Errorf("create topic %s: error %d", t.Topic, t.ErrorCode)
		}
		for n, v := range r.env.vals {
			if v == t.Topic {
				r.env.vals[n+"_id"] = uuidToText(t.TopicID)
				break
			}
		}
	}
	deadline := time.Now().Add(15 * time.Second)
	for {
		m := kmsg.NewPtrMetadataRequest()
		m.Version = 12
		for _, t := range req.Topics {
			mt := kmsg.NewMetadataRequestTopic()
			mt.Topic = kmsg.StringPtr(t.Topic)
			m.Topics = append(m.Topics, mt)
		}
		resp, _, err := r.call("setup", r.bootstrap, m, 10*time.Second)
		if err != nil {
			return err
		}
		ok := true
		for _, t := range resp.(*kmsg.MetadataResponse).Topics {
			ok = ok && t.ErrorCode == 0 && len(t.Partitions) > 0
			for _, p := range t.Partitions {
				ok = ok && p.ErrorCode == 0 && p.Leader >= 0
			}
		}
		if ok {
			ok = r.leadersReady(req.Topics) // the metadata is a moment ahead of the leader's own view
		}
		if ok {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("topics not ready")
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// coordinator gives the address of the coordinator of a group (kind 0) or a transactional id (kind 1). It is asked for once in a run.
func (r *runner) coordinator(kind int8, key string) (string, error) {
	ck := fmt.Sprintf("%d/%s", kind, key)
	if a, ok := r.coord[ck]; ok {
		return a, nil
	}
	deadline := time.Now().Add(20 * time.Second)
	for {
		req := kmsg.NewPtrFindCoordinatorRequest()
		req.Version = 4
		req.CoordinatorType = kind
		req.CoordinatorKeys = []string{key}
		resp, _, err := r.call("setup", r.bootstrap, req, 10*time.Second)
		if err != nil {
			return "", err
		}
		cs := resp.(*kmsg.FindCoordinatorResponse).Coordinators
		if len(cs) == 1 && cs[0].ErrorCode == 0 {
			a := net.JoinHostPort(cs[0].Host, strconv.Itoa(int(cs[0].Port)))
			r.coord[ck] = a
			return a, nil
		}
		if time.Now().After(deadline) {
			return "", fmt.Errorf("no coordinator for %q", key)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// ready waits until the coordinator of a group answers for it.
func (r *runner) ready(group string) error {
	addr, err := r.coordinator(0, group)
	if err != nil {
		return err
	}
	deadline := time.Now().Add(20 * time.Second)
	for {
		req := kmsg.NewPtrDescribeGroupsRequest()
		req.Version = 5
		req.Groups = []string{group}
		resp, _, err := r.call("setup", addr, req, 10*time.Second)
		if err != nil {
			return err
		}
		switch code := resp.(*kmsg.DescribeGroupsResponse).Groups[0].ErrorCode; code {
		case 14, 15, 16:
			if time.Now().After(deadline) {
				return fmt.Errorf("coordinator not ready: error %d", code)
			}
			time.Sleep(100 * time.Millisecond)
		default:
			return nil
		}
	}
}

// target picks the broker a request goes to: the coordinator its group or transactional id names, else the bootstrap.
func (r *runner) target(req kmsg.Request) (string, error) {
	v := reflect.ValueOf(req).Elem()
	key := ""
	var kind int8
	switch req.(type) {
	case *kmsg.FindCoordinatorRequest, *kmsg.ListGroupsRequest, *kmsg.MetadataRequest, *kmsg.CreateTopicsRequest, *kmsg.DeleteTopicsRequest:
		return r.bootstrap, nil
	}
	if f := v.FieldByName("Group"); f.IsValid() && f.Kind() == reflect.String {
		key = f.String()
	}
	if f := v.FieldByName("GroupID"); key == "" && f.IsValid() && f.Kind() == reflect.String {
		key = f.String()
	}
	if f := v.FieldByName("Groups"); key == "" && f.IsValid() && f.Kind() == reflect.Slice && f.Len() > 0 {
		switch e := f.Index(0); e.Kind() {
		case reflect.String:
			key = e.String()
		case reflect.Struct:
			if g := e.FieldByName("Group"); g.IsValid() {
				key = g.String()
			}
		}
	}
	if f := v.FieldByName("TransactionalID"); f.IsValid() {
		if _, isOffsets := req.(*kmsg.TxnOffsetCommitRequest); !isOffsets {
			kind, key = 1, ""
			if f.Kind() == reflect.Ptr {
				if !f.IsNil() {
					key = f.Elem().String()
				}
			} else {
				key = f.String()
			}
		}
	}
	if key == "" {
		return r.bootstrap, nil
	}
	return r.coordinator(kind, key)
}
