package heartline

import kotlinx.coroutines.channels.Channel

/** Decides what is said next, and knows which beats each frame had until the gateway has answered it. */
internal class Delivery(private val outbox: Outbox, private val device: String, private val reactions: Reactions) {
    /** What follows from an answer. */
    interface Reactions {
        fun stored(entry: Entry)
        fun rejected(entry: Entry, reason: String, record: Record?)
        fun fault(text: String)
    }

    private var welcome: Welcome? = null
    private var helloDue = false
    private val unsent = ArrayDeque<Entry>()
    private val suspects = ArrayDeque<Entry>() // of a refused frame: each goes alone, so that only the bad one is lost
    private val frames = sortedMapOf<Long, List<Entry>>()

    /** Tells that there may be something to say. */
    val news = Channel<Unit>(Channel.CONFLATED)
    val requests = Requests { news.trySend(Unit) }

    /** The newest that the gateway has told. None is made up. */
    var flag: String? = null
        private set

    /** The name of the open connection. */
    var connection: String? = null
        private set

    val limits get() = welcome?.limits ?: Welcome.Limits()
    val interval get() = welcome?.interval ?: INTERVAL_MS
    val owesAnswers get() = frames.isNotEmpty() || requests.areOwed
    val hasSomethingToSay get() = helloDue || suspects.isNotEmpty() || unsent.isNotEmpty() || requests.areUnsent

    fun begin(welcome: Welcome) {
        this.welcome = welcome
        connection = welcome.connection
        learn(welcome.flag)
        frames.clear()
        suspects.clear()
        unsent.clear()
        unsent += outbox.sendable()
        helloDue = true
        news.trySend(Unit)
    }

    fun end() {
        connection = null
        requests.disconnected()
    }

    /** Without a connection they wait in the outbox. */
    fun send(entries: List<Entry>) {
        if (connection == null) return
        unsent += entries.filter { it.beat.at != null }
        news.trySend(Unit)
    }

    fun learn(flag: String?) {
        if (flag != null && flag > (this.flag ?: "")) this.flag = flag
    }

    /** Beats come before requests, which then see them. */
    fun next(seq: Long): ClientFrame = when {
        helloDue -> {
            helloDue = false
            ClientFrame(seq, hello = ClientFrame.Hello(device, CLIENT))
        }
        suspects.isNotEmpty() -> {
            helloDue = true // a valid frame after each: three refused ones in a row close the socket
            beats(seq, listOf(suspects.removeFirst()))
        }
        unsent.isNotEmpty() -> beats(seq, List(minOf(limits.beats, unsent.size)) { unsent.removeFirst() })
        else -> requests.next(seq)
    }

    private fun beats(seq: Long, entries: List<Entry>): ClientFrame {
        frames[seq] = entries
        return ClientFrame(seq, beats = ClientFrame.Beats(entries.map { it.beat }, flag))
    }

    fun acked(ack: ServerFrame.Ack) {
        learn(ack.flag)
        for (rejection in ack.rejected) {
            val entry = frames[rejection.seq]?.getOrNull(rejection.index) ?: continue
            reactions.rejected(entry, rejection.reason, rejection.record)
        }
        val covered = frames.headMap(ack.seq + 1)
        covered.values.flatten().forEach(reactions::stored)
        covered.clear()
    }

    fun failed(error: ServerFrame.Refusal) {
        val entries = frames.remove(error.seq) ?: return requests.refused(error)
        if (error.retry) return // over the next connection
        if (entries.size > 1) {
            suspects += entries
            news.trySend(Unit)
        } else {
            reactions.fault("left out, since it is refused (${error.message}): ${entries.single().beat}")
            outbox.settle(entries.single())
        }
    }

    private companion object {
        const val CLIENT = "example-kotlin/1.0"
        const val INTERVAL_MS = 5_000L
    }
}
