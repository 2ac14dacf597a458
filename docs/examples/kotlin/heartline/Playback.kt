package heartline

import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.Job
import kotlinx.coroutines.delay
import kotlinx.coroutines.launch
import kotlin.random.Random
import kotlin.random.nextULong

/**
 * Follows one player, and makes the beats of its content.
 *
 * The owner of the player tells what the viewer and the player do: [started], [paused], [seeked] and [ended]. With
 * Media3 that is a `Player.Listener`: `onPlayWhenReadyChanged`, `onPositionDiscontinuity` with
 * `DISCONTINUITY_REASON_SEEK`, and `onPlaybackStateChanged` with `STATE_ENDED`.
 */
class Playback internal constructor(
    private val client: Client,
    private val scope: CoroutineScope,
    private val source: ProgressSource,
    val content: Content,
    private val onElsewhere: (Record) -> Unit,
    private val onOffer: (Record) -> Unit,
) {
    /** What a playback needs of the client. */
    internal interface Client {
        val clock: Clock
        val interval: Long

        /** The sessions of this process. */
        val sessions: MutableSet<String>

        fun put(entry: Entry)
        fun release(content: Content)
        fun ownNewest(content: Content, but: String): Beat?
        fun acted()
        fun stopped(playback: Playback)
    }

    private var held = true // it is not known yet where the viewer was
    private var moved = false // meanwhile the viewer has seeked, or watched on
    private var silent = false // another device has taken over, and the viewer has not acted here since
    private var suspended = false
    private var over = false
    private var pos = source.position

    // Media: all that was played here, what of it belongs to earlier sessions, and what is stored.
    private var played = 0L
    private var counted = 0L
    private var accepted = 0L
    private var session = newSession()

    private var last: Entry? = null
    private var refused = false // the last beat was
    private var ticking: Job? = null

    var isStopped = false
        private set

    /** The viewer starts, or goes on. */
    fun started() {
        acts()
        if (over) replay()
        advance()
        make(State.PLAYING)
        ticking?.cancel()
        ticking = scope.launch { tick() }
    }

    fun paused() {
        ticking?.cancel()
        advance()
        make(State.PAUSED)
    }

    /** The viewer is somewhere else: what lies between was not played. */
    fun seeked() {
        acts()
        moved = true
        pos = source.position
        if (over) replay()
        make(State.SEEKED)
    }

    fun ended() {
        ticking?.cancel()
        advance()
        over = true
        make(State.ENDED)
    }

    /** What the player plays from now on is not the content. */
    fun beginAdvertisement() {
        advance()
        suspended = true
    }

    /** The player is back where it was. */
    fun endAdvertisement() {
        suspended = false
        pos = source.position
    }

    fun stop() {
        if (last?.beat?.state == State.PLAYING) paused()
        ticking?.cancel()
        isStopped = true
        client.stopped(this)
    }

    /** The app goes to the background, and may end there. */
    internal fun hidden() {
        if (!source.isPlaying) return
        advance()
        make(State.PLAYING)
    }

    /** It is known where the viewer was. Of the record and what was not sent yet, the newest counts. */
    internal fun known(stored: Record?) {
        if (!held || isStopped) return
        held = false
        val own = client.ownNewest(content, but = session)?.asRecord()
        val record = if (own != null && (stored == null || own.isNewerThan(stored))) own else stored
        when {
            record == null || record.resume == 0L -> Unit
            moved -> onOffer(record)
            else -> goTo(record.resume)
        }
        client.release(content)
        advance()
        make(if (source.isPlaying) State.PLAYING else State.PAUSED)
    }

    /** What was played until then is forgotten. */
    private fun goTo(place: Long) {
        played = 0
        accepted = 0
        session = newSession()
        pos = place
        source.seekTo(place)
    }

    internal fun stored(beat: Beat) {
        if (beat.session == session) accepted = maxOf(accepted, counted + beat.watched)
    }

    internal fun rejected(entry: Entry, reason: String) {
        if (entry !== last) return
        refused = true
        if (reason == "clock") make(entry.beat.state)
    }

    /** Another device plays on from here. What happens until the viewer acts here says nothing new. */
    internal fun takenOver(record: Record, superseded: Boolean) {
        if (record.content != content || record.session in client.sessions) return
        val at = last?.beat?.at ?: return
        if (record.at < at) return
        if (superseded || record.state == State.PLAYING || !source.isPlaying) {
            silent = true
            onElsewhere(record)
        }
    }

    private suspend fun tick() {
        while (true) {
            delay((client.interval / TICKS_OF_INTERVAL).coerceAtMost(TICK_MS_MAX))
            if (!source.isPlaying) continue // it waits for data
            advance()
            if (held && played > MOVED_MS) moved = true
            val made = last?.made
            if (made == null || client.clock.local - made >= client.interval) make(State.PLAYING)
        }
    }

    private fun newSession(): String = Random.nextULong().toString().also {
        client.sessions += it
        counted = accepted
    }

    private fun replay() {
        over = false
        pos = source.position
        played = 0
        accepted = 0
        session = newSession()
    }

    /** Makes a beat, if there is something to say. */
    private fun make(state: State) {
        if (suspended || isStopped || silent || (held && !moved)) return
        val now = client.clock.now
        var before = last?.beat?.at ?: 0
        if (now != null && before - now > AHEAD_MS_MAX) { // the clock has gone back by more than a little
            session = newSession()
            before = 0
        }
        val beat = beat(state)
        if (beat.watched <= 0 || repeats(beat)) return // nothing was played yet: a failed start erases no position
        val entry = Entry(beat.copy(at = now?.let { maxOf(it, before + 1) }), client.clock.local, held)
        last = entry
        refused = false
        client.put(entry)
    }

    private fun beat(state: State) = Beat(
        kind = content.kind,
        oid = content.oid,
        pos = source.position,
        state = state,
        session = session,
        watched = played - counted,
        dur = source.duration?.takeIf { it > 0 },
    )

    /** A new `at` would claim that the position is newer than what another device has played since. */
    private fun repeats(beat: Beat) = !refused && last?.beat?.copy(at = null) == beat

    private fun advance() {
        if (suspended) return
        if (source.position > pos) played += source.position - pos
        pos = source.position
    }

    private fun acts() {
        silent = false
        client.acted()
    }

    private companion object {
        /** A session whose newest `at` is further ahead of the clock cannot go on. */
        const val AHEAD_MS_MAX = 5_000L

        /** Who has watched so much has not merely let it run. */
        const val MOVED_MS = 5_000L
        const val TICKS_OF_INTERVAL = 5
        const val TICK_MS_MAX = 250L
    }
}
