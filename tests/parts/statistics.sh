# The statistics store, held to its promises on a server that speaks MongoDB's protocol, which is killed while it is written;
# and gateways that count views in Redis and carry them there.
# It is not mongod: tests/services/mongo/MongoServer.java says what that leaves open.
. tests/parts/needs.bash
need_redis
need_mongo
compile test --no-run --test library --test gateway
ready
trap end_mongo EXIT
start_mongo
# All of them share one server: more at a time only wait for it.
RUST_TEST_THREADS=3 run_tests --test library -- --ignored --skip backends:: statistics::
run_tests --test gateway -- --ignored carried_views::
