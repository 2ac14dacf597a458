"""HAProxy with deploy/haproxy/haproxy.cfg in front of real gateways: where users go, and what a drain does to them."""
