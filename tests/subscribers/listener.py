"""A TCP server on a thread of its own."""

import asyncio
import socket
import threading


class Listener:
    """What is made of it says what becomes of a connection: `async _serve(reader, writer)`."""

    def __init__(self, host="127.0.0.1", port=0, tls=None):
        self._socket = socket.create_server((host, port))
        self.port = self._socket.getsockname()[1]
        started = threading.Event()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, args=(tls, started), daemon=True)
        self._thread.start()
        started.wait()

    def end(self):
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def _run(self, tls, started):
        asyncio.set_event_loop(self._loop)
        server = self._loop.run_until_complete(asyncio.start_server(self._serve, sock=self._socket, ssl=tls, limit=1 << 22))
        started.set()
        self._loop.run_forever()
        server.close()
        tasks = asyncio.all_tasks(self._loop)
        for task in tasks:
            task.cancel()
        self._loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
        self._loop.close()
