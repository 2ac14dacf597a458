"""The faults, what each does to which process, and what is to be seen of it."""

import json
import signal
import subprocess
import time
from dataclasses import dataclass, field

from wire.http import call

NOWHERE = "127.0.0.1:1"
TOPICS = ("rewards", "positions", "history", "quarantine")
LOGIN = {"KAFKA__SECURITY": "sasl_plaintext", "KAFKA__SASL_USER": "heartline"}


@dataclass
class Fault:
    name: str
    begin: object  # called with the site
    status: int  # of /readyz
    says: str  # in its body
    metric: tuple  # a line of numbers, and whether its value shows it
    alerts: set
    log: tuple  # words of one line
    needs: str = "redis"
    settings: object = field(default=lambda site: {})


def zero(value):
    return value == 0


def some(value):
    return value is not None and value > 0


def negative(value):
    return value is not None and value < 0


def redis_config(*settings):
    """Sets each of them."""

    def begin(site):
        for name, value in settings:
            site.redis.nodes[0].cli("CONFIG", "SET", name, value)

    return begin


def _other_password(site):
    [node] = site.redis.nodes
    node.ask(["CONFIG SET requirepass another", "AUTH another", "CLIENT KILL TYPE normal"])


def _replica(site):
    site.redis.nodes[0].cli("REPLICAOF", *NOWHERE.split(":"))


def _wrong_login(site):
    """As after a change of the password at the brokers."""
    site.gateway.stop()
    site.gateway.settings["KAFKA__SASL_PASSWORD"] = "wrong"
    site.gateway.start()


def _login(site):
    return {**LOGIN, "KAFKA__SASL_PASSWORD": "right", **kafka_at(site.kafka.login_address)}


def kafka_at(address):
    return {
        "EVENTS__EVENT_BUS": "kafka",
        "KAFKA__BROKERS": json.dumps([address]),
        "KAFKA__REPLICATION": 1,
        "KAFKA__MIN_IN_SYNC": 1,
    }


def _history(site):
    return {
        **kafka_at(site.kafka.address),
        # Beside the other gateways on this broker.
        **{f"KAFKA__TOPICS__{name.upper()}": f"of-history.{name}" for name in TOPICS},
        "HISTORY__STORE": "cassandra",
        "HISTORY__INTERVAL": "1s",
        "CASSANDRA__NODES": json.dumps([f"127.0.0.1:{site.cassandra.port}"]),
        "CASSANDRA__REPLICATION": 1,
    }


def certificate(folder, days):
    """The settings of one that is valid for so many days from now on."""
    key, request, made = folder / "key.pem", folder / "request.pem", folder / "cert.pem"
    curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
    openssl("req", "-new", *curve, *names, "-keyout", key, "-out", request)
    openssl("x509", "-req", "-in", request, "-copy_extensions", "copy", "-signkey", key, "-days", days, "-out", made)
    return {"SERVER__TLS_CERT": made, "SERVER__TLS_KEY": key}


def openssl(*words):
    subprocess.run(["openssl", *map(str, words)], check=True, capture_output=True)


def _expired(site):
    certificate(site.folder, 0)
    time.sleep(1.1)
    site.gateway.process.send_signal(signal.SIGHUP)


def watched(site):
    """A user watches; what changes goes on to the history store."""
    position = 1_000 * next(site.seconds)
    beat = {"kind": 1, "oid": "7", "pos": position, "dur": 10_000_000, "state": "playing", "session": "1"}
    call(site.gateway.http, "POST", "/v1/beats", mid=42, body={"items": [{**beat, "watched": position, "at": now_ms()}]})


def now_ms():
    return int(time.time() * 1_000)


STORE_AWAY = {"HeartlineStoreAway", "HeartlineNotReady"}
STORE_OK = ("heartline_store_ok", zero)
COMPLAINTS = ("heartline_event_bus_complaints", some)

FAULTS = [
    Fault("Redis down", lambda site: site.redis.nodes[0].kill(), 503, "Connection refused", STORE_OK, STORE_AWAY,
          ("redis_unavailable",)),
    Fault("Redis hung", lambda site: site.redis.nodes[0].pause(), 503, "no answer in time", STORE_OK, STORE_AWAY,
          ("redis_unavailable", "no answer in time")),
    Fault("Redis full", redis_config(("maxmemory", "1mb")), 503, "is out of memory", STORE_OK,
          {*STORE_AWAY, "HeartlineRedisFull"}, ("redis_refuses", "is out of memory")),
    Fault("Redis read-only", _replica, 503, "is a replica", STORE_OK, STORE_AWAY, ("redis_unfit", "is a replica")),
    Fault("Redis wrong password", _other_password, 503, "does not let this user in", STORE_OK, STORE_AWAY,
          ("redis_unfit", "does not let this user in")),
    Fault("Redis everysec", redis_config(("appendfsync", "everysec")), 503, 'has appendfsync "everysec"', STORE_OK,
          STORE_AWAY, ("redis_unfit", "appendfsync")),
    Fault("certificate expired", _expired, 200, "has expired",
          ('heartline_certificate_expiry_seconds{listener="server"}', negative),
          {"HeartlineCertificateExpires", "HeartlineCertificateExpired"}, ("certificate_invalid", "has expired"),
          settings=lambda site: certificate(site.folder, 30)),
    Fault("Kafka wrong SASL", _wrong_login, 200, "Kafka refuses the login", COMPLAINTS, {"HeartlineEventBusWrong"},
          ("kafka_degraded", "Kafka refuses the login"), "kafka", _login),
    Fault("Cassandra down", lambda site: site.cassandra.kill(), 200, "history waits on the bus",
          ("heartline_history_waiting", some), {"HeartlineHistoryWaiting"}, ("history_waiting",), "cassandra", _history),
    # After those that need it.
    Fault("Kafka down", lambda site: site.kafka.kill(), 200, "Kafka does not answer", COMPLAINTS,
          {"HeartlineEventBusWrong"}, ("kafka_degraded", "Kafka does not answer"), "kafka alone",
          lambda site: kafka_at(site.kafka.address)),
]
