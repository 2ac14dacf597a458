//! Renders a document as HTML. HTML inside the document is shown as text.

use std::collections::HashMap;
use std::mem;

use pulldown_cmark::{CowStr, Event, Options, Parser, Tag, TagEnd, html};

use super::links::Links;

/// They may be wider than the screen, and scroll by keyboard, too.
const TABLE: &str = "<div class=\"wide\" role=\"group\" aria-label=\"Table\" tabindex=\"0\">";
const CODE: &str = "<pre tabindex=\"0\"><code>";

/// The elements of `<main>`.
pub(super) fn html(text: &str, links: &Links) -> String {
    let events: Vec<Event> = Parser::new_ext(text, Options::ENABLE_TABLES).collect();
    let mut ids = Ids::default();
    let mut kept = Vec::new();
    let mut shown = Vec::with_capacity(events.len());
    for (index, event) in events.iter().enumerate() {
        match event {
            Event::Start(Tag::Heading { level, .. }) => {
                let id = ids.take(&words(&events[index + 1..]));
                shown.push(raw(format!("<{level} id=\"{id}\">")));
            }
            Event::End(TagEnd::Heading(level)) => shown.push(raw(format!("</{level}>\n"))),
            Event::Start(Tag::Link { dest_url, .. }) => {
                let address = links.address(dest_url);
                kept.push(address.is_some());
                shown.extend(address.map(|address| link(&address)));
            }
            Event::End(TagEnd::Link) if kept.pop() == Some(false) => {}
            // Pictures are not served: their texts say what they show.
            Event::Start(Tag::Image { .. }) => shown.push(raw("<em>Picture: ")),
            Event::End(TagEnd::Image) => shown.push(raw("</em>")),
            Event::Start(Tag::Table(_)) => shown.extend([raw(TABLE), event.clone()]),
            Event::End(TagEnd::Table) => shown.extend([event.clone(), raw("</div>\n")]),
            Event::Start(Tag::CodeBlock(_)) => shown.push(raw(CODE)),
            Event::End(TagEnd::CodeBlock) => shown.push(raw("</code></pre>\n")),
            Event::Html(text) | Event::InlineHtml(text) => shown.push(Event::Text(text.clone())),
            other => shown.push(other.clone()),
        }
    }
    let mut page = String::new();
    html::push_html(&mut page, shown.into_iter());
    // Above a first column that needs no name.
    page.replace("<th></th>", "<td></td>")
}

fn raw<'a>(text: impl Into<CowStr<'a>>) -> Event<'a> {
    Event::Html(text.into())
}

fn link(address: &str) -> Event<'static> {
    let address = address.replace('&', "&amp;").replace('"', "&quot;").replace('<', "&lt;");
    raw(format!("<a href=\"{address}\">"))
}

/// The text of a heading, whose events these are.
fn words(events: &[Event]) -> String {
    let own = events.iter().take_while(|event| !matches!(event, Event::End(TagEnd::Heading(_))));
    let texts = own.filter_map(|event| match event {
        Event::Text(text) | Event::Code(text) => Some(text.as_ref()),
        _ => None,
    });
    texts.collect()
}

/// The ids of the headings, as GitHub gives them.
#[derive(Default)]
struct Ids {
    taken: HashMap<String, usize>,
}

impl Ids {
    fn take(&mut self, heading: &str) -> String {
        let kept = heading.chars().filter(|letter| letter.is_alphanumeric() || matches!(letter, ' ' | '-' | '_'));
        let id: String = kept.flat_map(char::to_lowercase).map(|c| if c == ' ' { '-' } else { c }).collect();
        let next = self.taken.entry(id.clone()).or_default();
        match mem::replace(next, *next + 1) {
            0 => id,
            before => format!("{id}-{before}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        html(text, &Links::of("docs/clients.md"))
    }

    #[test]
    fn headings_have_the_ids_of_github() {
        let page = shown("# `push.record`: What's *new*?\n\n## Limits\n\n## Limits\n");
        for heading in ["<h1 id=\"pushrecord-whats-new\">", "<h2 id=\"limits\">", "<h2 id=\"limits-1\">"] {
            assert!(page.contains(heading), "{heading}: {page}");
        }
    }

    #[test]
    fn html_in_a_document_is_text() {
        let page = shown(
            "<script>alert(1)</script>\n\nA <b onclick=\"x()\">b</b>.\n\n```html\n<i>\n```\n\n[x](javascript:x)\n",
        );
        for tag in ["<script", "<b", "<i>", "javascript"] {
            assert!(!page.contains(tag), "{tag}: {page}");
        }
        assert!(page.contains("&lt;script&gt;alert(1)&lt;/script&gt;"), "{page}");
    }

    #[test]
    fn only_what_is_served_is_a_link() {
        let page = shown(
            "[a](protocol.md#ids) [`b`](../deploy/heartline.toml) [c](https://example.org/?a=1&b=2)\n\n![d](demo.png)",
        );
        let wanted = "<p><a href=\"/demo/docs/protocol.md#ids\">a</a> <code>b</code> \
                      <a href=\"https://example.org/?a=1&amp;b=2\">c</a></p>\n<p><em>Picture: d</em></p>\n";
        assert_eq!(page, wanted);
    }

    #[test]
    fn tables_and_code_scroll_by_keyboard() {
        let page = shown("| | a |\n|---|---|\n| b | c |\n\n```sh\nls | wc\n```\n");
        assert!(page.starts_with(TABLE) && page.contains("<td></td><th>a</th>"), "{page}");
        assert!(page.contains("</table>\n</div>"), "{page}");
        assert!(page.contains("<pre tabindex=\"0\"><code>ls | wc\n</code></pre>"), "{page}");
    }
}
