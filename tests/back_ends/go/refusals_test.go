package backend

import (
	"context"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"

	api "example/backend/heartline/v1"
)

func TestOnlyGoodTokensAreBelieved(t *testing.T) {
	history, mid := client(t)
	for _, bad := range []struct {
		tokens  []string
		message string
	}{
		{nil, "authorization: is missing"},
		{[]string{"TOKEN_EXPIRED"}, "expired"},
		{[]string{"TOKEN_FORGED"}, "bad signature"},
		{[]string{"TOKEN_MALFORMED"}, "malformed token"},
		{[]string{"TOKEN", "TOKEN"}, "authorization: is given twice"},
	} {
		refusal := refused(t, codes.Unauthenticated, as(t, bad.tokens...), history.Open, &api.OpenRequest{Mid: &mid})
		equal(t, strings.Join(bad.tokens, " and "), refusal.Message(), bad.message)
	}
}

func TestAScopeIsNeededForEveryOperation(t *testing.T) {
	history, mid := client(t)
	read := "the scope heartline.read is needed"
	write := "the scope heartline.write is needed"
	deny(t, "TOKEN_USER", read, history.Open, &api.OpenRequest{Mid: &mid})
	deny(t, "TOKEN_WRITE", read, history.Open, &api.OpenRequest{Mid: &mid})
	deny(t, "TOKEN_WRITE", read, history.Get, &api.GetRequest{Mid: &mid})
	deny(t, "TOKEN_WRITE", read, history.List, &api.ListRequest{Mid: &mid})
	deny(t, "TOKEN_WRITE", read, history.GetRecording, &api.GetRecordingRequest{Mid: &mid})
	deny(t, "TOKEN_WRITE", read, history.Rewards, &api.RewardsRequest{Mid: &mid})
	deny(t, "TOKEN_WRITE", read, history.Users, &api.UsersRequest{})
	deny(t, "TOKEN_READ", write, history.Put, &api.PutRequest{})
	deny(t, "TOKEN_READ", write, history.Delete, &api.DeleteRequest{Mid: &mid, Items: []*api.Content{content(1)}})
	deny(t, "TOKEN_READ", write, history.Clear, &api.ClearRequest{Mid: &mid})
	paused := true
	deny(t, "TOKEN_READ", write, history.SetRecording, &api.SetRecordingRequest{Mid: &mid, Paused: &paused})
}

func deny[Q, A any](t *testing.T, token, message string, method method[Q, A], request *Q) {
	t.Helper()
	refusal := refused(t, codes.PermissionDenied, as(t, token), method, request)
	equal(t, token, refusal.Message(), message)
}

func TestWhatIsWrongIsNamed(t *testing.T) {
	connection := connect(t, "HEARTLINE_GRPC")
	history := api.NewHistoryClient(connection)
	of := func(user *api.UserBeats) *api.PutRequest { return &api.PutRequest{Users: []*api.UserBeats{user}} }
	refuse := func(code codes.Code, request *api.PutRequest) string {
		return refused(t, code, as(t, "TOKEN"), history.Put, request).Message()
	}
	mid, at := uint64(1), uint64(1)
	unplaced := beat(1, at)
	unplaced.Pos = nil
	refusal := refuse(codes.InvalidArgument, of(&api.UserBeats{Mid: &mid, Items: []*api.Beat{unplaced}}))
	equal(t, "a beat without a position", refusal, "users[0].items[0].pos: is missing")
	equal(t, "no user", refuse(codes.InvalidArgument, of(&api.UserBeats{})), "users[0].mid: is missing")
	refuse(codes.OutOfRange, of(&api.UserBeats{Mid: &mid, Flag: strings.Repeat("x", 5<<20)}))

	absent := func(ctx context.Context, request *api.OpenRequest) error {
		return connection.Invoke(ctx, "/heartline.v1.History/Absent", request, new(api.OpenResponse))
	}
	failed(t, codes.Unimplemented, nil, absent(as(t, "TOKEN"), &api.OpenRequest{Mid: &mid}))
}
