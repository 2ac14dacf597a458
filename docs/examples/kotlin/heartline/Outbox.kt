package heartline

import kotlinx.coroutines.channels.Channel
import kotlinx.coroutines.sync.Mutex
import kotlinx.coroutines.sync.withLock
import java.io.IOException

/** The beats of one user that have no answer yet. They outlive the process. */
internal class Outbox(private val storage: Storage, private val fault: (String) -> Unit) {
    private val entries = mutableListOf<Entry>() // in the order of making
    private var changes = 0L
    private var written = 0L
    private val writing = Mutex()
    private val changed = Channel<Unit>(Channel.CONFLATED)

    /** What an earlier process left. */
    suspend fun load() {
        try {
            storage.read()?.let { entries.addAll(0, WIRE.decodeFromString<List<Entry>>(it)) }
        } catch (error: IOException) {
            fault("the outbox cannot be read: $error")
        } catch (error: IllegalArgumentException) {
            fault("the outbox is damaged: $error")
        }
    }

    /** Writes what changes, until it is cancelled. */
    suspend fun keep() {
        for (change in changed) save()
    }

    /** Returns when all is written. */
    suspend fun save() = writing.withLock {
        while (written < changes) {
            val change = changes
            try {
                storage.write(WIRE.encodeToString(entries.toList()))
            } catch (error: IOException) {
                fault("the outbox cannot be written, and stays in memory: $error")
            }
            written = change
        }
    }

    fun put(entry: Entry) {
        entries += entry
        thin(entry.beat.session)
        if (entries.size > BEATS_MAX) fault("dropped, since the outbox is full: ${entries.removeFirst().beat}")
        change()
    }

    /** Forgets a beat that was answered. Returns whether it was there. */
    fun settle(entry: Entry): Boolean = entries.remove(entry).also { if (it) change() }

    /** The oldest first. */
    fun sendable(): List<Entry> =
        entries.filter { !it.held && it.beat.at != null }.sortedBy { it.beat.at }

    /** It is known where the viewer was in this content. Returns what may be sent from now on. */
    fun release(content: Content): List<Entry> {
        val released = entries.filter { it.held && it.beat.content == content }
        released.forEach { it.held = false }
        if (released.isNotEmpty()) change()
        return released.filter { it.beat.at != null }
    }

    /** Gives beats that were made without the server's clock their `at`, once and for all, before they are sent. */
    fun stamp(clock: Clock) {
        val following = mutableMapOf<String, Long>() // within a session no two get the same
        for (entry in entries.asReversed().filter { it.beat.at == null }) {
            val session = entry.beat.session
            val at = minOf(clock.at(entry.made) ?: return, (following[session] ?: Long.MAX_VALUE) - 1)
            following[session] = at
            entry.beat = entry.beat.copy(at = at)
            change()
        }
    }

    /** The newest beat of a content that another session has made. */
    fun newest(content: Content, but: String): Beat? =
        entries.map { it.beat }
            .filter { it.content == content && it.session != but && it.at != null }
            .maxWithOrNull(compareBy({ it.at }, { it.session.toULong() }))

    /** The newest beat says where the viewer is; some earlier ones count if it is rejected. They become sparse. */
    private fun thin(session: String) {
        val own = entries.filter { it.beat.session == session }
        if (own.size <= SESSION_MAX) return
        val (older, _) = own.zipWithNext().minBy { (older, newer) -> newer.made - older.made }
        entries -= older
    }

    private fun change() {
        changes++
        changed.trySend(Unit)
    }

    private companion object {
        const val SESSION_MAX = 24
        const val BEATS_MAX = 512
    }
}
