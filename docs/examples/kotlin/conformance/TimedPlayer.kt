package conformance

import heartline.Playback
import heartline.ProgressSource
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.Job
import kotlinx.coroutines.delay
import kotlinx.coroutines.launch
import kotlin.time.TimeMark
import kotlin.time.TimeSource

/** Plays nothing, in real time, and tells its playback what happens. */
class TimedPlayer(override val duration: Long, private val scope: CoroutineScope) : ProgressSource {
    lateinit var playback: Playback
    private var from = 0L
    private var since: TimeMark? = null
    private var ending: Job? = null

    override val isPlaying get() = since != null
    override val position get() = (from + (since?.elapsedNow()?.inWholeMilliseconds ?: 0)).coerceAtMost(duration)

    override fun seekTo(position: Long) {
        from = position
        if (isPlaying) run()
    }

    fun play() {
        if (position == duration) from = 0
        run()
        playback.started()
    }

    fun pause() {
        halt()
        playback.paused()
    }

    fun seek(position: Long) {
        seekTo(position)
        playback.seeked()
    }

    /** Another content comes: this one is played no more. */
    fun halt() {
        ending?.cancel()
        from = position
        since = null
    }

    private fun run() {
        since = TimeSource.Monotonic.markNow()
        ending?.cancel()
        ending = scope.launch {
            while (position < duration) delay(duration - position)
            since = null
            from = duration
            playback.ended()
        }
    }
}
