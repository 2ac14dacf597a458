//! The little of Rust that the scan understands: what is code, and which paths it names.

pub struct Token {
    pub text: String,
    pub line: usize,
}

pub struct Used {
    pub segments: Vec<String>,
    pub line: usize,
}

/// The same text with blanks for every comment and the inside of every string; line breaks stay.
fn without_comments_and_strings(text: &str) -> String {
    let mut rest = text;
    let mut code = String::new();
    while let Some(letter) = rest.chars().next() {
        let skipped = match letter {
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            '/' if rest.starts_with("/*") => rest.find("*/").map_or(rest.len(), |end| end + 2),
            '"' => string_length(rest),
            'r' if !within_name(code.strip_suffix('b').unwrap_or(&code)) => raw_string_length(rest),
            '\'' if rest.starts_with("'\"'") => 3,
            '\'' if rest.starts_with("'\\") => 3 + rest[3..].find('\'').map_or(0, |end| end + 1),
            _ => 0,
        };
        if skipped == 0 {
            code.push(letter);
            rest = &rest[letter.len_utf8()..];
        } else {
            code.push(' ');
            code.extend(rest[..skipped].chars().filter(|letter| *letter == '\n'));
            rest = &rest[skipped..];
        }
    }
    code
}

fn within_name(code: &str) -> bool {
    code.ends_with(|c: char| c.is_alphanumeric() || c == '_')
}

fn string_length(text: &str) -> usize {
    let mut escaped = false;
    for (index, letter) in text.char_indices().skip(1) {
        match letter {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return index + 1,
            _ => {}
        }
    }
    text.len()
}

/// 0 where no raw string begins.
fn raw_string_length(text: &str) -> usize {
    let hashes = text[1..].chars().take_while(|letter| *letter == '#').count();
    if !text[1 + hashes..].starts_with('"') {
        return 0;
    }
    let end = format!("\"{}", "#".repeat(hashes));
    let start = hashes + 2;
    text[start..].find(&end).map_or(text.len(), |found| start + found + end.len())
}

/// Names, `::`, and every other visible character by itself; comments and strings left out.
pub fn tokens(text: &str) -> Vec<Token> {
    let code = without_comments_and_strings(text);
    let mut tokens = Vec::new();
    for (index, text) in code.lines().enumerate() {
        let line = index + 1;
        let mut rest = text.trim_start();
        while !rest.is_empty() {
            let name = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
            let other = if rest.starts_with("::") { 2 } else { rest.chars().next().map_or(0, char::len_utf8) };
            let (token, after) = rest.split_at(if name > 0 { name } else { other });
            tokens.push(Token { text: token.to_owned(), line });
            rest = after.trim_start();
        }
    }
    tokens
}

/// Every path in the code, groups written out: `a::{b, c::d}` is `a::b` and `a::c::d`.
pub fn paths(tokens: &[Token]) -> Vec<Used> {
    let mut used = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let before = |steps: usize| at.checked_sub(steps).map_or("", |at| text(tokens, at));
        let imported = before(1) == "use" || (before(1) == "crate" && before(2) == "extern");
        let begins = is_name(tokens, at) && (imported || text(tokens, at + 1) == "::");
        at = if begins { follow(tokens, at, &[], &mut used) } else { at + 1 };
    }
    used
}

/// IsSubscribed one path or group, after the segments `before`; the place behind it.
fn follow(tokens: &[Token], mut at: usize, before: &[String], used: &mut Vec<Used>) -> usize {
    let line = tokens[at].line;
    let mut segments = before.to_vec();
    while is_name(tokens, at) || text(tokens, at) == "*" {
        segments.push(text(tokens, at).to_owned());
        at += 1;
        let goes_on = is_name(tokens, at + 1) || matches!(text(tokens, at + 1), "{" | "*");
        if text(tokens, at) != "::" || !goes_on {
            used.push(Used { segments, line });
            return at;
        }
        at += 1;
    }
    if text(tokens, at) == "{" {
        at += 1;
        while at < tokens.len() && text(tokens, at) != "}" {
            at = follow(tokens, at, &segments, used).max(at + 1);
        }
        at += 1;
    }
    at
}

fn text(tokens: &[Token], at: usize) -> &str {
    tokens.get(at).map_or("", |token| token.text.as_str())
}

fn is_name(tokens: &[Token], at: usize) -> bool {
    text(tokens, at).starts_with(|c: char| c.is_alphabetic() || c == '_')
}
