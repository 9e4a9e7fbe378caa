//! Names in messages.

/// The remedy for a name that is not one of `names`: the nearest name, or all names.
///
/// ```
/// let fields = ["user_id", "site"];
/// assert_eq!(keyderive_layout::nearest("user_di", fields.into_iter()), "did you mean `user_id`?");
/// assert_eq!(keyderive_layout::nearest("at", fields.into_iter()), "expected `user_id` or `site`");
/// ```
pub fn nearest<'n>(wrong: &str, names: impl Iterator<Item = &'n str> + Clone) -> String {
    // A hostile layout has many names, and long ones.
    let near = names.clone().take(MOST).filter(|name| name.len() <= LONGEST && wrong.len() <= LONGEST);
    match near.map(|name| (distance(wrong, name), name)).min() {
        Some((distance, name)) if distance <= 1 + name.len() / 4 => format!("did you mean `{name}`?"),
        _ => format!("expected {}", list(names)),
    }
}

/// How many names are compared and listed, and the longest of those that are compared.
const MOST: usize = 64;
const LONGEST: usize = 128;

/// Joins names as `a`, `b` or `c`; a long name is cut, and a long list too.
pub fn list<'n>(names: impl Iterator<Item = &'n str> + Clone) -> String {
    let is_cut = names.clone().nth(MOST).is_some();
    let names: Vec<_> = names.take(MOST).map(|name| format!("`{name:.LONGEST$}`")).collect();
    match names.split_last() {
        _ if is_cut => format!("{}, …", names.join(", ")),
        Some((last, [])) => last.clone(),
        Some((last, rest)) => format!("{} or {last}", rest.join(", ")),
        None => "nothing".into(),
    }
}

/// The edit distance between two names.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (at, a) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = at + 1;
        for (to, b) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(a != *b);
            diagonal = row[to + 1];
            row[to + 1] = replaced.min(row[to] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances() {
        assert_eq!(distance("delimter", "delimiter"), 1);
        assert_eq!(distance("", "tag"), 3);
        assert_eq!(distance("tag", "tag"), 0);
    }

    #[test]
    fn hostile_names_are_cut() {
        let names = vec!["a".repeat(1 << 16); 1000];
        assert!(nearest("b", names.iter().map(String::as_str)).len() < 16_384);
    }
}
