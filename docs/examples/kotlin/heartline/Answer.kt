package heartline

import kotlinx.serialization.Serializable

/** What the gateway answers a request. */
@Serializable
data class Answer(
    internal val seq: Long = 0,
    /** In the order that was asked for; null for a content that the user has not played. */
    val records: List<Record?> = emptyList(),
    /** Something could not be read just now: a null may be a record. */
    val partial: Boolean = false,
    /** Where the next page begins, if there is one. */
    val cursor: String? = null,
    internal val expires: Long? = null,
)
