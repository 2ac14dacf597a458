//! The texts of contents, which the history services keep.

use futures_util::FutureExt;
use tonic::{Request, Response, Status};

use super::reads::{Stub, unreadable};
use super::{Answer, RemoteStore, StoreError};
use model::content_name::ContentName;
use storage::content_names::ContentNames;
use storage::gateway_messages::{Malformed, wire};

pub struct RemoteContentNames {
    pub services: RemoteStore,
}

impl ContentNames for RemoteContentNames {
    fn keep(&self, names: Vec<ContentName>) -> Answer<Vec<ContentName>> {
        let keep: Vec<_> = names.iter().map(|name| name.as_str().to_owned()).collect();
        let (services, asked) = (self.services.clone(), keep.len());
        async move {
            let request = wire::ContentNamesRequest { keep, ..wire::ContentNamesRequest::default() };
            let answer = services.ask(None, request, call).await?;
            complete(answer.kept, asked)?.iter().map(|text| name(text)).collect()
        }
        .boxed()
    }

    fn texts(&self, oids: Vec<u64>) -> Answer<Vec<Option<ContentName>>> {
        let (services, asked) = (self.services.clone(), oids.len());
        async move {
            let request = wire::ContentNamesRequest { oids, ..wire::ContentNamesRequest::default() };
            let answer = services.ask(None, request, call).await?;
            let text = |text: &String| if text.is_empty() { Ok(None) } else { name(text).map(Some) };
            complete(answer.texts, asked)?.iter().map(text).collect()
        }
        .boxed()
    }
}

async fn call(
    mut stub: Stub,
    request: Request<wire::ContentNamesRequest>,
) -> Result<Response<wire::ContentNamesResponse>, Status> {
    stub.content_names(request).await
}

fn complete(texts: Vec<String>, asked: usize) -> Result<Vec<String>, StoreError> {
    match texts.len() {
        count if count == asked => Ok(texts),
        count => Err(unreadable(Malformed(format!("{count} answers about {asked} contents")))),
    }
}

fn name(text: &str) -> Result<ContentName, StoreError> {
    ContentName::new(text).map_err(|complaint| unreadable(Malformed(format!("the text of a content {complaint}"))))
}
