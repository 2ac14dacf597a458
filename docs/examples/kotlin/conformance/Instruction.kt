package conformance

import kotlinx.serialization.SerialName
import kotlinx.serialization.Serializable

/** What the kit wants next. Each has what it needs of these. */
@Serializable
data class Instruction(
    @SerialName("do") val what: String,
    val url: String = "",
    val user: String = "",
    val kind: Int = 0,
    val oid: String = "",
    val dur: Long = 0,
    val pos: Long = 0,
    val ms: Long = 0,
)
