package broker

import (
	"cmp"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/internal/wire"
)

// adminErrorForm is errorForm for the requests of administrators, of transactions and of brokers among themselves; nil for others.
// text stands where the API has a message.
func adminErrorForm(body kmsg.Request, code wire.Code, text string) kmsg.Response {
	for _, form := range []func(kmsg.Request, wire.Code, string) kmsg.Response{
		topicErrorForm, replicaErrorForm, clusterErrorForm, configErrorForm, securityErrorForm,
	} {
		if resp := form(body, code, text); resp != nil {
			return resp
		}
	}
	return transactionErrorForm(body, code)
}

// topicErrorForm: what topics there are.
func topicErrorForm(body kmsg.Request, code wire.Code, text string) kmsg.Response {
	switch req := body.(type) {
	case *kmsg.MetadataRequest:
		return metadataError(req, code)
	case *kmsg.FindCoordinatorRequest:
		return findCoordinatorError(req, code, text)
	case *kmsg.CreateTopicsRequest:
		resp := req.ResponseKind().(*kmsg.CreateTopicsResponse)
		for _, t := range req.Topics {
			resp.Topics = append(resp.Topics, createError(t.Topic, refuse(code, "%s", text)))
		}
		return resp
	case *kmsg.DeleteTopicsRequest: // without messages, though v5+ could carry them
		resp := req.ResponseKind().(*kmsg.DeleteTopicsResponse)
		for _, w := range namedTopics(req) {
			t := kmsg.NewDeleteTopicsResponseTopic()
			t.Topic, t.TopicID, t.ErrorCode = w.Topic, w.TopicID, int16(code)
			resp.Topics = append(resp.Topics, t)
		}
		return resp
	case *kmsg.CreatePartitionsRequest:
		resp := req.ResponseKind().(*kmsg.CreatePartitionsResponse)
		for _, w := range req.Topics {
			t := kmsg.NewCreatePartitionsResponseTopic()
			t.Topic, t.ErrorCode, t.ErrorMessage = w.Topic, int16(code), message(text)
			resp.Topics = append(resp.Topics, t)
		}
		return resp
	case *kmsg.DescribeTopicPartitionsRequest:
		resp := req.ResponseKind().(*kmsg.DescribeTopicPartitionsResponse)
		for _, w := range req.Topics {
			t := describeTopicError(w.Topic, code, noOperations)
			t.IsInternal = false
			resp.Topics = append(resp.Topics, t)
		}
		return resp
	}
	return nil
}

// replicaErrorForm: where the replicas of partitions are, and who leads.
func replicaErrorForm(body kmsg.Request, code wire.Code, text string) kmsg.Response {
	switch req := body.(type) {
	case *kmsg.ElectLeadersRequest:
		resp := req.ResponseKind().(*kmsg.ElectLeadersResponse)
		if len(req.Topics) == 0 || !aboutPartition(code) {
			resp.ErrorCode = int16(code)
		}
		for _, w := range req.Topics {
			t := kmsg.NewElectLeadersResponseTopic()
			t.Topic = w.Topic
			for _, p := range w.Partitions {
				t.Partitions = append(t.Partitions, electionResult(p, refuse(code, "%s", text)))
			}
			resp.Topics = append(resp.Topics, t)
		}
		return resp
	case *kmsg.AlterPartitionAssignmentsRequest:
		resp := req.ResponseKind().(*kmsg.AlterPartitionAssignmentsResponse)
		if !aboutPartition(code) {
			resp.ErrorCode, resp.ErrorMessage = int16(code), message(text)
		}
		for _, w := range req.Topics {
			t := kmsg.NewAlterPartitionAssignmentsResponseTopic()
			t.Topic = w.Topic
			for _, p := range w.Partitions {
				t.Partitions = append(t.Partitions, reassignmentResult(p.Partition, refuse(code, "%s", text)))
			}
			resp.Topics = append(resp.Topics, t)
		}
		return resp
	case *kmsg.ListPartitionReassignmentsRequest:
		resp := req.ResponseKind().(*kmsg.ListPartitionReassignmentsResponse)
		resp.ErrorCode, resp.ErrorMessage = int16(code), message(text)
		for _, w := range req.Topics {
			t := kmsg.NewListPartitionReassignmentsResponseTopic()
			t.Topic = w.Topic
			for _, p := range w.Partitions {
				o := kmsg.NewListPartitionReassignmentsResponseTopicPartition()
				o.Partition = p
				t.Partitions = append(t.Partitions, o)
			}
			resp.Topics = append(resp.Topics, t)
		}
		return resp
	case *kmsg.AlterReplicaLogDirsRequest:
		return alterLogDirsAnswer(req, func(_, _ string, _ int32) wire.Code { return code })
	}
	return nil
}

// aboutPartition tells of an error of an election or a reassignment whether it is one of a partition, and leaves the request as a whole without one.
func aboutPartition(code wire.Code) bool {
	switch code {
	case wire.UnknownTopicOrPartition, wire.ElectionNotNeeded, wire.PreferredLeaderNotAvailable, wire.EligibleLeadersNotAvailable,
		wire.NoReassignmentInProgress, wire.InvalidReplicaAssignment, wire.InvalidReplicationFactor:
		return true
	}
	return false
}

// clusterErrorForm: the requests that have their error at the top.
func clusterErrorForm(body kmsg.Request, code wire.Code, text string) kmsg.Response {
	switch req := body.(type) {
	case *kmsg.DescribeClusterRequest:
		return describeClusterError(req, code, text)
	case *kmsg.DescribeQuorumRequest:
		if code == wire.UnknownTopicOrPartition {
			return noQuorum(req)
		}
		return topError(body, code, text)
	case *kmsg.ApiVersionsRequest, *kmsg.UpdateFeaturesRequest, *kmsg.UnregisterBrokerRequest, *kmsg.AddRaftVoterRequest, *kmsg.RemoveRaftVoterRequest,
		*kmsg.GetTelemetrySubscriptionsRequest, *kmsg.PushTelemetryRequest, *kmsg.ListConfigResourcesRequest:
		return topError(body, code, text)
	}
	return nil
}

// configErrorForm: configs and quotas.
func configErrorForm(body kmsg.Request, code wire.Code, text string) kmsg.Response {
	always := cmp.Or(text, code.String()) // two APIs are never without a text
	switch req := body.(type) {
	case *kmsg.DescribeConfigsRequest:
		resp := req.ResponseKind().(*kmsg.DescribeConfigsResponse)
		for _, w := range req.Resources {
			o := kmsg.NewDescribeConfigsResponseResource()
			o.ResourceType, o.ResourceName, o.ErrorCode, o.ErrorMessage = w.ResourceType, w.ResourceName, int16(code), &always
			resp.Resources = append(resp.Resources, o)
		}
		return resp
	case *kmsg.AlterConfigsRequest:
		resp := req.ResponseKind().(*kmsg.AlterConfigsResponse)
		for _, w := range req.Resources {
			o := kmsg.NewAlterConfigsResponseResource()
			o.ResourceType, o.ResourceName, o.ErrorCode, o.ErrorMessage = w.ResourceType, w.ResourceName, int16(code), message(text)
			resp.Resources = append(resp.Resources, o)
		}
		return resp
	case *kmsg.IncrementalAlterConfigsRequest:
		resp := req.ResponseKind().(*kmsg.IncrementalAlterConfigsResponse)
		for _, w := range req.Resources {
			o := kmsg.NewIncrementalAlterConfigsResponseResource()
			o.ResourceType, o.ResourceName, o.ErrorCode, o.ErrorMessage = w.ResourceType, w.ResourceName, int16(code), message(text)
			resp.Resources = append(resp.Resources, o)
		}
		return resp
	case *kmsg.AlterClientQuotasRequest:
		resp := req.ResponseKind().(*kmsg.AlterClientQuotasResponse)
		for _, w := range req.Entries {
			resp.Entries = append(resp.Entries, quotaResult(w.Entity, refuse(code, "%s", always)))
		}
		return resp
	case *kmsg.DescribeClientQuotasRequest: // the entries are null, not empty
		return topError(body, code, text)
	}
	return nil
}

// securityErrorForm: who one is and what one may do.
func securityErrorForm(body kmsg.Request, code wire.Code, text string) kmsg.Response {
	switch req := body.(type) {
	case *kmsg.CreateACLsRequest:
		resp := req.ResponseKind().(*kmsg.CreateACLsResponse)
		for range req.Creations {
			o := kmsg.NewCreateACLsResponseResult()
			o.ErrorCode, o.ErrorMessage = int16(code), message(text)
			resp.Results = append(resp.Results, o)
		}
		return resp
	case *kmsg.DeleteACLsRequest:
		resp := req.ResponseKind().(*kmsg.DeleteACLsResponse)
		for range req.Filters {
			o := kmsg.NewDeleteACLsResponseResult()
			o.ErrorCode, o.ErrorMessage = int16(code), message(text)
			resp.Results = append(resp.Results, o)
		}
		return resp
	case *kmsg.CreateDelegationTokenRequest:
		return createTokenError(req, code)
	case *kmsg.RenewDelegationTokenRequest:
		resp := req.ResponseKind().(*kmsg.RenewDelegationTokenResponse)
		resp.ErrorCode, resp.ExpiryTimestamp = int16(code), -1
		return resp
	case *kmsg.ExpireDelegationTokenRequest:
		resp := req.ResponseKind().(*kmsg.ExpireDelegationTokenResponse)
		resp.ErrorCode, resp.ExpiryTimestamp = int16(code), -1
		return resp
	case *kmsg.DescribeUserSCRAMCredentialsRequest:
		resp := req.ResponseKind().(*kmsg.DescribeUserSCRAMCredentialsResponse)
		if len(req.Users) > 0 && (code == wire.ResourceNotFound || code == wire.DuplicateResource) { // about a user
			for _, u := range req.Users {
				o := kmsg.NewDescribeUserSCRAMCredentialsResponseResult()
				o.User, o.ErrorCode, o.ErrorMessage = u.Name, int16(code), message(text)
				resp.Results = append(resp.Results, o)
			}
			return resp
		}
		resp.ErrorCode, resp.ErrorMessage = int16(code), message(text)
		for range req.Users { // they have the error, too, but no names
			o := kmsg.NewDescribeUserSCRAMCredentialsResponseResult()
			o.ErrorCode, o.ErrorMessage = int16(code), message(text)
			resp.Results = append(resp.Results, o)
		}
		return resp
	case *kmsg.AlterUserSCRAMCredentialsRequest:
		resp := req.ResponseKind().(*kmsg.AlterUserSCRAMCredentialsResponse)
		for _, user := range alteredUsers(req) {
			resp.Results = append(resp.Results, scramResult(user, refuse(code, "%s", text)))
		}
		return resp
	case *kmsg.SASLHandshakeRequest, *kmsg.SASLAuthenticateRequest, *kmsg.DescribeACLsRequest, *kmsg.DescribeDelegationTokenRequest:
		return topError(body, code, text)
	}
	return nil
}

func transactionErrorForm(body kmsg.Request, code wire.Code) kmsg.Response {
	switch req := body.(type) {
	case *kmsg.AddPartitionsToTxnRequest:
		resp := req.ResponseKind().(*kmsg.AddPartitionsToTxnResponse)
		if req.Version >= 4 {
			if failsRequest(req, code) {
				resp.ErrorCode = int16(code)
				return resp
			}
			for _, txn := range req.Transactions {
				resp.Transactions = append(resp.Transactions, addedToTransaction(txn, false, func(string, int32) wire.Code { return code }))
			}
			return resp
		}
		for _, w := range req.Topics {
			t := kmsg.NewAddPartitionsToTxnResponseTopic()
			t.Topic = w.Topic
			for _, p := range w.Partitions {
				o := kmsg.NewAddPartitionsToTxnResponseTopicPartition()
				o.Partition, o.ErrorCode = p, int16(code)
				t.Partitions = append(t.Partitions, o)
			}
			resp.Topics = append(resp.Topics, t)
		}
		return resp
	case *kmsg.WriteTxnMarkersRequest:
		last := map[int64]int{} // of markers of one producer id only the last is answered
		for i, w := range req.Markers {
			last[w.ProducerID] = i
		}
		written := newWrittenMarkers(req)
		for i, w := range req.Markers {
			if last[w.ProducerID] != i {
				continue
			}
			written.of(w.ProducerID) // also where it names no partition
			for _, t := range w.Topics {
				for _, p := range t.Partitions {
					written.set(w.ProducerID, t.Topic, p, code)
				}
			}
		}
		return written.resp
	case *kmsg.DescribeTransactionsRequest:
		resp := req.ResponseKind().(*kmsg.DescribeTransactionsResponse)
		for _, id := range req.TransactionalIDs {
			o := kmsg.NewDescribeTransactionsResponseTransactionState()
			o.TransactionalID, o.ErrorCode = id, int16(code)
			resp.TransactionStates = append(resp.TransactionStates, o)
		}
		return resp
	case *kmsg.AddOffsetsToTxnRequest, *kmsg.EndTxnRequest, *kmsg.ListTransactionsRequest:
		return topError(body, code, "")
	}
	return nil
}
