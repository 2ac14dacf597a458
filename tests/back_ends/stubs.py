"""The client that grpcio-tools makes from the schema, imported."""

import atexit
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
SCHEMA = ROOT / "src/edge/grpc/proto"


def protoc(*options):
    """The compiler of schemas that grpcio-tools brings, on all of the schema."""
    files = sorted(str(path.relative_to(SCHEMA)) for path in SCHEMA.rglob("*.proto"))
    subprocess.run([sys.executable, "-m", "grpc_tools.protoc", "-I", str(SCHEMA), *options, *files], check=True)


def make(out):
    """As docs/back-ends.md says."""
    protoc(f"--python_out={out}", f"--grpc_python_out={out}")


_made = tempfile.mkdtemp(prefix="heartline-stubs-")
atexit.register(shutil.rmtree, _made)
make(_made)
sys.path.insert(0, _made)

from heartline.v1 import history_pb2 as api  # noqa: E402
from heartline.v1 import history_pb2_grpc as service  # noqa: E402
from heartline.v1 import types_pb2 as types  # noqa: E402

__all__ = ["api", "service", "types", "make", "protoc"]
