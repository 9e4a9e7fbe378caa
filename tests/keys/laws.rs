//! The laws of keys and plans, each stated once: for the key types of `keys/mod.rs`, and, in `tests/formats`, for every type in every format.

use std::cmp::Ordering;
use std::fmt::Debug;
use std::ops::Range;

use fastrand::Rng;
use keyderive::key::{
    DecodeError, EncodeError, KeyEncoding, KeySchema, MAX_KEY_LEN, SaltHash, fingerprint64,
};
use keyderive::plan::{KeyRange, Plan, PlanError, Request};
use keyderive_tests::hostile::damage;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;

use crate::stored::{asks_for, fields, logical, salt_of, salt_span};

/// What the laws hold for: a key type in terms of values.
pub(crate) trait Subject {
    type Key: Clone + Debug + PartialEq + 'static;
    /// What a plan selects.
    type Constraints: Clone + Debug;

    /// The name by which to find it.
    fn name(&self) -> String;

    fn schema(&self) -> &'static KeySchema;

    /// How many inputs a law is tested on.
    fn tries(&self) -> u32;

    /// How many inputs a law is tested on that makes no plans, and so takes little time.
    fn many_tries(&self) -> u32 {
        self.tries()
    }

    /// How many damaged keys are decoded for each of these inputs.
    fn damaged(&self) -> u64;

    /// Keys, some of which cannot be stored.
    fn keys(&self) -> BoxedStrategy<Self::Key>;

    /// Keys most of which can be stored.
    fn storable(&self) -> BoxedStrategy<Self::Key>;

    /// Several of them, some of which have the first fields of others.
    fn siblings(&self, count: Range<usize>) -> BoxedStrategy<Vec<Self::Key>>;

    /// `None` if the type has no such value.
    fn encode_into(&self, key: &Self::Key, out: &mut Vec<u8>) -> Option<Result<(), EncodeError>>;

    fn decode(&self, bytes: &[u8]) -> Result<Self::Key, DecodeError>;

    /// The key as stored: its times are rounded down to their units.
    fn rounded(&self, key: &Self::Key) -> Self::Key;

    /// Whether a key can hold the value of each field, if that is known without its encoding.
    fn holds(&self, key: &Self::Key) -> Option<bool>;

    /// The declared order of two stored keys, field by field, or reversed where the field is; `None` if a field has no order of its values.
    fn order(&self, one: &Self::Key, other: &Self::Key) -> Option<Ordering>;

    /// Constraints of plans, some of which select some of these keys, with bounds that need not be storable.
    fn constraints(
        &self,
        keys: &[Self::Key],
        bounds: [&Self::Key; 2],
        rng: &mut Rng,
    ) -> Vec<Self::Constraints>;

    /// `None` if the type has no such value.
    fn plan(&self, constraints: &Self::Constraints) -> Option<Result<Planned, PlanError>>;

    /// Whether a field is fixed to a value that no key can hold.
    fn is_refused(&self, constraints: &Self::Constraints) -> bool;

    /// Whether the rows come in the order of their fields: if the fields left of the salt are fixed.
    fn is_ordered(&self, constraints: &Self::Constraints) -> bool;

    /// Whether a stored key satisfies them.
    fn satisfies(&self, key: &Self::Key, constraints: &Self::Constraints) -> bool;

    /// The key's bytes; `None` if it cannot be stored.
    fn encode(&self, key: &Self::Key) -> Option<Vec<u8>> {
        let mut out = Vec::new();
        self.encode_into(key, &mut out)?.ok()?;
        Some(out)
    }
}

/// What a plan says of itself, without its key type.
pub(crate) struct Planned {
    pub(crate) requests: Vec<Request>,
    prefixes: Option<Vec<Vec<u8>>>,
    is_ordered: bool,
    is_empty: bool,
}

impl Planned {
    pub(crate) fn of<K>(plan: &Plan<K>) -> Self {
        Self {
            requests: plan.requests(),
            prefixes: plan.prefixes(),
            is_ordered: plan.is_ordered(),
            is_empty: plan.is_empty(),
        }
    }
}

/// Tests a property of a subject on as many inputs as it says.
pub(crate) fn check<V: Debug>(
    subject: &impl Subject,
    inputs: impl Strategy<Value = V> + 'static,
    property: impl Fn(V) -> Result<(), TestCaseError>,
) {
    check_each(&subject.name(), subject.tries(), &inputs.boxed(), &property);
}

/// The same, on many inputs.
fn check_often<V: Debug>(
    subject: &impl Subject,
    inputs: impl Strategy<Value = V> + 'static,
    property: impl Fn(V) -> Result<(), TestCaseError>,
) {
    check_each(&subject.name(), subject.many_tries(), &inputs.boxed(), &property);
}

/// By references to traits: compiled once for each type of input, and not for each property.
fn check_each<V: Debug>(
    name: &str,
    tries: u32,
    inputs: &BoxedStrategy<V>,
    property: &dyn Fn(V) -> Result<(), TestCaseError>,
) {
    let config = ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(tries) };
    if let Err(error) = TestRunner::new(config).run(inputs, property) {
        panic!("{name}: {error}");
    }
}

/// Laws 1, 6 and 7: a key decodes as it was stored and has 1 to 4096 bytes, within the bounds of its schema. Or it is an error, which
/// names a field that cannot hold its value, and the output is unchanged.
pub(crate) fn keys_come_back_or_are_refused(subject: &impl Subject) {
    check_often(subject, (subject.storable(), subject.keys()), |(key, other)| {
        comes_back_or_is_refused(subject, &key)?;
        comes_back_or_is_refused(subject, &other)
    });
}

fn comes_back_or_is_refused<S: Subject>(subject: &S, key: &S::Key) -> Result<(), TestCaseError> {
    let mut out = b"before".to_vec();
    let Some(written) = subject.encode_into(key, &mut out) else { return Ok(()) };
    if let Err(error) = written {
        prop_assert_eq!(out, b"before", "{}", error);
        let by_len = error.is_too_long() || error.is_empty_key();
        let fields = subject.schema().fields();
        let names_field = fields.iter().any(|field| error.field_name() == Some(field.name()));
        prop_assert!(by_len || names_field, "{} names no field", error);
        // The length is at fault only if every field can hold its value; that of an empty key is that of its only field.
        let is_held = subject.holds(key).unwrap_or(by_len);
        prop_assert!(error.is_empty_key() || is_held == by_len, "{} is said of {:?}", error, key);
        return Ok(());
    }
    prop_assert_ne!(subject.holds(key), Some(false));
    prop_assert_eq!(&out[..6], b"before");
    let bytes = out.split_off(6);
    let (least, most) = (subject.schema().min_len(), subject.schema().max_len());
    prop_assert!((1..=MAX_KEY_LEN).contains(&bytes.len()));
    prop_assert!((least..=most).contains(&bytes.len()), "{} is not in {least}..={most}", bytes.len());
    let decoded = subject.decode(&bytes);
    let decoded = decoded.map_err(|error| TestCaseError::fail(error.to_string()))?;
    prop_assert_eq!(subject.encode(&decoded), Some(bytes));
    prop_assert_eq!(decoded, subject.rounded(key));
    Ok(())
}

/// Law 1 for bytes: decode rejects bytes near those of a key, or encode writes them back. Returns how many were decoded, of how many.
pub(crate) fn what_decodes_is_what_encode_writes(subject: &impl Subject) -> (u64, u64) {
    let (accepted, tried) = (std::cell::Cell::new(0), std::cell::Cell::new(0));
    check(subject, (subject.siblings(4..32), any::<u64>()), |(keys, seed)| {
        let keys: Vec<_> = keys.iter().filter_map(|key| subject.encode(key)).collect();
        if keys.is_empty() {
            return Ok(());
        }
        let (mut rng, mut damaged) = (Rng::with_seed(seed), Vec::new());
        for _ in 0..subject.damaged() {
            let [key, other] = [(), ()].map(|()| rng.choice(&keys).unwrap());
            damaged.clone_from(key);
            // A digit replaced by itself is no damage.
            while damaged == *key {
                damage(&mut rng, &mut damaged, other);
            }
            tried.set(tried.get() + 1);
            match subject.decode(&damaged) {
                Ok(decoded) => {
                    accepted.set(accepted.get() + 1);
                    let again = subject.encode(&decoded);
                    let is_same = again.as_ref() == Some(&damaged);
                    prop_assert!(is_same, "{} is {decoded:?} and {again:?}", damaged.escape_ascii());
                }
                // The error text depends on the bytes, so this prints it too.
                Err(error) => prop_assert!(!error.to_string().is_empty()),
            }
        }
        Ok(())
    });
    (accepted.get(), tried.get())
}

/// Law 2: within a bucket, and without the salt between all, bytes sort as the fields do in their declared order.
pub(crate) fn bytes_are_in_the_declared_order(subject: &impl Subject) {
    check_often(subject, subject.siblings(4..5), |keys| {
        let stored = |key| Some((subject.encode(key)?, subject.rounded(key)));
        let stored: Vec<_> = keys.iter().filter_map(stored).collect();
        let schema = subject.schema();
        for ((x, one), (y, other)) in
            stored.iter().flat_map(|one| stored.iter().map(move |other| (one, other)))
        {
            let Some(expected) = subject.order(one, other) else { continue };
            prop_assert_eq!(logical(schema, x).cmp(&logical(schema, y)), expected, "{:?} {:?}", one, other);
            if x[salt_span(schema, x)] == y[salt_span(schema, y)] {
                prop_assert_eq!(x.cmp(y), expected, "{:?} {:?}", one, other);
            }
        }
        Ok(())
    });
}

/// Java's `String.hashCode`.
fn hash_code(text: &[u8]) -> i32 {
    let units = str::from_utf8(text).unwrap().encode_utf16();
    units.fold(0_i32, |hash, unit| hash.wrapping_mul(31).wrapping_add(unit.into()))
}

/// What a key stores for a bucket.
fn bucket_bytes(schema: &KeySchema, width: usize, bucket: i64) -> Vec<u8> {
    if schema.layout() == KeyEncoding::Delimited {
        return format!("{bucket:0width$}").into_bytes();
    }
    let bucket = u16::try_from(bucket).unwrap();
    let bytes =
        if bucket < 64 { vec![0x80 | bucket as u8] } else { (0xc000 | bucket).to_be_bytes().to_vec() };
    bytes.into_iter().flat_map(|byte| if byte == 0 { vec![0, 0xff] } else { vec![byte] }).collect()
}

/// Law 5: the bucket is the hash of the encoded salted fields, within its range, and decode accepts no other.
pub(crate) fn the_bucket_is_a_function_of_the_salted_fields(subject: &impl Subject) {
    let schema = subject.schema();
    check_often(subject, (subject.storable(), any::<u16>()), |(key, other)| {
        let Some(bytes) = subject.encode(&key) else { return Ok(()) };
        let Some(salt) = salt_of(schema, &bytes) else { return Ok(()) };
        let stored = fields(schema, &bytes);
        let separator = match schema.layout() {
            KeyEncoding::Delimited => vec![schema.delimiter()],
            _ => vec![0, 1],
        };
        let range = i64::from(salt.range());
        let bucket = match salt.hash() {
            SaltHash::Java => i64::from(hash_code(&logical(schema, &bytes))) % range,
            _ => {
                let salted: Vec<_> = salt.over().iter().map(|at| stored[*at].clone()).collect();
                fingerprint64(&salted.join(&separator[..])).cast_signed().rem_euclid(range)
            }
        };
        let width = if salt.hash() == SaltHash::Java { 0 } else { salt.width() };
        let end = match schema.layout() {
            KeyEncoding::Delimited => salt.sep().map_or(separator, |sep| sep.as_bytes().to_vec()),
            _ if schema.epochs().is_empty() => Vec::new(),
            _ => separator,
        };
        let written = |bucket| [bucket_bytes(schema, width, bucket), end.clone()].concat();
        let span = salt_span(schema, &bytes);
        prop_assert_eq!(&bytes[span.clone()], &written(bucket), "{}", bytes.escape_ascii());
        let buckets = salt.buckets();
        let other = i64::from(buckets.start) + i64::from(other) % buckets.len() as i64;
        let elsewhere = [&bytes[..span.start], &written(other), &bytes[span.end..]].concat();
        prop_assert_eq!(subject.decode(&elsewhere).is_ok(), other == bucket, "{}", elsewhere.escape_ascii());
        Ok(())
    });
}

/// Whether all keys and ranges of one request come before those of the other.
fn is_before(request: &Request, later: &Request) -> bool {
    let start = later.keys().first().map(Vec::as_slice).or(later.ranges().first().map(KeyRange::start));
    let key = request.keys().last().map(Vec::as_slice);
    let end = request.ranges().last().map(KeyRange::end);
    key.is_none_or(|key| Some(key) < start) && end.is_none_or(|end| end.is_some() && end <= start)
}

/// Whether the keys and ranges of each request are ascending and do not overlap, and no request is empty.
fn are_ascending(requests: &[Request]) -> Result<(), TestCaseError> {
    for request in requests {
        let (keys, ranges) = (request.keys(), request.ranges());
        prop_assert!(!keys.is_empty() || !ranges.is_empty(), "{request:?} asks for nothing");
        prop_assert!(keys.is_sorted_by(|a, b| a < b), "{request:?}");
        prop_assert!(ranges.is_sorted_by(|a, b| a.end().is_some_and(|end| end <= b.start())), "{request:?}");
        prop_assert!(!ranges.iter().any(KeyRange::is_empty), "{request:?}");
        prop_assert!(!ranges.iter().any(|range| keys.iter().any(|key| range.contains(key))), "{request:?}");
    }
    for (at, request) in requests.iter().enumerate() {
        let bucket = |request: &Request| (request.bucket(), request.bucket_digits());
        let mut later = requests[at + 1..].iter().filter(|later| bucket(later) == bucket(request));
        prop_assert!(later.all(|later| is_before(request, later)), "{requests:?}");
    }
    Ok(())
}

/// Law 3 for one plan of some keys: it reads exactly the rows that satisfy its constraints, each once and in the order that it claims.
pub(crate) fn plan_is_exact<S: Subject>(
    subject: &S,
    constraints: &S::Constraints,
    keys: &[(Vec<u8>, S::Key)],
) -> Result<(), TestCaseError> {
    let Some(plan) = subject.plan(constraints) else { return Ok(()) };
    let plan = match (plan, subject.is_refused(constraints)) {
        (Ok(plan), false) => plan,
        (Err(_), true) => return Ok(()),
        (plan, refused) => {
            let error = plan.err().map(|error| error.to_string());
            return Err(TestCaseError::fail(format!("{constraints:?}: {error:?}, and refused is {refused}")));
        }
    };
    are_ascending(&plan.requests)?;
    prop_assert_eq!(plan.is_empty, plan.requests.is_empty(), "{:?}", constraints);
    for (stored, key) in keys {
        let satisfied = subject.satisfies(key, constraints);
        prop_assert_eq!(asks_for(&plan.requests, stored), satisfied, "{:?} {:?}", constraints, key);
        // The prefixes hold exactly the rows that the plan reads.
        if let Some(prefixes) = &plan.prefixes {
            let is_prefixed = prefixes.iter().any(|prefix| stored.starts_with(prefix));
            prop_assert_eq!(is_prefixed, satisfied, "{:?} {:?}", constraints, key);
        }
    }
    prop_assert_eq!(plan.is_ordered, subject.is_ordered(constraints), "{:?}", constraints);
    if plan.is_ordered {
        // Merged by the parts of the key before and after the salt, the rows are in the order of their logical keys.
        let schema = subject.schema();
        let mut rows = Vec::new();
        for request in &plan.requests {
            for (stored, _) in keys.iter().filter(|(stored, _)| request.asks_for(stored)) {
                let salt = salt_span(schema, stored);
                let around = (stored[..salt.start].to_vec(), stored[salt.end..].to_vec());
                rows.push((around, logical(schema, stored)));
            }
        }
        rows.sort();
        prop_assert!(rows.is_sorted_by_key(|(_, logical)| logical), "{:?}", constraints);
    }
    Ok(())
}

/// Law 3: a plan reads exactly the rows that satisfy its constraints, whatever keys there are, and is refused if a field is fixed to a
/// value that no key can hold.
pub(crate) fn plans_are_exact(subject: &impl Subject) {
    check(
        subject,
        (subject.siblings(1..12), subject.keys(), subject.keys(), any::<u64>()),
        |(keys, lo, hi, seed)| {
            let stored = |key| Some((subject.encode(key)?, subject.rounded(key)));
            let stored: Vec<_> = keys.iter().filter_map(stored).collect();
            for constraints in subject.constraints(&keys, [&lo, &hi], &mut Rng::with_seed(seed)) {
                plan_is_exact(subject, &constraints, &stored)?;
            }
            Ok(())
        },
    );
}
