//! The error for an unknown field in a query or in a body.

/// So many letters may be wrong in a name for the suggestion of another.
const NEAR_MAX: usize = 2;
/// A longer name is cut in the answer.
const NAME_CHARS_MAX: usize = 40;

/// Names the field, and the one that was probably meant or else all that are `known`.
pub fn complaint(name: &str, known: &[&str]) -> String {
    let name: String = name.chars().take(NAME_CHARS_MAX).collect();
    let distance = |known: &&&str| strsim::damerau_levenshtein(&name, known);
    let near = known.iter().min_by_key(distance).filter(|known| distance(known) <= NEAR_MAX.min(known.len() - 1));
    let hint = match (near, known) {
        (Some(near), _) => format!("did you mean {near}?"),
        (None, []) => "this path takes none".to_owned(),
        (None, _) => format!("known: {}", known.join(", ")),
    };
    format!("unknown field {name}; {hint}")
}
