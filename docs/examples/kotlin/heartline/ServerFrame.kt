package heartline

import kotlinx.serialization.SerialName
import kotlinx.serialization.Serializable
import kotlinx.serialization.json.Json

/** The wire. What a later version adds is left alone, and what is missing is left out. */
internal val WIRE = Json {
    ignoreUnknownKeys = true
    coerceInputValues = true
    explicitNulls = false
}

/** What the gateway says over a socket: one of these, or what this client does not know. */
@Serializable
internal data class ServerFrame(
    val welcome: Welcome? = null,
    val ack: Ack? = null,
    val result: Answer? = null,
    val error: Refusal? = null,
    val push: Push? = null,
    val reward: Reward? = null,
    val bye: Bye? = null,
) {
    /** Covers every frame up to `seq`. */
    @Serializable
    data class Ack(
        val seq: Long,
        val now: Long? = null,
        val flag: String? = null,
        val rejected: List<Rejection> = emptyList(),
    )

    @Serializable
    data class Refusal(val seq: Long? = null, val code: String, val message: String, val retry: Boolean)

    /** What changed on another device of the user. */
    @Serializable
    data class Push(val record: Record? = null, val flag: String? = null)

    @Serializable
    data class Bye(val reason: String, @SerialName("reconnect_after") val reconnectAfter: Long)
}
