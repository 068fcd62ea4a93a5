package clienttests

import "testing"

func start(t *testing.T) string {
	t.Skip("no fakekafka yet")
	return ""
}
