package conformance

import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking
import okhttp3.OkHttpClient
import kotlin.system.exitProcess

/**
 * The client of this folder at `heartline conformance`: the kit's address, and how many scenarios are played at once.
 *
 * A harness asks for the next instruction, does it, and asks again. So does each worker, side by side with the others.
 * All run on this thread, as an app has its main thread.
 */
fun main(arguments: Array<String>) {
    val http = OkHttpClient()
    val kit = Kit(arguments[0], http)
    val workers = arguments.getOrElse(1) { "1" }.toInt()
    runBlocking {
        coroutineScope {
            repeat(workers) { worker -> launch { work(worker, kit, http, this@runBlocking) } }
        }
    }
    exitProcess(0) // threads of OkHttp wait for further requests
}

private suspend fun work(worker: Int, kit: Kit, http: OkHttpClient, scope: CoroutineScope) {
    var device: Device? = null
    while (true) {
        val instruction = kit.next(worker)
        when (instruction.what) {
            "done" -> return
            "start" -> device = Device(instruction, kit, http, scope)
            else -> device?.carryOut(instruction)
        }
    }
}
