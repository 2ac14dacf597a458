"""Changes on their way from Redis by Kafka to Cassandra: what is there in the end is what users did, whatever fails."""
