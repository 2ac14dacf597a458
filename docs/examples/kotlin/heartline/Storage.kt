package heartline

import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.withContext
import java.io.File
import java.nio.file.Files
import java.nio.file.StandardCopyOption.ATOMIC_MOVE

/** Keeps one text per user, also when the process is killed. */
interface Storage {
    /** Null if there is none yet. */
    suspend fun read(): String?

    /** In one step: a text that is half written would lose all of it. */
    suspend fun write(text: String)
}

/** A file of the app: `File(context.filesDir, "heartline/$user.json")`. */
class FileStorage(private val file: File) : Storage {
    override suspend fun read() = withContext(Dispatchers.IO) {
        if (file.exists()) file.readText() else null
    }

    override suspend fun write(text: String) = withContext<Unit>(Dispatchers.IO) {
        file.absoluteFile.parentFile.mkdirs()
        val half = file.resolveSibling("${file.name}.new")
        half.writeText(text)
        Files.move(half.toPath(), file.toPath(), ATOMIC_MOVE)
    }
}
