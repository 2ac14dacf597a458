package backend

import (
	"testing"

	"google.golang.org/grpc/codes"
	health "google.golang.org/grpc/health/grpc_health_v1"

	api "example/backend/heartline/v1"
)

func TestHealthIsToldWithoutAToken(t *testing.T) {
	asked := health.NewHealthClient(connect(t, "HEARTLINE_GRPC"))
	for _, service := range []string{"", api.History_ServiceDesc.ServiceName} {
		request := &health.HealthCheckRequest{Service: service}
		answer, err := asked.Check(as(t), request)
		failed(t, codes.OK, answer, err)
		equal(t, "checked "+service, answer.Status, health.HealthCheckResponse_SERVING)
		watch, err := asked.Watch(as(t), request)
		failed(t, codes.OK, watch, err)
		answer, err = watch.Recv()
		failed(t, codes.OK, answer, err)
		equal(t, "watched "+service, answer.Status, health.HealthCheckResponse_SERVING)
	}
	refused(t, codes.NotFound, as(t), asked.Check, &health.HealthCheckRequest{Service: "heartline.v1.Absent"})
}
