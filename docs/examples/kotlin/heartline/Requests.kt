package heartline

import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.withTimeoutOrNull
import kotlin.time.Duration

/** What waits for its answer, over this connection or the next. */
internal class Requests(private val added: () -> Unit) {
    private class Request(val frame: (Long) -> ClientFrame) {
        val answer = CompletableDeferred<Answer>()
        var seq: Long? = null
    }

    private val waiting = mutableListOf<Request>()

    val areOwed get() = waiting.isNotEmpty()
    val areUnsent get() = waiting.any { it.seq == null }

    /** Asks, and again after a reconnect. The frame is made when it is sent. */
    suspend fun ask(timeout: Duration, frame: (Long) -> ClientFrame): Answer {
        val request = Request(frame)
        waiting += request
        added()
        try {
            return withTimeoutOrNull(timeout) { request.answer.await() }
                ?: throw HeartlineException("timeout", "no answer within $timeout", retry = true)
        } finally {
            waiting -= request
        }
    }

    fun next(seq: Long): ClientFrame {
        val request = waiting.first { it.seq == null }
        request.seq = seq
        return request.frame(seq)
    }

    fun answered(answer: Answer) {
        of(answer.seq)?.answer?.complete(answer)
    }

    fun refused(error: ServerFrame.Refusal) {
        of(error.seq)?.answer?.completeExceptionally(HeartlineException(error.code, error.message, error.retry))
    }

    fun disconnected() {
        waiting.forEach { it.seq = null }
    }

    /** While there is no socket: lets what asks for records be answered by other means. */
    suspend fun answerGets(answer: suspend (ClientFrame.Contents) -> Answer) {
        for (request in waiting.toList()) {
            val contents = request.frame(0).get ?: continue
            request.answer.complete(answer(contents))
        }
    }

    private fun of(seq: Long?) = waiting.find { it.seq != null && it.seq == seq }
}
