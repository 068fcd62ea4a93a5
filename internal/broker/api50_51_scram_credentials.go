package broker

import (
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fakekafka/fakekafka/internal/wire"
)

// DescribeUserScramCredentials, key 50, version 0, and AlterUserScramCredentials, key 51, version 0 (KIP-554).

func (r *request) describeUserScramCredentials() (answer, error) {
	req := r.body.(*kmsg.DescribeUserSCRAMCredentialsRequest)
	return onLoop(r.cluster, func() answer {
		resp := req.ResponseKind().(*kmsg.DescribeUserSCRAMCredentialsResponse)
		resp.ErrorMessage = kmsg.StringPtr("")
		var users []string
		times := map[string]int{}
		for _, u := range req.Users {
			if times[u.Name]++; times[u.Name] == 1 {
				users = append(users, u.Name)
			}
		}
		if len(req.Users) == 0 {
			users = sortedKeys(r.cluster.scram)
		}
		for _, user := range users {
			resp.Results = append(resp.Results, r.cluster.scram.describe(user, times[user] > 1))
		}
		return resp
	})
}

func (s scramCredentials) describe(user string, twice bool) kmsg.DescribeUserSCRAMCredentialsResponseResult {
	out := kmsg.NewDescribeUserSCRAMCredentialsResponseResult()
	out.User, out.ErrorMessage = user, kmsg.StringPtr("")
	switch {
	case twice:
		out.ErrorCode = int16(wire.DuplicateResource)
		out.ErrorMessage = kmsg.StringPtr("Cannot describe SCRAM credentials for the same user twice in a single request: " + user)
	case s[user] == nil:
		out.ErrorCode = int16(wire.ResourceNotFound)
		out.ErrorMessage = kmsg.StringPtr("Attempt to describe a user credential that does not exist: " + user)
	default:
		for _, mechanism := range slices.Sorted(maps.Keys(s[user])) {
			c := kmsg.NewDescribeUserSCRAMCredentialsResponseResultCredentialInfo()
			c.Mechanism, c.Iterations = mechanism, s[user][mechanism].iterations
			out.CredentialInfos = append(out.CredentialInfos, c)
		}
	}
	return out
}

func (r *request) alterUserScramCredentials() (answer, error) {
	req := r.body.(*kmsg.AlterUserSCRAMCredentialsRequest)
	return onLoop(r.cluster, func() answer {
		times := map[string]int{}
		for _, d := range req.Deletions {
			times[d.Name]++
		}
		for _, u := range req.Upsertions {
			times[u.Name]++
		}
		results := map[string]*topicError{}
		for user, n := range times {
			if n > 1 {
				results[user] = refuse(wire.DuplicateResource, "A user credential cannot be altered twice in the same request")
			}
		}
		for _, d := range req.Deletions {
			if times[d.Name] > 1 {
				continue
			}
			err := checkScramUser(d.Name, d.Mechanism)
			if err == nil {
				err = r.cluster.scram.delete(d.Name, d.Mechanism)
			}
			results[d.Name] = err
		}
		for _, u := range req.Upsertions {
			if times[u.Name] > 1 {
				continue
			}
			err := checkScramUser(u.Name, u.Mechanism)
			if err == nil {
				err = checkScramIterations(u.Iterations)
			}
			if err == nil {
				r.cluster.scram.set(u.Name, u.Mechanism, newScramCredential(u.Mechanism, u.Iterations, u.Salt, u.SaltedPassword))
			}
			results[u.Name] = err
		}
		resp := req.ResponseKind().(*kmsg.AlterUserSCRAMCredentialsResponse)
		for _, user := range alteredUsers(req) {
			resp.Results = append(resp.Results, scramResult(user, results[user]))
		}
		return resp
	})
}

// alteredUsers are the users that a request names, each once.
func alteredUsers(req *kmsg.AlterUserSCRAMCredentialsRequest) []string {
	users := map[string]bool{}
	for _, d := range req.Deletions {
		users[d.Name] = true
	}
	for _, u := range req.Upsertions {
		users[u.Name] = true
	}
	return sortedKeys(users)
}

func scramResult(user string, err *topicError) kmsg.AlterUserSCRAMCredentialsResponseResult {
	out := kmsg.NewAlterUserSCRAMCredentialsResponseResult()
	out.User = user
	if err != nil {
		out.ErrorCode, out.ErrorMessage = int16(err.code), &err.text
	}
	return out
}
