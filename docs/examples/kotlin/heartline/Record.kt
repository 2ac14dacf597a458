package heartline

import kotlinx.serialization.Serializable

/** The stored position of the user in one content: the beat that won. */
@Serializable
data class Record(
    val kind: Int,
    val oid: String,
    val pos: Long,
    val state: State = State.PAUSED,
    val session: String,
    val at: Long,
    /** Where to start. */
    val resume: Long,
    /** 0 while it is unknown. */
    val dur: Long = 0,
    val watched: Long = 0,
    val device: String? = null,
    /** From 0 to 1, of a known length. */
    val progress: Double? = null,
    val finished: Boolean = false,
) {
    val content get() = Content(kind, oid)

    internal fun isNewerThan(other: Record) =
        compareValuesBy(this, other, { it.at }, { it.session.toULong() }) > 0
}
