//! A database that may not be used ends the start.

use crate::carried_views::pages::*;
use crate::carried_views::support::TestGateway;

#[tokio::test]
#[ignore = "needs Redis and MongoDB's protocol: tests/run statistics"]
async fn the_database_of_another_redis_is_refused() {
    let settings = database_at(&shared());
    let gateway = gateway(&settings);
    view(&gateway, 100, 1).await;
    let refused = TestGateway::fails_on_redis(&borrowed(&settings));
    assert_eq!(refused.code, Some(78), "{}", refused.stderr);
    assert!(refused.stderr.contains("statistics.database: ") && refused.stderr.contains("belongs to the deployment"));
    wait_for_days(&gateway, 100, 1).await;
}
