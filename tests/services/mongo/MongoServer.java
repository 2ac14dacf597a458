import de.bwaldvogel.mongo.MongoCollection;
import de.bwaldvogel.mongo.MongoDatabase;
import de.bwaldvogel.mongo.MongoVersion;
import de.bwaldvogel.mongo.backend.CollectionOptions;
import de.bwaldvogel.mongo.backend.CursorRegistry;
import de.bwaldvogel.mongo.backend.Index;
import de.bwaldvogel.mongo.backend.IndexKey;
import de.bwaldvogel.mongo.backend.KeyValue;
import de.bwaldvogel.mongo.backend.QueryResult;
import de.bwaldvogel.mongo.backend.h2.H2Backend;
import de.bwaldvogel.mongo.backend.h2.H2Collection;
import de.bwaldvogel.mongo.backend.h2.H2Database;
import de.bwaldvogel.mongo.bson.Document;
import de.bwaldvogel.mongo.wire.message.MongoMessage;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.locks.ReentrantLock;
import org.h2.mvstore.MVMap;
import org.h2.mvstore.MVStore;

/**
 * A server for tests that speaks MongoDB's protocol: mongo-java-server on a file of H2. It is not mongod.
 *
 * <p>It has four things that the library lacks and that a test with crashes or load needs:
 *
 * <ol>
 *   <li>{@code j: true} and {@code w: "majority"} are honoured: the answer is sent after a commit and an fsync. Writers that
 *       wait at the same time share one. What is written without them is committed within 100 ms, as in mongod's journal, so
 *       a client that forgets them loses writes.
 *   <li>A commit never falls inside a command. One of H2's own could: the index of {@code _id} would be on disk without
 *       the document.
 *   <li>A query for {@code _id} and more uses the index. The library reads the whole collection.
 *   <li>An answer is a copy, made under the lock. The library sends the stored document, which the next update changes in
 *       place, so that a reader would see half an update.
 * </ol>
 *
 * <p>What it cannot show of mongod: users and passwords, TLS, sessions, transactions, replica sets and their failovers,
 * read concerns, write concern errors, TTL indexes, and speed. It has no primary that is overtaken by another, and takes any
 * read concern without a meaning. A command is written as a whole or not at all; mongod writes one document after the
 * other. Its error 11000 does not name the index.
 *
 * <p>Two faults that mongod may have, and this server would not, are on if their property is true:
 *
 * <ul>
 *   <li>{@code races}: the first guarded upsert of a document fails with 11000, as if another writer made it in the
 *       same moment.
 *   <li>{@code loses.majority}: an {@code update} that changes something is answered with a write concern error.
 * </ul>
 *
 * <p>Arguments: FILE ADDRESS PORT
 */
public class MongoServer {
    private static final Set<String> WRITES = Set.of("insert", "update", "delete", "findAndModify", "findandmodify");
    private static final Set<String> CATALOGUE =
        Set.of("create", "createIndexes", "dropIndexes", "drop", "dropDatabase", "renameCollection");
    /** What is not synced is committed so often. */
    private static final int COMMIT_MS = 100;
    /** Every commit is synced, so the space of older ones may be used soon. The default of 45 s lets the file grow. */
    private static final int RETENTION_MS = 1000;
    /** The file is made smaller each so many commits. */
    private static final int COMPACT_EVERY = 50;

    private static final boolean RACES = Boolean.getBoolean("races");
    private static final boolean LOSES_MAJORITY = Boolean.getBoolean("loses.majority");

    private static final ReentrantLock command = new ReentrantLock();
    private static final ReentrantLock commit = new ReentrantLock();
    /** Numbers of commands: the last that was applied, and the last that is on disk. */
    private static volatile long applied;
    private static volatile long durable;
    private static MVStore store;

    public static void main(String[] arguments) throws Exception {
        store = new MVStore.Builder().fileName(arguments[0]).autoCommitDisabled().cacheSize(64).open();
        store.setRetentionTime(RETENTION_MS);
        Backend backend = new Backend();
        backend.version(new Version());
        de.bwaldvogel.mongo.MongoServer server = new de.bwaldvogel.mongo.MongoServer(backend);
        Thread committer = new Thread(MongoServer::commitAtIntervals);
        committer.setDaemon(true);
        committer.start();
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            server.stopListening();
            // Never unlocked: no command follows.
            command.lock();
            store.close(500);
        }));
        server.bind(arguments[1], Integer.parseInt(arguments[2]));
        System.out.println("ready " + server.getLocalAddress());
    }

    /** Returns when the commands up to this one are on disk. */
    private static void flush(long upTo) {
        if (durable >= upTo) return;
        commit.lock();
        try {
            if (durable >= upTo) return;
            long last;
            command.lock();
            try {
                last = applied;
                store.commit();
            } finally {
                command.unlock();
            }
            store.sync();
            durable = last;
        } finally {
            commit.unlock();
        }
    }

    private static void commitAtIntervals() {
        try {
            for (int nth = 1; ; nth++) {
                Thread.sleep(COMMIT_MS);
                flush(applied);
                if (nth % COMPACT_EVERY == 0) {
                    command.lock();
                    try {
                        store.compact(70, 16 << 20);
                    } finally {
                        command.unlock();
                    }
                }
            }
        } catch (Throwable failure) {
            // mongod ends, too, when it cannot write.
            failure.printStackTrace();
            Runtime.getRuntime().halt(1);
        }
    }

    /** The library is MongoDB 4.2, which drivers of today refuse. */
    private static class Version implements MongoVersion {
        @Override
        public List<Integer> getVersionArray() {
            return List.of(5, 0, 0);
        }

        @Override
        public int getWireVersion() {
            return 13;
        }
    }

    private static class Backend extends H2Backend {
        /** Documents whose first upsert has failed. */
        private final Set<String> raced = new HashSet<>();

        Backend() {
            super(store);
        }

        @Override
        protected MongoDatabase openOrCreateDatabase(String name) {
            return new H2Database(name, store, getCursorRegistry()) {
                @Override
                protected MongoCollection<Object> openOrCreateCollection(String collection, CollectionOptions options) {
                    return new IndexedCollection(this, name + "." + collection, collection, options, cursorRegistry);
                }

                @Override
                protected Index<Object> openOrCreateUniqueIndex(
                        String collection, String index, List<IndexKey> keys, boolean sparse) {
                    // The library opens it by this name, and is given what is open.
                    store.openMap(name + "." + collection + "._index_" + index,
                        new MVMap.Builder<KeyValue, Object>().keyType(new StoredTypes.Keys()));
                    return super.openOrCreateUniqueIndex(collection, index, keys, sparse);
                }
            };
        }

        @Override
        public Document handleMessage(MongoMessage message) {
            Document asked = message.getDocument();
            String name = asked.isEmpty() ? "" : asked.keySet().iterator().next();
            if (name.equals("hello")) return hello(message, asked);
            boolean writes = WRITES.contains(name) || CATALOGUE.contains(name);
            Document answer;
            long number;
            command.lock();
            try {
                answer = (name.equals("update") ? update(message, asked) : super.handleMessage(message)).cloneDeeply();
                number = writes ? ++applied : applied;
            } finally {
                command.unlock();
            }
            if (writes && (CATALOGUE.contains(name) || isSynced(asked))) flush(number);
            return answer;
        }

        /** The library knows it by its old name only. */
        private Document hello(MongoMessage message, Document asked) {
            Document old = new Document("ismaster", 1);
            asked.forEach((field, value) -> {
                if (!field.equals("hello")) old.put(field, value);
            });
            Document answer = super.handleMessage(new MongoMessage(message.getChannel(), message.getHeader(), old));
            answer.put("isWritablePrimary", true);
            return answer;
        }

        private Document update(MongoMessage message, Document asked) {
            Document answer = RACES ? raced(message, asked) : super.handleMessage(message);
            boolean changes = answer.containsKey("upserted") || !Integer.valueOf(0).equals(answer.get("nModified"));
            if (LOSES_MAJORITY && changes) {
                answer.put("writeConcernError",
                    new Document("code", 64).append("errmsg", "waiting for replication timed out"));
            }
            return answer;
        }

        private Document raced(MongoMessage message, Document asked) {
            List<Document> statements = new ArrayList<>();
            List<Integer> places = new ArrayList<>();
            List<Document> errors = new ArrayList<>();
            int place = 0;
            for (Object each : (Collection<?>) asked.get("updates")) {
                Document statement = (Document) each;
                Document query = (Document) statement.get("q");
                boolean isGuarded = query.size() > 1 && Boolean.TRUE.equals(statement.get("upsert"));
                if (isGuarded && raced.add(asked.get("update") + " " + query.get("_id"))) {
                    errors.add(new Document("index", place).append("code", 11000).append("errmsg", "E11000"));
                } else {
                    statements.add(statement);
                    places.add(place);
                }
                place++;
            }
            Document rest = new Document(asked);
            rest.put("updates", statements);
            Document answer = statements.isEmpty()
                ? new Document("n", 0).append("ok", 1.0)
                : super.handleMessage(new MongoMessage(message.getChannel(), message.getHeader(), rest));
            for (Object each : (Collection<?>) answer.getOrDefault("writeErrors", List.of())) {
                Document error = (Document) each;
                error.put("index", places.get((Integer) error.get("index")));
                errors.add(error);
            }
            if (!errors.isEmpty()) answer.put("writeErrors", errors);
            return answer;
        }

        private static boolean isSynced(Document asked) {
            return asked.get("writeConcern") instanceof Document concern
                && (Boolean.TRUE.equals(concern.get("j")) || "majority".equals(concern.get("w")));
        }
    }

    private static class IndexedCollection extends H2Collection {
        IndexedCollection(
                H2Database database, String path, String name, CollectionOptions options, CursorRegistry cursors) {
            super(database, name, options, documents(path), store.openMap("meta." + path), cursors);
        }

        private static MVMap<Object, Document> documents(String path) {
            MVMap.Builder<Object, Document> stored = new MVMap.Builder<>();
            return store.openMap("databases." + path, stored.valueType(new StoredTypes.Documents()));
        }

        @Override
        protected QueryResult queryDocuments(
                Document query, Document order, int skip, int limit, int batch, Document fields) {
            if (query.size() > 1) {
                for (Index<Object> index : getIndexes()) {
                    Document part = new Document();
                    for (IndexKey key : index.getKeys()) {
                        if (query.get(key.getKey()) != null) part.put(key.getKey(), query.get(key.getKey()));
                    }
                    if (part.size() == index.getKeys().size() && index.canHandle(part)) {
                        return matchDocuments(query, index.getPositions(part), order, skip, limit, batch, fields);
                    }
                }
            }
            return super.queryDocuments(query, order, skip, limit, batch, fields);
        }
    }
}
