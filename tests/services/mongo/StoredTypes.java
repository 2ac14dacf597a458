import de.bwaldvogel.mongo.backend.KeyValue;
import de.bwaldvogel.mongo.backend.ValueComparator;
import de.bwaldvogel.mongo.bson.Document;
import de.bwaldvogel.mongo.wire.bson.BsonDecoder;
import de.bwaldvogel.mongo.wire.bson.BsonEncoder;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.nio.ByteBuffer;
import java.util.Comparator;
import org.h2.mvstore.WriteBuffer;
import org.h2.mvstore.type.BasicDataType;
import org.h2.mvstore.type.ObjectDataType;
import org.h2.mvstore.type.StringDataType;

/**
 * How documents and the keys of indexes are compared and stored. H2's own way is Java's serialization, also of both sides of
 * each comparison of two keys: two thirds of what an update took.
 */
final class StoredTypes {
    private StoredTypes() {}

    /** Stored as BSON. */
    static final class Documents extends BasicDataType<Document> {
        /** Of one document, in the page that holds it. */
        private static final int ESTIMATED_BYTES = 500;

        @Override
        public int getMemory(Document document) {
            return ESTIMATED_BYTES;
        }

        @Override
        public void write(WriteBuffer into, Document document) {
            ByteBuf bson = Unpooled.buffer(ESTIMATED_BYTES);
            BsonEncoder.encodeDocument(document, bson);
            into.put(bson.nioBuffer());
        }

        @Override
        public Document read(ByteBuffer from) {
            ByteBuf bson = Unpooled.wrappedBuffer(from);
            Document document = BsonDecoder.decodeBson(bson);
            from.position(from.position() + bson.readerIndex());
            return document;
        }

        @Override
        public Document[] createStorage(int size) {
            return new Document[size];
        }
    }

    /** A key of one string, as that of `_id` is here, is stored as that. */
    static final class Keys extends BasicDataType<KeyValue> {
        private static final byte STRING = 0;
        private static final byte OTHER = 1;
        private static final Comparator<Object> VALUES = ValueComparator.ascWithoutListHandling();

        private final ObjectDataType other = new ObjectDataType();

        @Override
        public int compare(KeyValue one, KeyValue two) {
            for (int part = 0; part < Math.min(one.size(), two.size()); part++) {
                int order = one.get(part) instanceof String text && two.get(part) instanceof String with
                    ? text.compareTo(with)
                    : VALUES.compare(one.get(part), two.get(part));
                if (order != 0) return order;
            }
            return Integer.compare(one.size(), two.size());
        }

        @Override
        public int getMemory(KeyValue key) {
            return isString(key) ? 64 + 2 * ((String) key.get(0)).length() : other.getMemory(key);
        }

        @Override
        public void write(WriteBuffer into, KeyValue key) {
            into.put(isString(key) ? STRING : OTHER);
            if (isString(key)) {
                StringDataType.INSTANCE.write(into, (String) key.get(0));
            } else {
                other.write(into, key);
            }
        }

        @Override
        public KeyValue read(ByteBuffer from) {
            return from.get() == STRING
                ? new KeyValue(StringDataType.INSTANCE.read(from))
                : (KeyValue) other.read(from);
        }

        @Override
        public KeyValue[] createStorage(int size) {
            return new KeyValue[size];
        }

        private static boolean isString(KeyValue key) {
            return key.size() == 1 && key.get(0) instanceof String;
        }
    }
}
