package heartline

import kotlinx.serialization.SerialName
import kotlinx.serialization.Serializable

@Serializable
enum class State {
    @SerialName("playing") PLAYING,
    @SerialName("paused") PAUSED,
    @SerialName("seeked") SEEKED,
    @SerialName("ended") ENDED,
}
