// Package backend calls a running gateway with the client that is made from the schema.
package backend

import (
	"context"
	"os"
	"reflect"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	api "example/backend/heartline/v1"
)

// A call of the generated client.
type method[Q, A any] = func(context.Context, *Q, ...grpc.CallOption) (*A, error)

var lastMid atomic.Uint64

// told is what test_go.py says of the gateways and their tokens.
func told(t *testing.T, name string) string {
	t.Helper()
	value := os.Getenv(name)
	if value == "" {
		t.Fatalf("%s is not set: tests/back_ends/test_go.py sets it", name)
	}
	return value
}

// connect takes the name of a gateway's address.
func connect(t *testing.T, address string) *grpc.ClientConn {
	t.Helper()
	connection, err := grpc.NewClient(told(t, address), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { connection.Close() })
	return connection
}

// client returns a client, and a user of its own for the test.
func client(t *testing.T) (api.HistoryClient, uint64) {
	t.Helper()
	return api.NewHistoryClient(connect(t, "HEARTLINE_GRPC")), 1_000 + lastMid.Add(1)
}

// bearing is the context of a call with these tokens, by the names that test_go.py has for them.
func bearing(t *testing.T, ctx context.Context, tokens ...string) context.Context {
	t.Helper()
	for _, token := range tokens {
		ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+told(t, token))
	}
	return ctx
}

func within(t *testing.T, wait time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), wait)
	t.Cleanup(cancel)
	return ctx
}

// as is the context of a usual call.
func as(t *testing.T, tokens ...string) context.Context {
	t.Helper()
	return bearing(t, within(t, 10*time.Second), tokens...)
}

// call is answered; its caller may read and write.
func call[Q, A any](t *testing.T, method method[Q, A], request *Q) *A {
	t.Helper()
	answer, err := method(as(t, "TOKEN"), request)
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

// refused returns the status, which has this code.
func refused[Q, A any](
	t *testing.T, code codes.Code, ctx context.Context, method method[Q, A], request *Q,
) *status.Status {
	t.Helper()
	answer, err := method(ctx, request)
	return failed(t, code, answer, err)
}

func failed(t *testing.T, code codes.Code, answer any, err error) *status.Status {
	t.Helper()
	if status.Code(err) != code {
		t.Fatalf("%v %v, not %v", answer, err, code)
	}
	return status.Convert(err)
}

func equal[V any](t *testing.T, what string, got, wanted V) {
	t.Helper()
	if !reflect.DeepEqual(got, wanted) {
		t.Errorf("%s: %v, not %v", what, got, wanted)
	}
}

func content(oid uint64) *api.Content {
	return &api.Content{Kind: proto.Uint32(1), Oid: &oid}
}

func beat(oid, at uint64) *api.Beat {
	return &api.Beat{
		Kind: proto.Uint32(1), Oid: &oid, Pos: proto.Uint64(73_200), State: api.State_STATE_PLAYING.Enum(),
		Session: proto.Uint64(1), Watched: proto.Uint64(5_000), At: &at,
	}
}

func oids(records []*api.Record) []uint64 {
	oids := []uint64{}
	for _, record := range records {
		oids = append(oids, record.Oid)
	}
	return oids
}
