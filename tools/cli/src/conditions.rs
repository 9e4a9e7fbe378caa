//! Conditions on the fields of keys, as arguments: `user_id=alice`, `at>=2026-11-24`, `name^=al`, `site in home,work`.

use std::mem;
use std::ops::{Bound, Range};

use keyderive::dynamic::{DynKey, DynRow, KeyFilter, KeyLayout, KeyTest, Value};
use keyderive::key::{Field, TimeUnit, fingerprint64};
use keyderive::plan::Plan;
use keyderive::table::DynTable;
use keyderive::{OnForeign, Scan};

use crate::exit::{Failure, Outcome};
use crate::output;

/// What `--where` is, for its help.
pub(crate) const HELP: &str = "A condition on a field of the key; all must hold";
pub(crate) const LONG_HELP: &str = "\
A condition on a field of the key; all must hold

Write `field=value`, `field<value`, `field<=value`, `field>value`, `field>=value`, `field^=prefix`, or `field in value,value`, where a \
comma within a value is `\\,`. A time is RFC 3339, a date for its first moment in UTC, or the stored number; bytes are hexadecimal.

Conditions on the first fields choose what is read: `keyderive scan --explain` shows it. With the others rows are read and dropped.";

/// Conditions on keys: what a plan reads, and which of the rows it reads are dropped.
#[derive(Debug)]
pub(crate) struct Conditions {
    keys: KeyFilter,
    /// The conditions, and their fields.
    conditions: Vec<(String, KeyTest)>,
    /// Whether all rows are read, or those on one side of a value of the first field.
    pub(crate) is_of_all: bool,
}

impl Conditions {
    /// Reads the conditions of the arguments, and says if no row fulfils them.
    pub(crate) fn of_arguments(layout: &KeyLayout, clauses: &[String]) -> Outcome<Self> {
        let filter = Self::new(layout, clauses)?;
        if let Some(none) = filter.keys.contradiction() {
            let clauses: Vec<_> = none.iter().map(|at| format!("`{}`", clauses[*at])).collect();
            let all = match none.len() {
                1 => "",
                2 => "both ",
                _ => "all of ",
            };
            output::note(format_args!("no row can fulfil {all}{}: nothing is read", clauses.join(" and ")));
        }
        Ok(filter)
    }

    pub(crate) fn new(layout: &KeyLayout, clauses: &[String]) -> Outcome<Self> {
        let conditions = clauses.iter().map(|clause| parse(layout, clause));
        let conditions = conditions.map(|parsed| parsed.map(|(name, test)| (name.to_owned(), test)));
        let conditions: Vec<_> = conditions.collect::<Outcome<_>>()?;
        let keys = layout.filter(conditions.iter().cloned()).map_err(Failure::usage)?;
        let first = layout.schema().fields().first().map(Field::name);
        let of_first: Vec<_> =
            conditions.iter().filter(|(name, _)| first == Some(name)).map(|(_, test)| test).collect();
        let is_of_all = keys.contradiction().is_none()
            && (of_first.iter().all(|test| matches!(test, KeyTest::Range(_, Bound::Unbounded)))
                || of_first.iter().all(|test| matches!(test, KeyTest::Range(Bound::Unbounded, _))));
        Ok(Self { keys, conditions, is_of_all })
    }

    /// What is read.
    pub(crate) fn plan(&self) -> &Plan<DynKey> {
        self.keys.plan()
    }

    /// A scan of the rows of `plan` that meet the conditions. `plan` must read no more than the conditions' own plan. Rows
    /// of other layouts are left out.
    pub(crate) fn rows(&self, table: &DynTable, plan: Plan<DynKey>) -> Scan<DynKey, DynRow> {
        let scan = table.scan(plan).on_foreign(OnForeign::Skip);
        if self.checked().next().is_none() {
            return scan;
        }
        let keys = self.keys.clone();
        scan.filter_key(move |key| keys.holds(key))
    }

    /// Binds a token of the plan to the conditions that it does not decide: under others, a page would have other rows.
    pub(crate) fn bind(&self, token: &str) -> String {
        self.digest().map_or_else(|| token.to_owned(), |digest| format!("{token}-{digest}"))
    }

    /// The plan's token in a token that was bound to these conditions.
    ///
    /// # Errors
    /// If it was made under other conditions.
    pub(crate) fn unbind<'t>(&self, token: &'t str) -> Outcome<&'t str> {
        let (of_plan, digest) =
            token.split_once('-').map_or((token, None), |(token, digest)| (token, Some(digest)));
        if digest == self.digest().as_deref() {
            return Ok(of_plan);
        }
        Err(Failure::usage(
            "`--after`: the token is of a scan with other conditions; use the same ones for all pages",
        ))
    }

    /// The conditions that are checked of each row, in words.
    pub(crate) fn checked(&self) -> impl Iterator<Item = String> {
        let undecided = self.conditions.iter().zip(self.keys.decided()).filter(|(_, decided)| !**decided);
        undecided.map(|((name, test), _)| format!("{name} {}", shown(test)))
    }

    fn digest(&self) -> Option<String> {
        let mut checked: Vec<_> = self.checked().collect();
        checked.sort_unstable();
        (!checked.is_empty()).then(|| format!("{:016x}", fingerprint64(format!("{checked:?}").as_bytes())))
    }
}

/// The operator and the value of a condition.
fn shown(test: &KeyTest) -> String {
    match test {
        KeyTest::AnyOf(values) => match &values[..] {
            [value] => format!("= {value:?}"),
            values => format!("in {values:?}"),
        },
        KeyTest::Range(Bound::Included(value), _) => format!(">= {value:?}"),
        KeyTest::Range(Bound::Excluded(value), _) => format!("> {value:?}"),
        KeyTest::Range(_, Bound::Included(value)) => format!("<= {value:?}"),
        KeyTest::Range(_, Bound::Excluded(value)) => format!("< {value:?}"),
        KeyTest::Prefix(value) => format!("^= {value:?}"),
        KeyTest::Range(Bound::Unbounded, Bound::Unbounded) => "is any value".to_owned(),
    }
}

/// Splits a condition into the field, the operator and the value, and says whether the value directly follows the operator.
fn split(clause: &str) -> Option<(&str, &str, &str, bool)> {
    let end = clause.find(|char: char| !(char.is_alphanumeric() || char == '_'))?;
    let (name, rest) = clause.split_at(end);
    let operator = rest.trim_start();
    let has_spaces = operator.len() < rest.len();
    let mut operators = ["<=", ">=", "^=", "=", "<", ">"].into_iter();
    if has_spaces && let Some(values) = operator.strip_prefix("in ") {
        return Some((name, "in", values.trim_start(), false));
    }
    let found = operators.find(|known| operator.starts_with(known))?;
    let value = &operator[found.len()..];
    // Spaces on both sides of the operator are for the reader.
    let trimmed = if has_spaces { value.trim_start() } else { value };
    Some((name, found, trimmed, trimmed.len() == value.len()))
}

fn parse<'a>(layout: &KeyLayout, clause: &'a str) -> Outcome<(&'a str, KeyTest)> {
    let Some((name, operator, text, is_direct)) = split(clause).filter(|(name, ..)| !name.is_empty()) else {
        return Err(Failure::usage(format_args!(
            "`{clause}` is no condition: write `field=value`, `field<value`, `field<=value`, `field>value`, `field>=value`, \
             `field^=prefix` or `field in value,value`"
        )));
    };
    // An operator of another language would be another condition: `<>` is `<` and a value that begins with `>`.
    if let Some(first) = text.chars().next().filter(|char| is_direct && "=<>".contains(*char)) {
        return Err(Failure::usage(format_args!(
            "`{clause}`: `{operator}{first}` is no operator; they are `=`, `<`, `<=`, `>`, `>=`, `^=` and `in`. For a value that begins with \
             `{first}` write `{name} {operator} {text}`"
        )));
    }
    let value = || value(layout, name, bare(name, text, &[('\'', '\''), ('"', '"')])?);
    let test = match operator {
        "=" => KeyTest::AnyOf(vec![whole(layout, name, value()?)?]),
        "<" => KeyTest::Range(Bound::Unbounded, Bound::Excluded(value()?)),
        "<=" => KeyTest::Range(Bound::Unbounded, Bound::Included(value()?)),
        ">" => KeyTest::Range(Bound::Excluded(value()?), Bound::Unbounded),
        ">=" => KeyTest::Range(Bound::Included(value()?), Bound::Unbounded),
        "^=" => KeyTest::Prefix(value()?),
        _ => {
            let values = list(bare(name, text, &[('(', ')')])?);
            let values = values
                .iter()
                .map(|text| self::value(layout, name, bare(name, text, &[('\'', '\''), ('"', '"')])?));
            let values = values.map(|value| whole(layout, name, value?));
            KeyTest::AnyOf(values.collect::<Outcome<_>>()?)
        }
    };
    Ok((name, test))
}

/// The text of a value or a list. Other languages write these in quotation marks or parentheses, which would be a part of the value here: a
/// backslash before them says that they are.
fn bare<'t>(name: &str, text: &'t str, marks: &[(char, char)]) -> Outcome<&'t str> {
    let marked = text.trim_start_matches('\\');
    let within = |(open, close): &(char, char)| marked.strip_prefix(*open)?.strip_suffix(*close);
    match (marks.iter().find_map(within), text.strip_prefix('\\')) {
        (None, _) => Ok(text),
        (Some(_), Some(literal)) => Ok(literal),
        (Some(within), None) => Err(Failure::usage(format_args!(
            "`{name}`: values and lists are written without quotation marks and parentheses around them: write `{within}`, or `\\{text}` if \
             they are a part of the value"
        ))),
    }
}

/// Fails for a value that no key can have: a plan would refuse it or read the rows of the time before it, and a comparison
/// after the read would find none.
fn whole(layout: &KeyLayout, name: &str, value: Value) -> Outcome<Value> {
    if let Some(unit) = finer_than(layout, name, &value) {
        let words = unit.name();
        return Err(Failure::usage(format_args!(
            "the field `{name}` stores whole {words}, and no row is of {value}: write `{name}>=…` and `{name}<…`, or a time of whole {words}"
        )));
    }
    match layout.can_hold(name, value.clone()).map_err(Failure::usage)? {
        true => Ok(value),
        false => Err(Failure::usage(format_args!(
            "no key can hold {value:?} in the field `{name}`, so that no row has it; `{name}<…` and `{name}>…` take any bound"
        ))),
    }
}

/// The unit of a field's times.
pub(crate) fn time_unit(layout: &KeyLayout, name: &str) -> Option<TimeUnit> {
    layout.schema().fields().iter().find(|field| field.name() == name)?.time_unit()
}

/// The unit of a field's times, if the value is a time between two that the field can hold.
pub(crate) fn finer_than(layout: &KeyLayout, name: &str, value: &Value) -> Option<TimeUnit> {
    time_unit(layout, name).filter(|unit| value.is_finer_than(*unit))
}

/// The parts of a list with commas; `\,` is a comma within one.
fn list(text: &str) -> Vec<String> {
    let (mut values, mut value) = (Vec::new(), String::new());
    let mut rest = text.chars().peekable();
    while let Some(char) = rest.next() {
        match char {
            ',' => values.push(mem::take(&mut value)),
            '\\' if rest.next_if_eq(&',').is_some() => value.push(','),
            char => value.push(char),
        }
    }
    values.push(value);
    values
}

/// The times that a number is taken for without a sign, in nanoseconds: from March 1973, since when seconds have nine digits, to the year 9999.
const USUAL: Range<i128> = 100_000_000_000_000_000..253_402_300_800_000_000_000;

/// The value of a field that text says.
fn value(layout: &KeyLayout, name: &str, text: &str) -> Outcome<Value> {
    let value = layout.value(name, text);
    // A year, a date without hyphens, or a number of a larger unit would be a moment of 1970; one of a smaller unit is after all years.
    if let Ok(moment @ Value::Time(nanos)) = &value
        && (text.len() <= 8 || !USUAL.contains(nanos))
        && text.bytes().all(|byte| byte.is_ascii_digit())
    {
        return Err(Failure::usage(format_args!(
            "`{name}` is a time: write `{text}` as a date, such as `2026-11-24`, or as `+{text}` if it is the number that is stored, of {moment}"
        )));
    }
    value.or_else(|error| {
        // A date is the first moment of it, for a field of times.
        let is_date = text.len() == 10 && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
        let time = is_date.then(|| layout.value(name, format!("{text}T00:00:00Z")).ok()).flatten();
        time.ok_or_else(|| Failure::usage(error))
    })
}

/// The values of fields, from arguments such as `user_id=alice`.
pub(crate) fn assignments(layout: &KeyLayout, arguments: &[String]) -> Outcome<Vec<(String, Value)>> {
    let values = arguments.iter().map(|argument| {
        let (name, text) = argument.split_once('=').ok_or_else(|| {
            Failure::usage(format_args!("`{argument}` is not the value of a field: write `field=value`"))
        })?;
        let value = value(layout, name, text)?;
        if let Some(unit) = finer_than(layout, name, &value) {
            return Err(Failure::usage(format_args!(
                "the field `{name}` stores whole {}, and no key is of {value}: round it",
                unit.name()
            )));
        }
        Ok((name.to_owned(), value))
    });
    values.collect()
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use keyderive::RowKey;
    use keyderive::key::Field;
    use keyderive_tests::fuzz::fuzz;
    use keyderive_tests::hostile::{mutated_text, random};

    use super::*;
    use crate::hostile;

    #[derive(RowKey)]
    #[salt(range = 4, over = "user_id")]
    struct EventKey {
        #[row_key(escape)]
        user_id: String,
        site: String,
        #[reverse_ts]
        at: SystemTime,
        #[pad(6)]
        seq: u32,
        raw: Vec<u8>,
    }

    fn refused(clause: &str) -> String {
        let filter = Conditions::new(&KeyLayout::of::<EventKey>(), &[clause.to_owned()]);
        filter.map(drop).expect_err(clause).to_string()
    }

    #[test]
    fn a_year_is_no_number_that_is_stored() {
        // Also seconds, milliseconds and nanoseconds, for a field of microseconds.
        for year in ["2027", "20261124", "0", "1795478400", "1795478400000", "1795478400000000000"] {
            let text = refused(&format!("at>{year}"));
            assert!(text.contains("as a date, such as `2026-11-24`"), "{text}");
        }
        let stored = Conditions::new(
            &KeyLayout::of::<EventKey>(),
            &["at>+2027".to_owned(), "at<1795478400000000".to_owned()],
        );
        assert!(stored.is_ok());
    }

    #[test]
    fn a_condition_is_a_field_an_operator_and_a_value() {
        let layout = KeyLayout::of::<EventKey>();
        let parsed = |clause| parse(&layout, clause).map_err(|error| error.to_string());
        let text = |text: &str| Value::from(text);
        assert_eq!(parsed("user_id=alice"), Ok(("user_id", KeyTest::AnyOf(vec![text("alice")]))));
        assert_eq!(parsed("user_id= a"), Ok(("user_id", KeyTest::AnyOf(vec![text(" a")]))));
        assert_eq!(parsed("user_id = a = b"), Ok(("user_id", KeyTest::AnyOf(vec![text("a = b")]))));
        assert_eq!(parsed("user_id^=a<b"), Ok(("user_id", KeyTest::Prefix(text("a<b")))));
        assert_eq!(
            parsed("seq<=7"),
            Ok(("seq", KeyTest::Range(Bound::Unbounded, Bound::Included(Value::Integer(7)))))
        );
        let list = vec![text("a"), text("b,c"), text("")];
        assert_eq!(parsed("site in a,b\\,c,"), Ok(("site", KeyTest::AnyOf(list))));
        let midnight = layout.value("at", "2026-11-24T00:00:00Z").unwrap();
        assert_eq!(
            parsed("at>=2026-11-24"),
            Ok(("at", KeyTest::Range(Bound::Included(midnight), Bound::Unbounded)))
        );
        // Another language would mean something else by them.
        for clause in ["seq<>1", "seq==1", "seq=>1", "seq=<1", "user_id == a", "user_id^==a"] {
            assert!(refused(clause).contains("is no operator"), "{clause}");
        }
        for clause in ["site='a'", "site = \"a\"", "site in ('a')", "site in (a,b)", "site in 'a',b"] {
            assert!(refused(clause).contains("without quotation marks and parentheses"), "{clause}");
        }
        for (clause, meant) in [
            ("user_id = =a", "=a"),
            ("user_id=\\'a'", "'a'"),
            ("user_id=\\\\'a'", "\\'a'"),
            ("user_id='a", "'a"),
            ("user_id=(a)", "(a)"),
            ("user_id=\\a", "\\a"),
        ] {
            assert_eq!(parsed(clause), Ok(("user_id", KeyTest::AnyOf(vec![text(meant)]))), "{clause}");
        }
        assert_eq!(parsed("site in \\(a)"), Ok(("site", KeyTest::AnyOf(vec![text("(a)")]))));
        // No key can hold them, also where the plan does not decide it.
        for clause in ["seq=4294967295", "seq in 1,1000000"] {
            assert!(refused(clause).contains("no key can hold"), "{clause}");
        }
        assert!(refused("user_id").contains("is no condition"));
        assert!(refused("=a").contains("is no condition"));
        assert!(refused("users=a").contains("there is no field `users`"));
        assert!(refused("seq^=1").contains("has no prefixes"));
        assert!(refused("at>=2026-13-24").contains("`at`"));
        // Of a time that no row has, also where the plan does not decide it.
        for clause in ["at=2026-11-24T00:00:00.0000005Z", "at in 2026-11-24,2026-11-24T00:00:00.0000005Z"] {
            assert!(refused(clause).contains("stores whole microseconds"), "{clause}");
        }
        assert!(
            parsed("at=2026-11-24T00:00:00.0005Z").is_ok()
                && parsed("at>2026-11-24T00:00:00.0000005Z").is_ok()
        );
    }

    #[test]
    fn conditions_that_exclude_each_other_read_nothing() {
        let layout = KeyLayout::of::<EventKey>();
        let filter = |clauses: &[&str]| {
            Conditions::new(&layout, &clauses.iter().map(|clause| (*clause).to_owned()).collect::<Vec<_>>())
                .unwrap()
        };
        for (clauses, named) in [
            (&["user_id=alice", "user_id=bob"][..], &["user_id=alice", "user_id=bob"][..]),
            (&["site=home", "seq>20", "seq<10"], &["seq>20", "seq<10"]),
            (&["seq>=7", "seq<7"], &["seq>=7", "seq<7"]),
            (&["seq>7", "seq<=7"], &["seq>7", "seq<=7"]),
            (&["seq in 1,2,3", "seq>3"], &["seq in 1,2,3", "seq>3"]),
            (
                &["seq in 1,2,3", "seq>1", "seq<3", "seq in 1,3"],
                &["seq in 1,2,3", "seq>1", "seq<3", "seq in 1,3"],
            ),
            (&["site^=home", "site^=work"], &["site^=home", "site^=work"]),
            (&["site^=home", "site<home"], &["site^=home", "site<home"]),
            (&["site^=home", "site>i"], &["site^=home", "site>i"]),
            (&["at>=2026-11-25", "at<2026-11-24"], &["at>=2026-11-25", "at<2026-11-24"]),
        ] {
            let filter = filter(clauses);
            assert!(
                filter.plan().is_empty() && filter.plan().requests().is_empty() && !filter.is_of_all,
                "{clauses:?}"
            );
            let none = filter.keys.contradiction().unwrap();
            assert_eq!(none.iter().map(|at| clauses[*at]).collect::<Vec<_>>(), named);
        }
        for clauses in [
            &["user_id=alice", "user_id=alice"][..],
            &["user_id=alice", "user_id>=a", "user_id^=al"],
            &["user_id in a,b", "user_id in b,c"],
            &["seq>=7", "seq<=7"],
            &["seq>5", "seq>6", "seq<8"],
            &["site^=ho", "site^=home"],
            &["site^=home", "site>=home", "site<homf"],
            &["site^=home", "site>homea"],
        ] {
            let filter = filter(clauses);
            assert!(filter.keys.contradiction().is_none() && !filter.plan().is_empty(), "{clauses:?}");
            // A list decides the other conditions on its field.
            assert_eq!(filter.checked().next().is_none(), clauses[0].starts_with("user_id"), "{clauses:?}");
        }
        assert!(filter(&["user_id in a,b", "user_id in b,c"]).plan().requests().len() == 1);
        for (clauses, is_of_all) in [
            (&[][..], true),
            (&["seq=7"], true),
            (&["user_id>=0"], true),
            (&["user_id>=a", "user_id<b"], false),
            (&["user_id^=a"], false),
            (&["user_id=a"], false),
        ] {
            assert_eq!(filter(clauses).is_of_all, is_of_all, "{clauses:?}");
        }
    }

    /// The conditions of all lines together keep the keys whose values meet each.
    #[test]
    fn conditions() {
        let layout = KeyLayout::of::<EventKey>();
        let keys: Vec<_> = [
            ["", "", "1970-01-01T00:00:00Z", "0", ""],
            ["a", "home", "2026-11-24T00:00:00Z", "1", "00"],
            ["a#b", "home", "2026-11-24T00:00:00.000001Z", "2", "00ff"],
            ["al", "work", "2026-11-24T00:00:00.500000Z", "9", "ff"],
            ["alice", "ho", "2027-01-01T00:00:00Z", "999999", "ff00"],
            ["b", "", "9999-12-31T00:00:00Z", "10", "01"],
        ]
        .iter()
        .map(|values| {
            let names = layout.schema().fields().iter().map(Field::name);
            let bytes = layout.encode(names.zip(values.iter().copied())).unwrap();
            (layout.decode(&bytes).unwrap(), bytes)
        })
        .collect();
        fuzz("conditions", |bytes| {
            let Ok(text) = str::from_utf8(bytes) else { return };
            let clauses: Vec<_> = text.lines().take(8).map(str::to_owned).collect();
            let filter = match Conditions::new(&layout, &clauses) {
                Ok(filter) => filter,
                Err(error) => return hostile::assert_harmless(&error.to_string(), &clauses),
            };
            let tests: Vec<_> = clauses.iter().map(|clause| parse(&layout, clause).unwrap()).collect();
            let requests = filter.plan().requests();
            for (key, bytes) in &keys {
                let is_read = requests.iter().any(|request| request.asks_for(bytes));
                let meets =
                    tests.iter().all(|(name, test)| key.get(name).is_some_and(|value| test.holds(value)));
                assert_eq!(is_read && filter.keys.holds(key), meets, "{key} and {clauses:?}");
            }
        });
    }

    #[test]
    fn mutated_conditions_do_not_panic() {
        let layout = KeyLayout::of::<EventKey>();
        let bases = [
            "user_id=alice",
            "at>=2026-11-24",
            "seq in 1,2,3",
            "site^=ho",
            "raw<00ff",
            "at<2026-11-24T00:00:00.5Z",
        ];
        let (mut random, rounds) = (random(11), hostile::count());
        let (mut accepted, mut planned) = (0, 0);
        for _ in 0..rounds {
            let clauses: Vec<_> = (0..random.usize(1..4))
                .map(|_| {
                    let base = bases[random.usize(..bases.len())];
                    if random.bool() { base.to_owned() } else { mutated_text(&mut random, base) }
                })
                .collect();
            match Conditions::new(&layout, &clauses) {
                Ok(filter) => {
                    accepted += 1;
                    planned += u32::from(!filter.plan().is_empty());
                }
                Err(error) => hostile::assert_harmless(&error.to_string(), &clauses),
            }
        }
        println!("{accepted} of {rounds} accepted, {planned} planned");
        assert!(accepted > rounds / 10);
    }
}
