package heartline

import kotlinx.serialization.Serializable

/** The user's first watch of a day. Show it; what is paid for it is decided by the back-end. */
@Serializable
data class Reward(val id: String, val rule: String, val day: String, val kind: Int? = null, val oid: String? = null)
