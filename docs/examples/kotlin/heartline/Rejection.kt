package heartline

import kotlinx.serialization.Serializable

/** The answer to a beat that is not stored. `seq` is that of its frame; over HTTP there is none. */
@Serializable
internal data class Rejection(val seq: Long = 0, val index: Int, val reason: String, val record: Record? = null)
