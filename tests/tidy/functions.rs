//! A function fits a screen. Those that did not when this check came may not grow, and no other may join them.

use super::code::Code;

const LINES_MAX: usize = 70;

/// Longer ones, by file and name, with the length that they may have. One that got shorter is entered with less, or struck
/// out.
const EXCEPTIONS: &[(&str, &str, usize)] =
    &[("src/app.rs", "run", 73), ("src/app/gateway.rs", "build", 111), ("tests/http/fixture.rs", "over", 110)];

#[test]
fn functions_fit_a_screen() {
    let files = super::rust_files();
    assert!(files.len() > 400, "the scan sees the tree");
    let found: Vec<String> = files.iter().flat_map(|(path, code)| long(path, code, EXCEPTIONS)).collect();
    let gone = EXCEPTIONS.iter().filter(|(file, name, _)| {
        let is = |code: &Code| code.functions.iter().any(|it| it.name == *name && it.lines > LINES_MAX);
        !files.iter().any(|(path, code)| path == file && is(code))
    });
    let gone = gone.map(|(file, name, _)| format!("{file}: {name} is not too long: strike out the exception"));
    let found: Vec<String> = found.into_iter().chain(gone).collect();
    assert!(found.is_empty(), "\n{}", found.join("\n"));
}

/// The functions of a file that are longer than they may be.
fn long(path: &str, code: &Code, exceptions: &[(&str, &str, usize)]) -> Vec<String> {
    let most = |name: &str| {
        let excepted = exceptions.iter().filter(|(file, excepted, _)| *file == path && *excepted == name);
        excepted.map(|(_, _, lines)| *lines).max().unwrap_or(LINES_MAX)
    };
    let long = code.functions.iter().filter(|function| function.lines > most(&function.name));
    let text = |function: &super::code::Function| {
        let (line, name, lines) = (function.line, &function.name, function.lines);
        format!("{path}:{line}: {name} has {lines} lines, more than {}", most(name))
    };
    long.map(text).collect()
}

mod planted {
    use super::{Code, long};

    fn found(text: &str) -> Vec<String> {
        long("src/app.rs", &Code::read(text).expect("Rust"), &[("src/app.rs", "known", 80), ("src/b.rs", "f", 80)])
    }

    fn function(name: &str, lines: usize) -> String {
        format!("/// Says\n/// something.\nfn {name}()\n{{{}}}", "\n".repeat(lines - 2))
    }

    #[test]
    fn a_long_function_is_found_and_an_exception_may_not_grow() {
        assert_eq!(found(&function("f", 70)), [""; 0]);
        assert_eq!(found(&function("f", 71)), ["src/app.rs:3: f has 71 lines, more than 70"]);
        assert_eq!(found(&function("known", 80)), [""; 0]);
        assert_eq!(found(&function("known", 81)), ["src/app.rs:3: known has 81 lines, more than 80"]);
    }

    #[test]
    fn a_long_function_is_found_wherever_it_is() {
        let long = function("f", 71);
        for text in [
            format!("impl A {{ {long} }}"),
            format!("trait A {{ {long} }}"),
            format!("mod tests {{ {long} }}"),
            format!("fn outer() {{ struct A; impl A {{ {long} }} }}"),
        ] {
            assert!(found(&text).iter().any(|found| found.contains(": f has 71 lines")), "{text}");
        }
    }
}
