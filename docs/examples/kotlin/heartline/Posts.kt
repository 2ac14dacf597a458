package heartline

import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.delay
import kotlinx.coroutines.runInterruptible
import kotlinx.serialization.SerializationException
import kotlinx.serialization.Serializable
import okhttp3.MediaType.Companion.toMediaType
import okhttp3.OkHttpClient
import okhttp3.Request
import okhttp3.RequestBody.Companion.toRequestBody
import java.io.IOException

/** What goes over HTTP: beats when the app is hidden, and where no socket can be opened. */
internal class Posts(
    private val http: OkHttpClient,
    private val url: String,
    private val device: String,
    private val tokens: Tokens,
    private val clock: Clock,
    private val outbox: Outbox,
    private val delivery: Delivery,
    private val reactions: Delivery.Reactions,
    private val rewarded: (Reward) -> Unit,
) {
    @Serializable
    private data class Body(val items: List<Beat>, val device: String, val flag: String?, val connection: String?)

    @Serializable
    private data class PostAnswer(
        val now: Long,
        val flag: String? = null,
        val rejected: List<Rejection> = emptyList(),
        val rewards: List<Reward> = emptyList(),
    )

    /** Sends what is unanswered, the newest first. It is kept until that is answered. Returns whether it was. */
    suspend fun flush(): Boolean {
        val entries = newestThatFit()
        return entries.isEmpty() || post(entries)
    }

    private fun newestThatFit(): List<Entry> {
        var size = WIRE.encodeToString(body(emptyList())).length
        return outbox.sendable().asReversed().take(delivery.limits.beats).takeWhile {
            size += WIRE.encodeToString(it.beat).length + 1
            size <= BYTES_MAX
        }
    }

    private fun body(entries: List<Entry>) = Body(entries.map { it.beat }, device, delivery.flag, delivery.connection)

    /** Without beats it asks for the server's time. */
    private suspend fun post(entries: List<Entry>): Boolean = answered {
        outbox.save()
        val answer = WIRE.decodeFromString<PostAnswer>(request("/v1/beats", WIRE.encodeToString(body(entries))))
        clock.rebase(answer.now)
        outbox.stamp(clock)
        delivery.learn(answer.flag)
        answer.rejected.forEach { reactions.rejected(entries[it.index], it.reason, it.record) }
        entries.forEach(reactions::stored)
        answer.rewards.forEach(rewarded)
    }

    /** While no socket can be opened: once per interval, and less often where HTTP fails, too. */
    suspend fun insteadOfSockets() {
        var failed = 0
        while (delivery.connection == null) {
            val sent = if (clock.now == null) post(emptyList()) else flush()
            val asked = answered { delivery.requests.answerGets(::records) }
            failed = if (sent && asked) 0 else failed + 1
            delay((delivery.interval shl failed.coerceAtMost(DOUBLINGS_MAX)).coerceAtMost(LONGEST_WAIT_MS))
        }
    }

    private suspend fun records(contents: ClientFrame.Contents): Answer =
        WIRE.decodeFromString(request("/v1/history/get", WIRE.encodeToString(contents)))

    private suspend fun answered(work: suspend () -> Unit): Boolean = try {
        work()
        true
    } catch (_: IOException) {
        false
    } catch (_: SerializationException) {
        false
    }

    private suspend fun request(path: String, body: String): String {
        val token = tokens.current ?: throw IOException("no token yet")
        val request = Request.Builder()
            .url(url + path)
            .header("Authorization", "Bearer $token")
            .post(body.toRequestBody(JSON_TYPE))
            .build()
        return runInterruptible(Dispatchers.IO) {
            http.newCall(request).execute().use { response ->
                if (!response.isSuccessful) throw IOException("HTTP ${response.code}")
                response.body.string()
            }
        }
    }

    private companion object {
        const val BYTES_MAX = 60 * 1024
        const val LONGEST_WAIT_MS = 30_000L
        const val DOUBLINGS_MAX = 6
        val JSON_TYPE = "application/json".toMediaType()
    }
}
