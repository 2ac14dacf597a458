package heartline

import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.channels.Channel
import kotlinx.coroutines.channels.ReceiveChannel
import kotlinx.serialization.Serializable
import okhttp3.OkHttpClient
import okhttp3.Request
import okhttp3.Response
import okhttp3.WebSocket
import okhttp3.WebSocketListener

/** A WebSocket of OkHttp, whose callbacks come on threads of its own, as a channel. OkHttp answers pings. */
internal class Socket(http: OkHttpClient, url: String, token: String) : WebSocketListener() {
    private val incoming = Channel<String>(Channel.UNLIMITED)
    private val ended = CompletableDeferred<End>()

    // The token is never in the URL: URLs are logged.
    private val socket: WebSocket = http.newWebSocket(
        Request.Builder()
            .url("$url/v1/connect")
            .header("Authorization", "Bearer $token")
            .header("Sec-WebSocket-Protocol", "heartline.v1.json")
            .build(),
        this,
    )

    /** Closed when the connection has ended. */
    val messages: ReceiveChannel<String> get() = incoming

    suspend fun end(): End = ended.await()

    fun send(text: String) {
        socket.send(text)
    }

    fun abort() {
        socket.cancel()
    }

    override fun onMessage(webSocket: WebSocket, text: String) {
        incoming.trySend(text)
    }

    override fun onClosing(webSocket: WebSocket, code: Int, reason: String) {
        webSocket.close(NORMAL, null)
        end(End(code, reason))
    }

    override fun onFailure(webSocket: WebSocket, t: Throwable, response: Response?) {
        val refused = response?.code == UNAUTHORIZED
        end(if (refused) End(End.REFUSED, response.reason()) else End.lost(t.toString()))
    }

    private fun end(end: End) {
        ended.complete(end)
        incoming.close()
    }

    private fun Response.reason(): String =
        runCatching { WIRE.decodeFromString<Problem>(body.string()).detail }.getOrDefault(message)

    @Serializable
    private data class Problem(val detail: String)

    private companion object {
        const val NORMAL = 1000
        const val UNAUTHORIZED = 401
    }
}
