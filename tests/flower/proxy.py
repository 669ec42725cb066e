"""A TCP proxy on loopback that counts what passes, each way."""

import socket
import threading
from contextlib import suppress


class Proxy:
    """Counts ``up`` (from the one who dials) and ``down``; ``port`` is where to dial."""

    def __init__(self, port: int) -> None:
        self._to = port
        self.up = self.down = 0
        self._lock = threading.Lock()
        self._server = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = int(self._server.getsockname()[1])
        threading.Thread(target=self._accept, daemon=True).start()

    def counted(self) -> dict[str, int]:
        """Bytes so far."""
        with self._lock:
            return {"up": self.up, "down": self.down}

    def close(self) -> None:
        self._server.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                near, _ = self._server.accept()
                try:
                    far = socket.create_connection(("127.0.0.1", self._to))
                except OSError:  # nobody is there yet: whoever dialled tries again
                    near.close()
                    continue
                for pair in ((near, far, "up"), (far, near, "down")):
                    threading.Thread(target=self._pump, args=pair, daemon=True).start()

    def _pump(self, source: socket.socket, target: socket.socket, way: str) -> None:
        with suppress(OSError):
            while piece := source.recv(1 << 16):
                with self._lock:
                    setattr(self, way, getattr(self, way) + len(piece))
                target.sendall(piece)
        for side in (source, target):
            with suppress(OSError):
                side.shutdown(socket.SHUT_RDWR)
                side.close()
