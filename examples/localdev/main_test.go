package main

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fakekafka/fakekafka/fakekafka"
)

func TestGreetingsComeBack(t *testing.T) {
	k := fakekafka.Start(t)
	var out strings.Builder
	require.NoError(t, run(t.Context(), &out, k.Bootstrap()))
	require.NoError(t, run(t.Context(), &out, k.Bootstrap()), "a second run finds the topic")
	require.Equal(t, `greetings/0 offset 0: hello
greetings/0 offset 1: bonjour
greetings/0 offset 2: merhaba
greetings/0 offset 0: hello
greetings/0 offset 1: bonjour
greetings/0 offset 2: merhaba
greetings/0 offset 3: hello
greetings/0 offset 4: bonjour
greetings/0 offset 5: merhaba
`, out.String())
}

func TestNoBrokerIsSaidPlainly(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := run(ctx, &strings.Builder{}, "127.0.0.1:1")
	require.ErrorContains(t, err, "no broker answers on 127.0.0.1:1; start one with go run ./cmd/fakekafka")
}
