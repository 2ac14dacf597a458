package conformance

import heartline.Content
import heartline.FileStorage
import heartline.Heartline
import heartline.HeartlineException
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.delay
import kotlinx.coroutines.launch
import okhttp3.OkHttpClient
import java.io.File
import kotlin.io.path.createTempDirectory

/** What a viewer has in hand in one scenario. */
class Device(
    private val start: Instruction,
    private val kit: Kit,
    private val http: OkHttpClient,
    private val scope: CoroutineScope,
) {
    private val folder: File = createTempDirectory("heartline").toFile()
    private var heartline = turnOn()
    private var player: TimedPlayer? = null
    private var content: Content? = null

    private fun turnOn(): Heartline {
        val storage = FileStorage(folder.resolve("outbox.json"))
        val heartline = Heartline(start.url, start.user, "kotlin", storage, scope, http) { kit.token(start.user) }
        heartline.start()
        return heartline
    }

    suspend fun carryOut(instruction: Instruction) {
        val content = Content(instruction.kind, instruction.oid)
        when (instruction.what) {
            "play" -> play(content, instruction.dur)
            "pause" -> player?.pause()
            "seek" -> player?.seek(instruction.pos)
            "advertise" -> player?.advertise(instruction.ms)
            "hide" -> tell { heartline.hide() }
            "delete" -> tell { delete(content) }
            "clear" -> tell { clear() }
            "reload" -> reload()
            "stop" -> stop()
            else -> error("unknown: $instruction")
        }
    }

    /** The harness does not wait for the client. */
    private fun tell(work: suspend () -> Unit) {
        scope.launch {
            try {
                work()
            } catch (error: HeartlineException) {
                System.err.println(error)
            }
        }
    }

    private fun play(content: Content, dur: Long) {
        if (content != this.content) {
            player?.run { halt(); playback.stop() }
            this.content = content
            player = TimedPlayer(dur, scope).also { it.playback = heartline.resume(it, content) }
        }
        player?.play()
    }

    /** It plays in the same player, which then goes on where it was. */
    private suspend fun TimedPlayer.advertise(ms: Long) {
        val place = position
        playback.beginAdvertisement()
        seekTo(0)
        delay(ms)
        seekTo(place)
        playback.endAdvertisement()
    }

    private suspend fun delete(content: Content) {
        heartline.get(listOf(content)) // as a page that shows it
        heartline.delete(listOf(content))
    }

    private suspend fun clear() {
        heartline.list()
        heartline.clear()
    }

    /** The process ends without a word, and another one begins with the same storage. */
    private suspend fun reload() {
        player?.halt()
        player = null
        content = null
        heartline.abort()
        heartline = turnOn()
    }

    private suspend fun stop() {
        player?.halt()
        heartline.abort()
        folder.deleteRecursively()
    }
}
