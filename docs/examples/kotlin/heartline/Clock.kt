package heartline

/**
 * The server's clock: the newest `now` that it sent, plus the time since. What `elapsed` tells must go on while the
 * device sleeps.
 */
internal class Clock(private val elapsed: () -> Long) {
    private val began = System.currentTimeMillis() - elapsed()
    private var offset: Long? = null

    /** Begins at the reading of the device's clock, and never goes back. */
    val local: Long get() = began + elapsed()

    /** Null until the server has told it. */
    val now: Long? get() = offset?.let { local + it }

    fun rebase(now: Long) {
        offset = now - local
    }

    /** The server's time at a local time. That is past, so it is never ahead of now. */
    fun at(made: Long): Long? = offset?.let { (made + it).coerceAtMost(local + it) }
}
