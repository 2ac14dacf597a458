package heartline

import kotlinx.serialization.SerialName
import kotlinx.serialization.Serializable

@Serializable
internal data class Welcome(
    val mid: String,
    /** The user's name, where users have names. */
    val sub: String? = null,
    val connection: String,
    val now: Long,
    val interval: Long,
    val expires: Long,
    val flag: String? = null,
    val limits: Limits = Limits(),
) {
    val user get() = sub ?: mid

    @Serializable
    data class Limits(
        val beats: Int = 500,
        @SerialName("frames_per_second") val framesPerSecond: Int = 20,
        val burst: Int = 100,
        val idle: Long = 75_000,
    )
}
