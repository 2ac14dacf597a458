package heartline

/**
 * Has a position: a player, or a reader. All times are milliseconds. It is used on the client's thread only.
 *
 * Of a `Player` of Media3: `currentPosition`, `duration` (null for `C.TIME_UNSET`), `isPlaying` and `seekTo`.
 */
interface ProgressSource {
    val position: Long

    /** Null while it is unknown. */
    val duration: Long?

    val isPlaying: Boolean

    fun seekTo(position: Long)
}
