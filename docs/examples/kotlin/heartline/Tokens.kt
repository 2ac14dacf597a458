package heartline

import kotlin.coroutines.cancellation.CancellationException

/** The tokens of the user, which the app fetches. */
internal class Tokens(private val fetch: suspend (refused: Boolean) -> String, private val fault: (String) -> Unit) {
    /** The newest. */
    var current: String? = null
        private set

    /** The one that was not accepted. It is not sent again. */
    private var refused: String? = null

    suspend fun fresh(): String {
        val token = try {
            fetch(refused != null)
        } catch (error: CancellationException) {
            throw error
        } catch (error: Exception) { // the app's own
            fault("no token: $error")
            throw HeartlineException("no_token", error.toString(), retry = true)
        }
        current = token
        return token
    }

    fun isRefused(token: String) = token == refused

    fun refuse() {
        refused = current
    }

    fun accept() {
        refused = null
    }
}
