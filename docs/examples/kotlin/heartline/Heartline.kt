package heartline

import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.Job
import kotlinx.coroutines.SupervisorJob
import kotlinx.coroutines.cancelAndJoin
import kotlinx.coroutines.delay
import kotlinx.coroutines.flow.MutableSharedFlow
import kotlinx.coroutines.flow.SharedFlow
import kotlinx.coroutines.job
import kotlinx.coroutines.launch
import okhttp3.OkHttpClient
import kotlin.time.Duration
import kotlin.time.Duration.Companion.seconds

internal val REQUEST_TIMEOUT = 10.seconds

/**
 * A Heartline client to start from: it follows docs/clients.md.
 *
 *     val heartline = Heartline(url, "42", "pixel-9", FileStorage(file), scope) { refused -> api.token(refused) }
 *     heartline.start()
 *     val playback = heartline.resume(source, Content(1, "100")) // goes where the viewer was, and reports from then on
 *
 * `scope` has a single thread, on which everything here is called: on Android `MainScope()`. Nothing blocks it.
 *
 * Flow: player -> [Playback] (makes beats) -> [Outbox] (keeps them) -> [Delivery] (frames, acks) -> [Connection].
 *
 * @param token fetches a token; another one than before if that was refused
 * @param elapsed milliseconds of a clock that goes on while the device sleeps; on Android
 *     `SystemClock::elapsedRealtime`
 */
class Heartline(
    url: String,
    user: String,
    device: String,
    storage: Storage,
    scope: CoroutineScope,
    http: OkHttpClient = OkHttpClient(),
    elapsed: () -> Long = { System.nanoTime() / 1_000_000 },
    token: suspend (refused: Boolean) -> String,
) {
    private val job = SupervisorJob(scope.coroutineContext.job)
    private val scope = CoroutineScope(scope.coroutineContext + job)
    private val playbacks = mutableListOf<Playback>()
    private val seen = Seen()
    private val rewardsSeen = MutableSharedFlow<Reward>(extraBufferCapacity = 16)
    private val faultsSeen = MutableSharedFlow<String>(extraBufferCapacity = 16)

    /** The user's first watches of the day, as they come. */
    val rewards: SharedFlow<Reward> get() = rewardsSeen

    /** What needs a developer: a refused token, a beat that cannot be sent. */
    val faults: SharedFlow<String> get() = faultsSeen

    private val reactions = object : Delivery.Reactions {
        override fun stored(entry: Entry) {
            if (!outbox.settle(entry)) return
            entry.beat.at?.let { seen.saw(entry.beat.content, it) }
            playbacks.forEach { it.stored(entry.beat) }
        }

        /** That is an answer, too: the beat is not sent again. */
        override fun rejected(entry: Entry, reason: String, record: Record?) {
            outbox.settle(entry)
            playbacks.forEach { it.rejected(entry, reason) }
            if (record == null) return
            seen.saw(record.content, record.at)
            if (reason == "superseded") playbacks.toList().forEach { it.takenOver(record, superseded = true) }
        }

        override fun fault(text: String) = this@Heartline.fault(text)
    }

    private val clock = Clock(elapsed)
    private val outbox = Outbox(storage, ::fault)
    private val tokens = Tokens(token, ::fault)
    private val delivery = Delivery(outbox, device, reactions)
    private val posts = Posts(http, url, device, tokens, clock, outbox, delivery, reactions) { rewardsSeen.tryEmit(it) }
    private val connector = Connector(http, url, user, tokens, clock, outbox, delivery, posts, ::told, ::fault)

    private val client = object : Playback.Client {
        override val clock get() = this@Heartline.clock
        override val interval get() = delivery.interval
        override val sessions = mutableSetOf<String>()

        override fun put(entry: Entry) {
            outbox.put(entry)
            if (!entry.held) delivery.send(listOf(entry))
        }

        override fun release(content: Content) = delivery.send(outbox.release(content))
        override fun ownNewest(content: Content, but: String) = outbox.newest(content, but)
        override fun acted() = connector.tell(Attempts.Event.VIEWER_ACTED)

        override fun stopped(playback: Playback) {
            playbacks -= playback
        }
    }

    /** Connects, and stays connected. */
    fun start() {
        scope.launch {
            outbox.load()
            launch { outbox.keep() }
            connector.run(scope)
        }
    }

    /** Goes where the viewer was, and reports from then on. It plays nothing by itself, and need not be waited for. */
    fun resume(
        source: ProgressSource,
        content: Content,
        onElsewhere: (Record) -> Unit = {},
        onOffer: (Record) -> Unit = {},
    ): Playback {
        val playback = Playback(client, scope, source, content, onElsewhere, onOffer)
        playbacks += playback
        scope.launch { findPlace(playback) }
        return playback
    }

    suspend fun get(contents: List<Content>, timeout: Duration = REQUEST_TIMEOUT): Answer =
        shown(delivery.requests.ask(timeout) { ClientFrame(it, get = ClientFrame.Contents(contents)) })

    /** The newest first. `finished = false`: what the user can continue. */
    suspend fun list(
        limit: Int? = null,
        cursor: String? = null,
        kinds: List<Int>? = null,
        finished: Boolean? = null,
        timeout: Duration = REQUEST_TIMEOUT,
    ): Answer {
        val wish = ClientFrame.PageWish(limit, cursor, kinds, finished)
        return shown(delivery.requests.ask(timeout) { ClientFrame(it, list = wish) })
    }

    suspend fun delete(contents: List<Content>, timeout: Duration = REQUEST_TIMEOUT) {
        delivery.requests.ask(timeout) { seq ->
            ClientFrame(seq, delete = ClientFrame.Deletion(contents, maxOf(clock.now ?: 0, seen.newestOf(contents))))
        }
    }

    /** Removes everything of the user. */
    suspend fun clear(timeout: Duration = REQUEST_TIMEOUT) {
        delivery.requests.ask(timeout) { seq ->
            ClientFrame(seq, clear = ClientFrame.Clearing(maxOf(clock.now ?: 0, seen.newest())))
        }
    }

    /** The app goes to the background, and may end there: call it in `onStop` of `ProcessLifecycleOwner`. */
    suspend fun hide() {
        playbacks.forEach { it.hidden() }
        posts.flush()
    }

    /** A network is there again: call it in `ConnectivityManager.NetworkCallback.onAvailable`. */
    fun networkCame() = connector.tell(Attempts.Event.NETWORK_CAME)

    /** The viewer has done something. What waits for that goes on. */
    fun acted() = connector.tell(Attempts.Event.VIEWER_ACTED)

    /** Sends what is left, and ends. */
    suspend fun close() {
        posts.flush()
        abort()
    }

    /** Ends without a word. */
    suspend fun abort() = job.cancelAndJoin()

    /** Asks until it is answered, whatever happens in between. */
    private suspend fun findPlace(playback: Playback) {
        var wait = 1.seconds
        while (!playback.isStopped) {
            try {
                val answer = get(listOf(playback.content))
                val record = answer.records.firstOrNull()
                if (record != null || !answer.partial) return playback.known(record)
            } catch (_: HeartlineException) {
                // It is asked again.
            }
            delay(wait)
            wait = (wait * 2).coerceAtMost(30.seconds)
        }
    }

    private fun shown(answer: Answer): Answer = answer.also {
        it.records.filterNotNull().forEach { record -> seen.saw(record.content, record.at) }
    }

    private fun told(frame: ServerFrame) {
        frame.reward?.let(rewardsSeen::tryEmit)
        val push = frame.push ?: return
        delivery.learn(push.flag)
        val record = push.record ?: return
        seen.saw(record.content, record.at)
        playbacks.toList().forEach { it.takenOver(record, superseded = false) }
    }

    private fun fault(text: String) {
        faultsSeen.tryEmit(text)
    }
}
