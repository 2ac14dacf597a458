package heartline

import kotlinx.serialization.Serializable

/** What the client says over a socket: `seq`, and one operation. */
@Serializable
internal data class ClientFrame(
    val seq: Long,
    val hello: Hello? = null,
    val beats: Beats? = null,
    val get: Contents? = null,
    val list: PageWish? = null,
    val delete: Deletion? = null,
    val clear: Clearing? = null,
    val token: Renewal? = null,
) {
    @Serializable
    data class Hello(val device: String, val client: String)

    @Serializable
    data class Beats(val items: List<Beat>, val flag: String?)

    @Serializable
    data class Contents(val items: List<Content>)

    @Serializable
    data class PageWish(val limit: Int?, val cursor: String?, val kinds: List<Int>?, val finished: Boolean?)

    @Serializable
    data class Deletion(val items: List<Content>, val at: Long)

    @Serializable
    data class Clearing(val at: Long)

    @Serializable
    data class Renewal(val token: String)
}
