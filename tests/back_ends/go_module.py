"""A Go module with the client that protoc-gen-go and protoc-gen-go-grpc make from the schema."""

import os
import shutil
import subprocess
from pathlib import Path

from back_ends.stubs import protoc

GO = os.environ["GO"]
MODULE = Path(__file__).parent / "go"


def make(out, *files):
    """As docs/back-ends.md says, with the versions of go.mod; `files` of ours go into it."""
    for file in (MODULE / "go.mod", MODULE / "go.sum", *files):
        shutil.copy(file, out)
    plugins = out / "bin"
    subprocess.run([GO, "install", "tool"], cwd=out, env={**os.environ, "GOBIN": str(plugins)}, check=True)
    named = [f"--plugin={plugin}" for plugin in sorted(plugins.iterdir())]
    protoc(*named, f"--go_out={out}", f"--go-grpc_out={out}")


def unformatted(folder):
    """Files that gofmt would change."""
    root = subprocess.run([GO, "env", "GOROOT"], cwd=folder, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
    gofmt = [Path(root) / "bin/gofmt", "-l", "."]
    return subprocess.run(gofmt, cwd=folder, stdout=subprocess.PIPE, text=True, check=True).stdout.split()
