package backend

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	api "example/backend/heartline/v1"
)

// hold begins a Put whose message does not come, which takes a place until its deadline.
func hold(t *testing.T, ctx context.Context, connection *grpc.ClientConn) grpc.ClientStream {
	t.Helper()
	ctx = bearing(t, ctx, "TOKEN")
	held, err := connection.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true}, api.History_Put_FullMethodName)
	if err != nil {
		t.Fatal(err)
	}
	return held
}

func TestTheDeadlineOfTheCallerIsKept(t *testing.T) {
	connection := connect(t, "HEARTLINE_GRPC")
	began := time.Now()
	held := hold(t, within(t, 300*time.Millisecond), connection)
	answer := new(api.PutResponse)
	failed(t, codes.DeadlineExceeded, answer, held.RecvMsg(answer))
	// The gateway's own is 10 s.
	equal(t, "early enough", time.Since(began) < 8*time.Second, true)

	history, mid := client(t)
	past := bearing(t, within(t, -time.Second), "TOKEN")
	refused(t, codes.DeadlineExceeded, past, history.Open, &api.OpenRequest{Mid: &mid})
}

// This gateway serves one call at a time, and 2 s are its deadline of a call without one.
func TestOverloadSaysWhenToTryAgainAndTheDeadlineOfTheGatewayIsKept(t *testing.T) {
	connection := connect(t, "HEARTLINE_GRPC_CROWDED")
	history, mid := api.NewHistoryClient(connection), uint64(1)
	open := &api.OpenRequest{Mid: &mid}
	began := time.Now()
	held := hold(t, t.Context(), connection)
	for !strings.Contains(metrics(t), "\nheartline_grpc_calls_in_progress 1\n") {
		time.Sleep(20 * time.Millisecond)
	}
	refusal := refused(t, codes.ResourceExhausted, as(t, "TOKEN"), history.Open, open)
	equal(t, "details", len(refusal.Details()), 1)
	equal(t, "when to try again", refusal.Details()[0].(*errdetails.RetryInfo).RetryDelay.AsDuration(), time.Second)
	answer := new(api.PutResponse)
	failed(t, codes.DeadlineExceeded, answer, held.RecvMsg(answer))
	equal(t, "early enough", time.Since(began) < 10*time.Second, true)
	call(t, history.Open, open)
}

// metrics are those of the crowded gateway.
func metrics(t *testing.T) string {
	t.Helper()
	answer, err := http.Get(told(t, "HEARTLINE_ADMIN_CROWDED") + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
