"""The operator's minute: what a gateway says of a fault within 60 s, to each who may look: a load balancer (`/readyz`),
Prometheus (metrics and alerts), and a reader of the log."""
