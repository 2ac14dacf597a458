package heartline

import java.io.IOException

/** A request that was not answered as it should be: a code of the protocol, or `timeout`. */
class HeartlineException(val code: String, message: String, val retry: Boolean) : IOException("$code: $message")
