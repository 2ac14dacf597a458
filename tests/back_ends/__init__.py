"""The gRPC service, as callers in another language see it."""
