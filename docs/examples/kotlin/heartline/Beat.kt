package heartline

import kotlinx.serialization.Serializable

private val WITHOUT_THRESHOLDS = setOf(2, 3) // live streams, articles
private const val START_MS = 180_000

/** Says: in this session, at this time, the position was so. All times are milliseconds. */
@Serializable
data class Beat(
    val kind: Int,
    val oid: String,
    val pos: Long,
    val state: State,
    val session: String,
    /** The media that was played in this session so far. */
    val watched: Long,
    /** The length of the content, once it is known. */
    val dur: Long? = null,
    /** When that was, by the server's clock. A beat that was made before that clock was known gets it later, once. */
    val at: Long? = null,
) {
    val content get() = Content(kind, oid)

    /** Where the gateway would resume, by the thresholds that it has unless it is told others. */
    private fun resume() = when {
        state == State.ENDED -> 0
        dur == null || kind in WITHOUT_THRESHOLDS -> pos
        pos >= 0.9 * dur || (pos < 0.05 * dur && pos < START_MS) -> 0
        else -> pos
    }

    /** The record that this beat will be once it is stored, unless another one is newer. */
    internal fun asRecord() = Record(
        kind = kind,
        oid = oid,
        pos = pos,
        state = state,
        session = session,
        at = at ?: 0,
        resume = resume(),
        dur = dur ?: 0,
        watched = watched,
    )
}
