//! A function fits a screen.

use super::code::Code;

const LINES_MAX: usize = 70;

#[test]
fn functions_fit_a_screen() {
    let files = super::rust_files();
    assert!(files.len() > 400, "the scan sees the tree");
    let found: Vec<String> = files.iter().flat_map(|(path, code)| long(path, code)).collect();
    assert!(found.is_empty(), "\n{}", found.join("\n"));
}

/// The functions of a file that are longer than they may be.
fn long(path: &str, code: &Code) -> Vec<String> {
    let long = code.functions.iter().filter(|function| function.lines > LINES_MAX);
    let text = |function: &super::code::Function| {
        let (line, name, lines) = (function.line, &function.name, function.lines);
        format!("{path}:{line}: {name} has {lines} lines, more than {LINES_MAX}")
    };
    long.map(text).collect()
}

mod planted {
    use super::{Code, long};

    fn found(text: &str) -> Vec<String> {
        long("src/app.rs", &Code::read(text).expect("Rust"))
    }

    fn function(name: &str, lines: usize) -> String {
        format!("/// Says\n/// something.\nfn {name}()\n{{{}}}", "\n".repeat(lines - 2))
    }

    #[test]
    fn a_long_function_is_found() {
        assert_eq!(found(&function("f", 70)), [""; 0]);
        assert_eq!(found(&function("f", 71)), ["src/app.rs:3: f has 71 lines, more than 70"]);
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
