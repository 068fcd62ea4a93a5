package wire

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// requestHeader writes a header as a client does.
func requestHeader(k Key, version int16, correlationID int32, clientID string) []byte {
	h := appendInt16(nil, int16(k))
	h = appendInt16(h, version)
	h = appendInt32(h, correlationID)
	h = appendString(h, clientID, false)
	if Flexible(k, version) {
		h = append(h, 0)
	}
	return h
}

func TestHeaders(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		explanation string
		frame       string
		want        Header
		body        string
		err         string
	}{
		{"v1", "\x00\x03\x00\x01\x00\x00\x00\x07\x00\x02meBODY", Header{Metadata, 1, 7, "me"}, "BODY", ""},
		{"a null client id is the empty one", "\x00\x03\x00\x01\x80\x00\x00\x00\xff\xffBODY", Header{Metadata, 1, -1 << 31, ""}, "BODY", ""},
		{"v2 keeps the int16 length", "\x00\x03\x00\x09\x00\x00\x00\x07\x00\x02me\x00BODY", Header{Metadata, 9, 7, "me"}, "BODY", ""},
		{"unknown tags are skipped", "\x00\x03\x00\x09\x00\x00\x00\x07\x00\x02me\x02\x00\x01x\x09\x02yyBODY", Header{Metadata, 9, 7, "me"}, "BODY", ""},
		{"an empty body", "\x00\x03\x00\x01\x00\x00\x00\x07\x00\x00", Header{Metadata, 1, 7, ""}, "", ""},
		{"ApiVersions of the future has a v2 header", "\x00\x12\x00\x63\x00\x00\x00\x07\x00\x02me\x00?", Header{ApiVersions, 99, 7, "me"}, "?", ""},
		{"ApiVersions of the future with a v1 header", "\x00\x12\x00\x63\x00\x00\x00\x07\x00\x02me", Header{}, "", "ends too early"},
		{"negative ApiVersions", "\x00\x12\xff\xff\x00\x00\x00\x07\x00\x02me", Header{ApiVersions, -1, 7, "me"}, "", ""},
		{"SaslHandshake is never flexible", "\x00\x11\x00\x01\x00\x00\x00\x07\x00\x02me\x00\x05PLAIN", Header{SASLHandshake, 1, 7, "me"}, "\x00\x05PLAIN", ""},
		{"nothing", "", Header{}, "", "ends too early"},
		{"only the key", "\x00\x03", Header{}, "", "ends too early"},
		{"no client id", "\x00\x03\x00\x01\x00\x00\x00\x07", Header{}, "", "ends too early"},
		{"a client id cut short", "\x00\x03\x00\x01\x00\x00\x00\x07\x00\x09me", Header{}, "", "9 bytes announced, 2 are left"},
		{"no tags", "\x00\x03\x00\x09\x00\x00\x00\x07\x00\x02me", Header{}, "", "ends too early"},
		{"an unknown key", "\x03\xe8\x00\x00\x00\x00\x00\x07\xff\xff", Header{}, "", "API key 1000 is not served"},
		{"a negative key", "\xff\xff\x00\x00\x00\x00\x00\x07\xff\xff", Header{}, "", "API key -1 is not served"},
		{"a version too high", "\x00\x03\x00\x63\x00\x00\x00\x07\xff\xff", Header{}, "", "Metadata v99 is not served, versions 0 to 13 are"},
		{"advertised and refused", "\x00\x00\x00\x02\x00\x00\x00\x07\xff\xff", Header{}, "", "Produce v2 is not served, versions 3 to 13 are"},
	} {
		var h Header
		body, err := h.Parse([]byte(c.frame))
		if c.err != "" {
			require.ErrorContains(t, err, c.err, c.explanation)
			continue
		}
		require.NoError(t, err, c.explanation)
		require.Equal(t, c.want, h, c.explanation)
		require.Equal(t, c.body, string(body), c.explanation)
	}
}

// What can't be served is refused whether its client id can be read or not; who sent it is told where it can.
func TestUnservedRequestsHaveAClient(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		explanation string
		frame       string
		client      string
		tooOld      bool
	}{
		{"below what is served", "\x00\x02\x00\x00\x00\x00\x00\x07\x00\x02meBODY", "me", true},
		{"advertised and refused", "\x00\x00\x00\x02\x00\x00\x00\x07\x00\x02meBODY", "me", true},
		{"a version too high", "\x00\x03\x00\x63\x00\x00\x00\x07\x00\x02me\x00", "me", false},
		{"a negative version", "\x00\x03\xff\xff\x00\x00\x00\x07\x00\x02me", "me", false},
		{"an unknown key", "\x03\xe8\x00\x00\x00\x00\x00\x07\x00\x02me", "me", false},
		{"the header of ControlledShutdown v0 has none", "\x00\x07\x00\x00\x00\x00\x00\x07\x00\x00\x00\x01", "", false},
		{"nothing after the version", "\x00\x02\x00\x00", "", true},
		{"a client id cut short", "\x00\x02\x00\x00\x00\x00\x00\x07\x00\x09me", "", true},
	} {
		var h Header
		_, err := h.Parse([]byte(c.frame))
		var u *UnsupportedError
		require.ErrorAs(t, err, &u, c.explanation)
		require.Equal(t, c.client, h.ClientID, c.explanation)
		require.Equal(t, c.tooOld, u.TooOld(), c.explanation)
	}
}

func TestHeadersOfKmsgsFormatter(t *testing.T) {
	t.Parallel()
	forEachRequest(func(k Key, version int16) {
		req := kmsg.RequestForKey(int16(k))
		req.SetVersion(version)
		frame := kmsg.NewRequestFormatter(kmsg.FormatterClientID("me")).AppendRequest(nil, req, 42)[4:]
		var h Header
		body, err := h.Parse(frame)
		require.NoError(t, err)
		require.Equal(t, Header{k, version, 42, "me"}, h)
		require.NoError(t, checkBody(k, version, body), "%v v%d", k, version)
		require.Equal(t, string(req.AppendTo(nil)), string(body))
	})
}

func TestParsingTheSameClientAgainDoesNotAllocate(t *testing.T) {
	frame := requestHeader(Produce, 9, 1, "a-client-id-that-does-not-change")
	var h Header
	_, err := h.Parse(frame)
	require.NoError(t, err)
	require.Zero(t, testing.AllocsPerRun(100, func() {
		if _, err := h.Parse(frame); err != nil {
			t.Fatal(err)
		}
	}))
}

func TestResponses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		key     Key
		version int16
		header  string
	}{
		{Metadata, 8, "\x00\x00\x00\x07"},
		{Metadata, 9, "\x00\x00\x00\x07\x00"},
		{ApiVersions, 0, "\x00\x00\x00\x07"},
		{ApiVersions, 4, "\x00\x00\x00\x07"},
		{SASLHandshake, 1, "\x00\x00\x00\x07"},
	} {
		resp := kmsg.ResponseForKey(int16(c.key))
		resp.SetVersion(c.version)
		want := framed(append([]byte(c.header), resp.AppendTo(nil)...))
		got := AppendResponse([]byte("before"), 7, resp)
		require.Equal(t, "before"+string(want), string(got), "%v v%d", c.key, c.version)
	}
}
