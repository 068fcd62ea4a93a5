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
		results := r.cluster.scram.check(req)
		for _, d := range req.Deletions {
			if results[d.Name] == nil {
				r.cluster.scram.delete(d.Name, d.Mechanism)
			}
		}
		for _, u := range req.Upsertions {
			if results[u.Name] == nil {
				r.cluster.scram.set(u.Name, u.Mechanism, newScramCredential(u.Mechanism, u.Iterations, u.Salt, u.SaltedPassword))
			}
		}
		resp := req.ResponseKind().(*kmsg.AlterUserSCRAMCredentialsResponse)
		for _, user := range alteredUsers(req) {
			resp.Results = append(resp.Results, scramResult(user, results[user]))
		}
		return resp
	})
}

// check finds what is wrong with the changes of each user: the first thing that is, and that there is more than one.
func (s scramCredentials) check(req *kmsg.AlterUserSCRAMCredentialsRequest) map[string]*topicError {
	results := map[string]*topicError{}
	seen := map[string]bool{}
	note := func(user string, check func() *topicError) {
		switch {
		case results[user] != nil:
		case seen[user]:
			results[user] = refuse(wire.DuplicateResource, "A user credential cannot be altered twice in the same request")
		default:
			results[user] = check()
		}
		seen[user] = true
	}
	for _, d := range req.Deletions {
		note(d.Name, func() *topicError {
			err := checkScramUser(d.Name, d.Mechanism)
			if _, has := s[d.Name][d.Mechanism]; err == nil && !has {
				err = refuse(wire.ResourceNotFound, "Attempt to delete a user credential that does not exist")
			}
			return err
		})
	}
	for _, u := range req.Upsertions {
		note(u.Name, func() *topicError {
			err := checkScramUser(u.Name, u.Mechanism)
			if err == nil {
				err = checkScramIterations(u.Iterations)
			}
			return err
		})
	}
	for _, u := range req.Upsertions {
		if results[u.Name] == nil && len(u.SaltedPassword) == 0 {
			results[u.Name] = &topicError{code: wire.UnknownServerError} // Java makes no keys of an empty password, and the controller fails at it
		}
	}
	return results
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
		out.ErrorCode, out.ErrorMessage = int16(err.code), message(err.text)
	}
	return out
}
