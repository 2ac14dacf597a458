package heartline

import kotlinx.serialization.Serializable

/** Names what is played: `kind` 1 is a video, 2 live, 3 an article; `oid` are the digits of a number of 64 bits. */
@Serializable
data class Content(val kind: Int, val oid: String)
