package heartline

/** The newest `at` that was shown of each content, so that a delete covers all that the viewer sees. */
internal class Seen {
    private val newest = object : LinkedHashMap<Content, Long>() {
        override fun removeEldestEntry(eldest: Map.Entry<Content, Long>) = size > CONTENTS_MAX
    }

    fun saw(content: Content, at: Long) {
        newest[content] = maxOf(at, newest.remove(content) ?: 0)
    }

    fun newestOf(contents: Collection<Content>): Long = contents.maxOfOrNull { newest[it] ?: 0 } ?: 0

    fun newest(): Long = newestOf(newest.keys)

    private companion object {
        const val CONTENTS_MAX = 1_000
    }
}
