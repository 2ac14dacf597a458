package heartline

import kotlinx.coroutines.cancelChildren
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.delay
import kotlinx.coroutines.flow.MutableStateFlow
import kotlinx.coroutines.flow.collectLatest
import kotlinx.coroutines.launch
import kotlinx.serialization.SerializationException

/** One connection, from its welcome to its end. */
internal class Connection(
    private val socket: Socket,
    private val delivery: Delivery,
    private val outbox: Outbox,
    private val tokens: Tokens,
    private val clock: Clock,
    private val told: (ServerFrame) -> Unit,
) {
    private var seq = 0L
    private var bye: ServerFrame.Bye? = null

    /** Since when an answer is owed while nothing comes. */
    private val silentSince = MutableStateFlow<Long?>(null)

    suspend fun run(welcome: Welcome): End = coroutineScope {
        launch { write(Allowance(welcome.limits)) }
        launch { renew(welcome.expires) }
        launch { watch(welcome.limits.idle) }
        try {
            for (text in socket.messages) {
                silentSince.value = if (delivery.owesAnswers) clock.local else null
                received(WIRE.decodeFromString<ServerFrame>(text))
            }
            socket.end().copy(bye = bye)
        } catch (error: SerializationException) {
            End.lost("not a frame: $error")
        } finally {
            coroutineContext.cancelChildren()
        }
    }

    private suspend fun write(allowance: Allowance) {
        while (true) {
            if (!maySpeak()) {
                delivery.news.receive()
                continue
            }
            allowance.take()
            outbox.save() // what is sent is on disk, so that the same moment never gets two times
            if (!maySpeak()) continue // what was to be sent was given up meanwhile
            silentSince.compareAndSet(null, clock.local)
            socket.send(WIRE.encodeToString(delivery.next(++seq)))
        }
    }

    /** What comes after a `bye` is dropped. */
    private fun maySpeak() = bye == null && delivery.hasSomethingToSay

    /** Renews the token in place, before it ends. */
    private suspend fun renew(expires: Long) {
        var end = expires
        while (true) {
            val left = end - checkNotNull(clock.now)
            delay((left - minOf(RENEW_AHEAD_MS, left / 4)).coerceAtLeast(LEAST_WAIT_MS))
            try {
                val renewal = ClientFrame.Renewal(tokens.fresh())
                end = delivery.requests.ask(REQUEST_TIMEOUT) { ClientFrame(it, token = renewal) }.expires ?: end
            } catch (_: HeartlineException) {
                // The gateway closes with 4002 when the old one ends.
            }
        }
    }

    /** An answer is owed, and nothing came for too long: the other end is gone. */
    private suspend fun watch(idle: Long) {
        silentSince.collectLatest { since ->
            if (since == null) return@collectLatest
            delay(idle)
            socket.abort()
        }
    }

    /** What it does not know it leaves alone. */
    private fun received(frame: ServerFrame) {
        frame.ack?.let { ack ->
            ack.now?.let(clock::rebase)
            delivery.acked(ack)
        }
        frame.result?.let(delivery.requests::answered)
        frame.error?.let(delivery::failed)
        frame.bye?.let { bye = it }
        told(frame)
    }

    private companion object {
        const val RENEW_AHEAD_MS = 60_000L
        const val LEAST_WAIT_MS = 1_000L
    }
}
