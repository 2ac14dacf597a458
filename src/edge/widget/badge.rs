//! A small image of the number.

/// The widths of text, in units of the image.
const DIGIT: usize = 7;
const REST: usize = 84;

/// "1,204 watching", in the colors that the reader prefers.
pub(super) fn of(watching: u64) -> String {
    let text = format!("{} watching", with_commas(watching));
    let width = REST + DIGIT * (text.len() - " watching".len());
    let middle = (width + 14) / 2;
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"20\" viewBox=\"0 0 {width} 20\" role=\"img\" \
         aria-label=\"{text}\"><title>{text}</title><style>rect{{fill:#fff;stroke:#767676}}text{{fill:#1b1b1b;font:11px \
         Verdana,DejaVu Sans,sans-serif}}circle{{fill:#d3302f}}@media(prefers-color-scheme:dark){{rect{{fill:#1b1b1b;\
         stroke:#8c8c8c}}text{{fill:#f2f2f2}}circle{{fill:#ff6b5e}}}}</style><rect x=\".5\" y=\".5\" width=\"{}\" \
         height=\"19\" rx=\"9.5\"/><circle cx=\"12\" cy=\"10\" r=\"4\"/><text x=\"{middle}\" y=\"14\" \
         text-anchor=\"middle\">{text}</text></svg>",
        width - 1
    )
}

fn with_commas(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_have_commas() {
        for (number, text) in [
            (0, "0"),
            (999, "999"),
            (1_000, "1,000"),
            (123_456, "123,456"),
            (1_234_567, "1,234,567"),
            (u64::MAX, "18,446,744,073,709,551,615"),
        ] {
            assert_eq!(with_commas(number), text);
        }
    }
}
