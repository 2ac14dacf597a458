"""An authority that certifies servers, made with the `openssl` command."""

import ssl
import subprocess
import time

from wire.patience import until

KEY = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]


class Authority:
    def __init__(self, directory):
        directory.mkdir()
        self._directory, self.certificate = directory, directory / "authority.pem"
        self._made = 0
        subject = ["-subj", "/CN=authority", "-addext", "basicConstraints=critical,CA:TRUE"]
        openssl("req", "-x509", *KEY, "-days", "2", *subject, "-keyout", self._key, "-out", self.certificate)

    @property
    def _key(self):
        return self._directory / "authority.key"

    def server(self, *names, is_over=False):
        """A TLS context of a server with these names (`DNS:…`, `IP:…`). `is_over`: its certificate has ended."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*self.certify(*names, is_over=is_over))
        return context

    def certify(self, *names, is_over=False):
        """The files of a certificate for these names, and of its key."""
        self._made += 1
        key, request, extensions, certificate = (
            self._directory / f"{self._made}.{ending}" for ending in ("key", "csr", "ext", "pem")
        )
        openssl("req", "-new", *KEY, "-subj", "/CN=server", "-keyout", key, "-out", request)
        extensions.write_text(f"subjectAltName={','.join(names)}\n")
        signed_by = ["-CA", self.certificate, "-CAkey", self._key, "-CAcreateserial", "-extfile", extensions]
        openssl("x509", "-req", "-in", request, *signed_by, "-days", "0" if is_over else "2", "-out", certificate)
        if is_over:
            # It holds for the second in which it was made.
            made = time.time()
            until("the certificate has ended", lambda: time.time() > made + 1)
        return certificate, key


def openssl(*words):
    subprocess.run(["openssl", *words], check=True, capture_output=True)
