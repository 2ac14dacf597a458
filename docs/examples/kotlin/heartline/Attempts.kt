package heartline

import kotlin.random.Random
import kotlin.time.Duration
import kotlin.time.Duration.Companion.milliseconds
import kotlin.time.Duration.Companion.seconds

/** Decides when the next connection is tried. */
internal class Attempts(private val random: Random = Random) {
    sealed interface Next {
        data object Never : Next
        data object WhenTheViewerActs : Next

        /** Some events end the wait at once. */
        data class After(val wait: Duration, val endedBy: Event? = null) : Next
    }

    enum class Event { VIEWER_ACTED, NETWORK_CAME }

    /** So many in a row without a welcome. */
    var failures = 0
        private set
    private var inARow = 0
    private var refusals = 0
    private var refusal: String? = null

    fun begin() {
        failures++
    }

    fun welcomed() {
        failures = 0
        refusals = 0
    }

    /** The connection lasted: the backoff starts afresh. */
    fun lasted(time: Duration) {
        if (time > STEADY) inARow = 0
    }

    fun after(end: End): Next = when {
        end.code in End.FOR_GOOD -> Next.Never
        end.code == End.TOO_MANY -> Next.WhenTheViewerActs
        end.bye != null -> Next.After(end.bye.reconnectAfter.milliseconds)
        end.code == End.REFUSED -> afterRefusal(end.reason)
        else -> backOff()
    }

    private fun afterRefusal(reason: String): Next {
        refusals = if (reason == refusal) refusals + 1 else 1
        refusal = reason
        if (refusals == 1 || mayPass(reason)) return backOff()
        return Next.After(REFUSED_WAITS[(refusals - 2).coerceAtMost(REFUSED_WAITS.lastIndex)], Event.VIEWER_ACTED)
    }

    /** Full jitter: any time below a limit that doubles. */
    private fun backOff(): Next {
        val limit = (FIRST * (1 shl inARow.coerceAtMost(DOUBLINGS_MAX))).coerceAtMost(LONGEST)
        inARow++
        return Next.After(limit * random.nextDouble(), Event.NETWORK_CAME)
    }

    companion object {
        private val FIRST = 0.5.seconds
        private val LONGEST = 30.seconds
        private val STEADY = 5.seconds
        private const val DOUBLINGS_MAX = 10
        private val REFUSED_WAITS = listOf(5.seconds, 30.seconds, 60.seconds)
        private val MAY_PASS = listOf("kid", "not valid yet", "in time")

        /** A key that the gateway has not loaded yet, or clocks apart: the same token may do later. */
        fun mayPass(reason: String) = MAY_PASS.any { it in reason }
    }
}
