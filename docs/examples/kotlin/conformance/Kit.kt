package conformance

import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.runInterruptible
import kotlinx.serialization.Serializable
import kotlinx.serialization.json.Json
import okhttp3.OkHttpClient
import okhttp3.Request
import java.io.IOException
import java.time.Duration

/** `heartline conformance`, as harnesses see it. */
class Kit(private val url: String, http: OkHttpClient) {
    private val json = Json { ignoreUnknownKeys = true }
    private val http = http.newBuilder().readTimeout(Duration.ofSeconds(60)).build()

    @Serializable
    private data class Token(val token: String)

    suspend fun next(worker: Int): Instruction = json.decodeFromString(get("$url/conformance/next?worker=$worker"))

    suspend fun token(user: String): String =
        json.decodeFromString<Token>(get("$url/conformance/token?user=$user")).token

    private suspend fun get(url: String): String = runInterruptible(Dispatchers.IO) {
        http.newCall(Request.Builder().url(url).build()).execute().use { response ->
            if (!response.isSuccessful) throw IOException("HTTP ${response.code} of $url")
            response.body.string()
        }
    }
}
