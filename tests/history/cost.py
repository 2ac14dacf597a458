"""What it costs to bring beats to Cassandra."""

import time

from wire.processes import cpu_seconds


class Cost:
    """From now on."""

    def __init__(self, scene):
        self._scene, self._began = scene, time.monotonic()

    def tell(self, beats):
        """One line for these beats, which are all that there were."""
        scene = self._scene
        rows, written = (
            scene.counted(f"heartline_{name}_total") for name in ("history_job_rows", "history_store_rows_written")
        )
        packs = scene.counted("heartline_history_packs_total", scene.gateways)
        sent = scene.counted("heartline_history_pack_bytes_total", scene.gateways)
        processors = sum(cpu_seconds(job.process.pid) for job in scene.jobs)
        print(
            f"cost: {packs / beats:.4f} messages a beat, {sent / beats:.1f} bytes a beat, "
            f"{scene.topic.bytes_on_disk() / beats:.1f} compressed; {written / beats:.2f} rows a beat in Cassandra; "
            f"{rows / (time.monotonic() - self._began):.0f} rows/s on average, "
            f"{processors / max(rows, 1) * 1e6:.1f} µs of a job's processor a row",
            flush=True,
        )
