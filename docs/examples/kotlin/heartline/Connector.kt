package heartline

import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.Job
import kotlinx.coroutines.flow.MutableSharedFlow
import kotlinx.coroutines.flow.first
import kotlinx.coroutines.launch
import kotlinx.coroutines.withTimeoutOrNull
import kotlinx.serialization.SerializationException
import okhttp3.OkHttpClient
import kotlin.time.Duration.Companion.seconds
import kotlin.time.TimeSource

/** One connection after the other, until nothing but a person could help. */
internal class Connector(
    http: OkHttpClient,
    private val url: String,
    private val user: String,
    private val tokens: Tokens,
    private val clock: Clock,
    private val outbox: Outbox,
    private val delivery: Delivery,
    private val posts: Posts,
    private val told: (ServerFrame) -> Unit,
    private val fault: (String) -> Unit,
) {
    // OkHttp tries some failures once more by itself, without a wait.
    private val http = http.newBuilder().retryOnConnectionFailure(false).build()
    private val attempts = Attempts()
    private val events = MutableSharedFlow<Attempts.Event>(extraBufferCapacity = 8)
    private var refusal = ""

    fun tell(event: Attempts.Event) {
        events.tryEmit(event)
    }

    suspend fun run(scope: CoroutineScope) {
        var withoutSockets: Job? = null
        while (true) {
            val end = attempt()
            when (val next = attempts.after(end)) {
                Attempts.Next.Never -> return fault("gave up: ${end.reason} (${end.code})")
                Attempts.Next.WhenTheViewerActs -> events.first { it == Attempts.Event.VIEWER_ACTED }
                is Attempts.Next.After -> withTimeoutOrNull(next.wait) { events.first { it == next.endedBy } }
            }
            if (attempts.failures >= FAILURES_MAX && withoutSockets?.isActive != true) {
                withoutSockets = scope.launch { posts.insteadOfSockets() }
            }
        }
    }

    /** From its token to its end. Each has a token of its own. */
    private suspend fun attempt(): End {
        val token = try {
            tokens.fresh()
        } catch (error: HeartlineException) {
            return End.lost(error.toString())
        }
        if (tokens.isRefused(token)) return End(End.REFUSED, refusal)
        attempts.begin()
        val socket = Socket(http, url, token)
        val end = try {
            talk(socket)
        } finally {
            delivery.end()
            socket.abort()
        }
        if (end.code == End.REFUSED) refused(end.reason)
        return end
    }

    private suspend fun talk(socket: Socket): End {
        val first = withTimeoutOrNull(WELCOME_TIMEOUT) { socket.messages.receiveCatching() }
            ?: return End.lost("no welcome within $WELCOME_TIMEOUT")
        val text = first.getOrNull() ?: return socket.end()
        val welcome = welcomeIn(text) ?: return End.lost("the first frame is no welcome")
        if (welcome.user != user) return End(End.WRONG_USER, "the token is of user ${welcome.user}")
        tokens.accept()
        attempts.welcomed()
        clock.rebase(welcome.now)
        outbox.stamp(clock)
        delivery.begin(welcome)
        val began = TimeSource.Monotonic.markNow()
        val end = Connection(socket, delivery, outbox, tokens, clock, told).run(welcome)
        attempts.lasted(began.elapsedNow())
        return end
    }

    private fun welcomeIn(text: String): Welcome? = try {
        WIRE.decodeFromString<ServerFrame>(text).welcome
    } catch (_: SerializationException) {
        null
    }

    private fun refused(reason: String) {
        fault("the gateway refused the token: $reason")
        refusal = reason
        if (Attempts.mayPass(reason)) tokens.accept() else tokens.refuse()
    }

    private companion object {
        val WELCOME_TIMEOUT = 15.seconds
        const val FAILURES_MAX = 3 // attempts without a welcome, and HTTP takes the place of sockets
    }
}
