package heartline

import kotlinx.coroutines.delay
import kotlin.time.Duration.Companion.seconds
import kotlin.time.DurationUnit
import kotlin.time.TimeSource

/** A bucket of half the frames that a burst may have: the other half is for frames that the network holds up. */
internal class Allowance(limits: Welcome.Limits) {
    private val perSecond = limits.framesPerSecond.toDouble()
    private val size = (limits.burst / 2.0).coerceAtLeast(1.0)
    private var level = size
    private var filled = TimeSource.Monotonic.markNow()

    /** Waits until one more frame may be sent. */
    suspend fun take() {
        while (true) {
            level = (level + filled.elapsedNow().toDouble(DurationUnit.SECONDS) * perSecond).coerceAtMost(size)
            filled = TimeSource.Monotonic.markNow()
            if (level >= 1) break
            delay(((1 - level) / perSecond).seconds)
        }
        level -= 1
    }
}
