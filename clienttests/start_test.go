package clienttests

import (
	"testing"

	"github.com/fakekafka/fakekafka/fakekafka"
)

// start starts fakekafka for the test, as a user's test would. A client that
// is closed must be gone.
func start(t *testing.T) string { return fakekafka.Start(t, fakekafka.NoLeaks()).Bootstrap() }
