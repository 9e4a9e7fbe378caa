//! Garbage collection rules: which cells the service may remove.

use std::fmt;
use std::time::Duration;

use prost::Message as _;

use keyderive_proto::admin;
use keyderive_proto::admin::gc_rule::Rule;
use keyderive_proto::values;

/// The largest rule that the service takes, as its message is encoded.
const MAX_RULE_BYTES: usize = 500;
/// The least age, and the unit that ages are kept in.
const LEAST_AGE: Duration = Duration::from_millis(1);
const AGE_UNIT_NANOS: u32 = 1000;
/// The greatest span of protobuf's `Duration`: 10,000 years.
const MAX_AGE_SECS: u64 = 315_576_000_000;

/// Which cells of a column family Bigtable may remove.
///
/// ```
/// use std::time::Duration;
/// use keyderive::GcRule;
///
/// let week = GcRule::max_age(Duration::from_secs(7 * 24 * 60 * 60));
/// assert_eq!(week.to_string(), "older than 7 days");
/// let rule = GcRule::union([week.clone(), GcRule::max_versions(3)]);
/// assert_eq!(rule.to_string(), "older than 7 days or all but the newest 3 versions");
/// let rule = GcRule::intersection([week, GcRule::max_versions(1)]);
/// assert_eq!(rule.to_string(), "older than 7 days and all but the newest version");
/// ```
///
/// The text of a rule says which cells go. Bigtable removes them in the background, which can take a week, and a read
/// returns them until then: let the read ask for what it wants.
///
/// # Limits
/// At least 1 version; at least 1 ms, in whole microseconds; 500 bytes for a rule with those inside it. A rule that
/// breaks one is refused before it is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum GcRule {
    /// Nothing is removed. Not inside another rule.
    Never,
    /// All but so many of a column's newest cells.
    MaxVersions(u32),
    /// What is older.
    MaxAge(Duration),
    /// What any of the rules removes.
    Union(Vec<GcRule>),
    /// What all of the rules remove.
    Intersection(Vec<GcRule>),
}

impl GcRule {
    /// Removes nothing.
    #[must_use]
    pub fn never() -> Self {
        Self::Never
    }

    /// Removes all but the newest `versions` cells of each column.
    #[must_use]
    pub fn max_versions(versions: u32) -> Self {
        Self::MaxVersions(versions)
    }

    /// Removes cells whose timestamp is longer ago than `age`.
    #[must_use]
    pub fn max_age(age: Duration) -> Self {
        Self::MaxAge(age)
    }

    /// Removes what any of the rules does.
    #[must_use]
    pub fn union(rules: impl IntoIterator<Item = Self>) -> Self {
        Self::Union(rules.into_iter().collect())
    }

    /// Removes what all of the rules do.
    #[must_use]
    pub fn intersection(rules: impl IntoIterator<Item = Self>) -> Self {
        Self::Intersection(rules.into_iter().collect())
    }

    /// What is wrong with the rule.
    pub(super) fn fault(&self) -> Option<String> {
        let own = match self {
            Self::Never => None,
            rule => rule.inner_fault(),
        };
        own.or_else(|| {
            let bytes = self.message().map_or(0, |message| message.encoded_len());
            (bytes > MAX_RULE_BYTES).then(|| {
                format!("the rule has {bytes} bytes, and at most {MAX_RULE_BYTES} are taken; make it simpler")
            })
        })
    }

    fn inner_fault(&self) -> Option<String> {
        match self {
            Self::Never => Some("a rule inside another one is `never`; leave it out".into()),
            Self::MaxVersions(versions) if i32::try_from(*versions).is_err() || *versions == 0 => {
                Some(format!("{versions} versions are kept; keep 1 to {}", i32::MAX))
            }
            Self::MaxVersions(_) => None,
            Self::MaxAge(age) if *age < LEAST_AGE || age.as_secs() > MAX_AGE_SECS => {
                Some(format!("cells are kept for {age:?}; keep them for 1 ms to {MAX_AGE_SECS} s"))
            }
            Self::MaxAge(age) if !age.subsec_nanos().is_multiple_of(AGE_UNIT_NANOS) => {
                Some(format!("cells are kept for {age:?}; give whole microseconds"))
            }
            Self::MaxAge(_) => None,
            Self::Union(rules) | Self::Intersection(rules) if rules.is_empty() => {
                Some("a union or an intersection has no rules; give it two or more".into())
            }
            Self::Union(rules) | Self::Intersection(rules) => rules.iter().find_map(Self::inner_fault),
        }
    }

    /// The rule in one form, whatever the order and the nesting it was given in.
    fn normal(&self) -> Self {
        let (join, rules): (fn(Vec<Self>) -> Self, _) = match self {
            Self::Union(rules) => (Self::Union, rules),
            Self::Intersection(rules) => (Self::Intersection, rules),
            simple => return simple.clone(),
        };
        let is_union = matches!(self, Self::Union(_));
        let mut flat = Vec::with_capacity(rules.len());
        for rule in rules {
            match rule.normal() {
                Self::Union(inner) if is_union => flat.extend(inner),
                Self::Intersection(inner) if !is_union => flat.extend(inner),
                other => flat.push(other),
            }
        }
        flat.sort_by_cached_key(ToString::to_string);
        flat.dedup();
        match flat.pop() {
            Some(only) if flat.is_empty() => only,
            last => {
                flat.extend(last);
                join(flat)
            }
        }
    }

    /// Whether both remove the same cells, as far as their order and nesting go.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.normal() == other.normal()
    }

    /// Whether it removes all but the newest version, however young the others are.
    pub(crate) fn keeps_one(&self) -> bool {
        match self {
            Self::Never | Self::MaxAge(_) => false,
            Self::MaxVersions(versions) => *versions == 1,
            Self::Union(rules) => rules.iter().any(Self::keeps_one),
            Self::Intersection(rules) => !rules.is_empty() && rules.iter().all(Self::keeps_one),
        }
    }

    /// Whether it removes a cell of this age, however new it is among the versions of its column.
    pub(crate) fn removes_newest(&self, age: Duration) -> bool {
        match self {
            Self::Never | Self::MaxVersions(_) => false,
            Self::MaxAge(most) => age > *most,
            Self::Union(rules) => rules.iter().any(|rule| rule.removes_newest(age)),
            Self::Intersection(rules) => {
                !rules.is_empty() && rules.iter().all(|rule| rule.removes_newest(age))
            }
        }
    }

    /// None for a rule that removes nothing.
    pub(super) fn message(&self) -> Option<admin::GcRule> {
        let inner = |rules: &[Self]| rules.iter().filter_map(Self::message).collect();
        let rule = match self {
            Self::Never => return None,
            Self::MaxVersions(versions) => Rule::MaxNumVersions(i32::try_from(*versions).unwrap_or(i32::MAX)),
            Self::MaxAge(age) => Rule::MaxAge(values::Duration {
                seconds: i64::try_from(age.as_secs()).unwrap_or(i64::MAX),
                nanos: i32::try_from(age.subsec_nanos()).unwrap_or_default(),
            }),
            Self::Union(rules) => Rule::Union(admin::gc_rule::Union { rules: inner(rules) }),
            Self::Intersection(rules) => {
                Rule::Intersection(admin::gc_rule::Intersection { rules: inner(rules) })
            }
        };
        Some(admin::GcRule { rule: Some(rule) })
    }

    pub(super) fn from_message(message: Option<&admin::GcRule>) -> Self {
        let inner =
            |rules: &[admin::GcRule]| rules.iter().map(|rule| Self::from_message(Some(rule))).collect();
        match message.and_then(|message| message.rule.as_ref()) {
            None => Self::Never,
            Some(Rule::MaxNumVersions(versions)) => Self::MaxVersions(u32::try_from(*versions).unwrap_or(0)),
            Some(Rule::MaxAge(age)) => Self::MaxAge(Duration::new(
                u64::try_from(age.seconds).unwrap_or(0),
                u32::try_from(age.nanos).unwrap_or(0).min(999_999_999),
            )),
            Some(Rule::Union(union)) => Self::Union(inner(&union.rules)),
            Some(Rule::Intersection(intersection)) => Self::Intersection(inner(&intersection.rules)),
        }
    }

    fn fmt_inner(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Union(_) | Self::Intersection(_) => write!(f, "({self})"),
            _ => write!(f, "{self}"),
        }
    }
}

/// Which cells go, in words.
impl fmt::Display for GcRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (rules, word) = match self {
            Self::Never => return f.write_str("never"),
            Self::MaxVersions(1) => return f.write_str("all but the newest version"),
            Self::MaxVersions(versions) => return write!(f, "all but the newest {versions} versions"),
            Self::MaxAge(age) => return write!(f, "older than {}", Span(*age)),
            Self::Union(rules) => (rules, "or"),
            Self::Intersection(rules) => (rules, "and"),
        };
        for (at, rule) in rules.iter().enumerate() {
            if at > 0 {
                write!(f, " {word} ")?;
            }
            rule.fmt_inner(f)?;
        }
        Ok(())
    }
}

/// A span of time in the greatest unit that it is a whole number of.
struct Span(Duration);

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [(u64, &str); 4] = [(86_400, "day"), (3600, "hour"), (60, "minute"), (1, "second")];
        let Self(span) = self;
        let seconds = span.as_secs();
        if span.subsec_nanos() != 0 || seconds == 0 {
            return write!(f, "{span:?}");
        }
        for (unit, name) in UNITS {
            if seconds.is_multiple_of(unit) {
                let count = seconds / unit;
                return write!(f, "{count} {name}{}", if count == 1 { "" } else { "s" });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn age(seconds: u64) -> GcRule {
        GcRule::max_age(Duration::from_secs(seconds))
    }

    #[test]
    fn rules_are_said_in_words() {
        let words = |rule: GcRule| rule.to_string();
        assert_eq!(words(GcRule::never()), "never");
        assert_eq!(words(age(86_400)), "older than 1 day");
        assert_eq!(words(age(7200)), "older than 2 hours");
        assert_eq!(words(age(61)), "older than 61 seconds");
        assert_eq!(words(GcRule::max_age(Duration::from_millis(1500))), "older than 1.5s");
        let inner = GcRule::intersection([GcRule::max_versions(2), age(60)]);
        assert_eq!(
            words(GcRule::union([age(3600), inner])),
            "older than 1 hour or (all but the newest 2 versions and older than 1 minute)"
        );
    }

    #[test]
    fn messages_are_read_back() {
        let inner =
            GcRule::intersection([GcRule::max_versions(2), GcRule::max_age(Duration::from_micros(1001))]);
        for rule in [GcRule::never(), GcRule::max_versions(1), GcRule::union([age(60), inner])] {
            assert_eq!(rule.fault(), None, "{rule}");
            assert_eq!(GcRule::from_message(rule.message().as_ref()), rule);
        }
    }

    #[test]
    fn what_the_service_refuses_is_found_first() {
        let fault = |rule: GcRule| rule.fault().unwrap();
        assert_eq!(fault(GcRule::max_versions(0)), "0 versions are kept; keep 1 to 2147483647");
        assert!(fault(GcRule::max_versions(u32::MAX)).starts_with("4294967295 versions"));
        assert!(fault(GcRule::max_age(Duration::from_micros(999))).starts_with("cells are kept for 999µs"));
        assert!(fault(GcRule::max_age(Duration::from_nanos(1_000_001))).ends_with("give whole microseconds"));
        assert!(fault(GcRule::max_age(Duration::MAX)).contains("315576000000 s"));
        assert!(fault(GcRule::union([])).contains("no rules"));
        assert!(fault(GcRule::union([age(60), GcRule::never()])).contains("`never`"));
        assert!(
            fault(GcRule::union([age(60), GcRule::intersection([GcRule::max_versions(0)])]))
                .contains("0 versions")
        );
        assert!(fault(GcRule::union((1..200).map(age))).contains("at most 500"));
    }

    #[test]
    fn a_rule_that_keeps_one_version_is_told() {
        let one = GcRule::max_versions(1);
        for rule in [one.clone(), GcRule::union([age(60), one.clone()]), GcRule::intersection([one.clone()])]
        {
            assert!(rule.keeps_one(), "{rule}");
        }
        let young = GcRule::intersection([age(60), one]);
        for rule in [GcRule::never(), age(60), GcRule::max_versions(2), GcRule::intersection([]), young] {
            assert!(!rule.keeps_one(), "{rule}");
        }
    }

    #[test]
    fn order_and_nesting_make_no_other_rule() {
        let (one, two, three) = (age(60), GcRule::max_versions(2), age(120));
        let nested = GcRule::union([one.clone(), GcRule::union([two.clone(), three.clone()]), one.clone()]);
        let flat = GcRule::union([three.clone(), two.clone(), one.clone()]);
        assert!(nested.is_same(&flat));
        assert!(GcRule::union([one.clone()]).is_same(&one));
        assert!(!GcRule::intersection([three, two, one]).is_same(&flat));
    }
}
