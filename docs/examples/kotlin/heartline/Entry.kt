package heartline

import kotlinx.serialization.Serializable

/** A beat that has no answer yet. */
@Serializable
internal class Entry(
    var beat: Beat,
    /** The local time: until the server's clock is known, the beat has no `at`. */
    val made: Long,
    /** It waits until it is known where the viewer was. */
    var held: Boolean,
)
