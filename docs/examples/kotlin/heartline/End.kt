package heartline

/** How a connection, or an attempt, ended. */
internal data class End(val code: Int, val reason: String, val bye: ServerFrame.Bye? = null) {
    companion object {
        /** No close frame came, or no socket was opened. */
        const val LOST = 1006
        const val REFUSED = 4001
        const val TOO_MANY = 4004

        /** Not of the protocol: the token is of another user. */
        const val WRONG_USER = -1

        /** Bugs, and a user who was kicked: to try again would not help. */
        val FOR_GOOD = setOf(1002, 1003, 1007, 1009, 4000, 4003, WRONG_USER)

        fun lost(reason: String) = End(LOST, reason)
    }
}
