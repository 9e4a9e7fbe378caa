//! Maps keys of one layout to another, by the names of the fields.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use super::{DynKey, FieldPairs, KeyLayout, LayoutError, Value};
use crate::key::{DecodeError, EncodeError, Field, FieldValues, KeySchema, TimeUnit};

/// Maps keys of one [`KeyLayout`] to keys of another, by the names of the fields: for copies, comparisons and re-keyings of dynamic tables.
///
/// ```
/// use keyderive::RowKey;
/// use keyderive::dynamic::{KeyLayout, KeyMapping};
///
/// #[derive(RowKey)]
/// struct OldKey {
///     user_id: String,
///     at: u64,
/// }
///
/// #[derive(RowKey)]
/// #[salt(range = 4, over = "user")]
/// struct NewKey {
///     user: String,
///     region: String,
///     #[reverse_ts]
///     at: u64,
/// }
///
/// let (old, new) = (KeyLayout::of::<OldKey>(), KeyLayout::of::<NewKey>());
/// let mapping = KeyMapping::new(&old, &new, "user=user_id,region='eu'")?;
/// let key = mapping.new_key(OldKey { user_id: "alice".into(), at: 7 }.encode()?)?;
/// assert_eq!(key, NewKey { user: "alice".into(), region: "eu".into(), at: 7 }.encode()?);
/// assert_eq!(mapping.to_string(), "user=user_id, region='eu', at=at");
///
/// let error = KeyMapping::new(&old, &new, "user=at").unwrap_err().to_string();
/// assert!(error.contains("`user=at`: the field `at` of `OldKey` holds integers, and `user` of `NewKey` text"), "{error}");
/// assert!(error.contains("the field `region` of `NewKey` has no source"), "{error}");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Text
/// Entries are separated by commas: `new=old` takes a field of the new key from one of the old key, and `new='text'` gives it a constant, in
/// which `''` is a quotation mark. A new field that is not named comes from the old field of the same name.
///
/// # Values
/// Integers convert to integers of any type, times and dates to another unit or form, and text, characters and variants of enums (by their
/// names) to each other. A value that the new field cannot hold is an error of that row. A field that a module or a handwritten
/// [`KeyField`](crate::KeyField) encodes keeps its bytes, if the new field is declared in the same way.
///
/// A hashed field cannot be decoded, so it cannot be a source, unless both layouts are the same and each field keeps its place.
///
/// # The way back
/// A re-keying needs the old key of each new one. It has none if a field of the old key is [dropped](Self::dropped), or hashed in the new
/// key; a copy fails only if two rows then have one key. A constant has a way back, but the re-keying refuses new keys with another value
/// of that field until it ends.
#[derive(Clone)]
pub struct KeyMapping {
    old: KeyLayout,
    new: KeyLayout,
    /// The source of each field of the new key.
    sources: Arc<[KeySource]>,
    /// For each field of the old key, the field of the new key that it is read back from.
    back: Result<Arc<[usize]>, LayoutError>,
    /// Whether keys of both are the same bytes.
    is_same: bool,
}

/// The source of a field of the new key.
#[derive(Clone, Debug, PartialEq)]
enum KeySource {
    /// A field of the old key.
    Field(usize),
    Constant(Value),
}

/// Why a key has no counterpart in the other layout of a [`KeyMapping`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum MappingError {
    /// The bytes are not a key of their own layout.
    Foreign(DecodeError),
    /// The other layout cannot hold it.
    Key(EncodeError),
}

impl KeyMapping {
    /// Parses a mapping. Empty text maps all fields by their names.
    ///
    /// # Errors
    /// Every fault of the text: a field that does not exist or is named twice, a new field without a source, a value that does not
    /// convert, a source that is hashed.
    pub fn new(old: &KeyLayout, new: &KeyLayout, text: &str) -> Result<Self, LayoutError> {
        let mut faults = Vec::new();
        let mut named: Vec<Option<KeySource>> = vec![None; new.fields().len()];
        let (old_schema, new_schema) = (old.schema(), new.schema());
        for entry in entries(text) {
            let Some((field, source)) = entry.split_once('=') else {
                faults.push(format!("`{entry}`: write `new=old`, or `new='text'` for a constant"));
                continue;
            };
            let (field, source) = (field.trim(), source.trim());
            let at = position(new_schema, field).map_err(|fault| faults.push(format!("`{entry}`: {fault}")));
            let found = match constant(source) {
                Some(text) => match at {
                    Ok(at) => new
                        .accept(at, &Value::Text(text))
                        .map(KeySource::Constant)
                        .map_err(|error| faults.push(format!("`{entry}`: {error}"))),
                    Err(()) => Err(()),
                },
                None => position(old_schema, source)
                    .map(KeySource::Field)
                    .map_err(|fault| faults.push(format!("`{entry}`: {fault}"))),
            };
            let (Ok(at), Ok(found)) = (at, found) else { continue };
            if let KeySource::Field(from) = found
                && let Some(fault) = conversion_fault(old_schema, from, new_schema, at)
            {
                faults.push(format!("`{entry}`: {fault}"));
            }
            if named[at].replace(found).is_some() {
                faults.push(format!(
                    "`{entry}`: the field `{field}` of `{}` has two sources",
                    new_schema.key_type()
                ));
            }
        }
        // A field whose entry is faulty has no second fault.
        let is_named = |name: &str| {
            entries(text).any(|entry| entry.split_once('=').is_some_and(|(field, _)| field.trim() == name))
        };
        for (at, field) in new_schema.fields().iter().enumerate() {
            if named[at].is_some() || is_named(field.name()) {
                continue;
            }
            match position(old_schema, field.name()) {
                Ok(from) => {
                    if let Some(fault) = conversion_fault(old_schema, from, new_schema, at) {
                        faults.push(fault);
                    }
                    named[at] = Some(KeySource::Field(from));
                }
                Err(_) => faults.push(format!(
                    "the field `{0}` of `{1}` has no source: `{2}` has no field of this name; write `{0}=field`, or `{0}='text'` for a constant",
                    field.name(),
                    new_schema.key_type(),
                    old_schema.key_type(),
                )),
            }
        }
        let sources: Vec<_> = named.into_iter().flatten().collect();
        let is_same = old_schema.fingerprint() == new_schema.fingerprint()
            && sources.iter().enumerate().all(|(at, source)| *source == KeySource::Field(at));
        let hashed = |from: &usize| old_schema.fields()[*from].hash_of().is_some();
        if !is_same {
            let mut of_hashed: Vec<_> = sources.iter().filter_map(KeySource::field).filter(hashed).collect();
            of_hashed.sort_unstable();
            of_hashed.dedup();
            faults.extend(of_hashed.into_iter().map(|from| {
                format!(
                    "the field `{}` of `{}` is hashed: its values cannot be read back from keys",
                    old_schema.fields()[from].name(),
                    old_schema.key_type()
                )
            }));
        }
        if !faults.is_empty() {
            return Err(LayoutError::new(faults));
        }
        let back = way_back(old_schema, new_schema, &sources);
        Ok(Self { old: old.clone(), new: new.clone(), sources: sources.into(), back, is_same })
    }

    /// The layout of old keys.
    #[must_use]
    pub fn old_layout(&self) -> &KeyLayout {
        &self.old
    }

    /// The layout of new keys.
    #[must_use]
    pub fn new_layout(&self) -> &KeyLayout {
        &self.new
    }

    /// The fields of the old key that no field of the new key comes from: rows that differ in these alone have one new key.
    #[must_use]
    pub fn dropped(&self) -> Vec<&'static str> {
        let fields = self.old.schema().fields().iter().enumerate();
        let kept: Vec<_> = self.sources.iter().filter_map(KeySource::field).collect();
        fields.filter(|(at, _)| !kept.contains(at)).map(|(_, field)| field.name()).collect()
    }

    /// The fields of the new key that hold times of a larger unit than the fields that they come from: a time between two of these is rounded
    /// down, and rows that differ in that alone have one new key.
    ///
    /// ```
    /// # use std::time::SystemTime;
    /// # use keyderive::RowKey;
    /// # use keyderive::dynamic::{KeyLayout, KeyMapping};
    /// # #[derive(RowKey)] struct OldKey { user: String, at: SystemTime }
    /// # #[derive(RowKey)] struct NewKey { user: String, #[row_key(ts(unit = "millis"))] at: SystemTime }
    /// let mapping = KeyMapping::new(&KeyLayout::of::<OldKey>(), &KeyLayout::of::<NewKey>(), "")?;
    /// assert_eq!(mapping.lossy_fields(), ["at"]);
    /// # Ok::<(), keyderive::dynamic::LayoutError>(())
    /// ```
    #[must_use]
    pub fn lossy_fields(&self) -> Vec<&'static str> {
        let (old, new) = (self.old.schema().fields(), self.new.schema().fields());
        let is_rounded = |at: usize, from: usize| {
            let is_exact = matches!(written(&new[at]).values(), FieldValues::Time { exact: true });
            !is_exact && unit_nanos(&new[at]) > unit_nanos(&old[from])
        };
        let sources = self.sources.iter().enumerate();
        let rounded = sources.filter(|(at, source)| source.field().is_some_and(|from| is_rounded(*at, from)));
        rounded.map(|(at, _)| new[at].name()).collect()
    }

    /// Fails if a new key does not lead back to its old one, as a re-keying needs.
    ///
    /// ```
    /// # use keyderive::RowKey;
    /// # use keyderive::dynamic::{KeyLayout, KeyMapping};
    /// # #[derive(RowKey)] struct OldKey { user: String, at: u64 }
    /// # #[derive(RowKey)] struct NewKey { user: String }
    /// let mapping = KeyMapping::new(&KeyLayout::of::<OldKey>(), &KeyLayout::of::<NewKey>(), "")?;
    /// assert_eq!(mapping.dropped(), ["at"]);
    /// let error = mapping.check_reversible().unwrap_err().to_string();
    /// assert!(error.starts_with("the field `at` of `OldKey` is dropped"), "{error}");
    /// # Ok::<(), keyderive::dynamic::LayoutError>(())
    /// ```
    ///
    /// # Errors
    /// Every field of the old key that no key leads back to.
    pub fn check_reversible(&self) -> Result<(), LayoutError> {
        self.back.clone().map(drop)
    }

    /// The new key of an encoded old one.
    ///
    /// # Errors
    /// If the bytes are not a key of the old layout, or the new layout cannot hold a value.
    pub fn new_key(&self, old: impl AsRef<[u8]>) -> Result<Vec<u8>, MappingError> {
        let mut key = Vec::new();
        self.append_new_key(old.as_ref(), &mut key)?;
        Ok(key)
    }

    /// The old key of an encoded new one.
    ///
    /// # Errors
    /// As [`new_key`](Self::new_key), and if there is [no way back](Self::check_reversible).
    pub fn old_key(&self, new: impl AsRef<[u8]>) -> Result<Vec<u8>, MappingError> {
        let mut key = Vec::new();
        self.append_old_key(new.as_ref(), &mut key)?;
        Ok(key)
    }

    /// Fails, with the table and the reason, unless these are the layouts of the old and the new table.
    pub(crate) fn check_layouts<'t>(
        &self,
        tables: [(&'t str, &KeyLayout); 2],
    ) -> Result<(), (&'t str, String)> {
        for ((table, layout), own) in tables.into_iter().zip([&self.old, &self.new]) {
            let (expected, found) = (layout.schema(), own.schema());
            if expected.fingerprint() != found.fingerprint() {
                let fault = format!(
                    "the mapping is of keys `{}` (fingerprint {}), and the table has keys `{}` (fingerprint {}); make the \
                     mapping of the layouts of both tables",
                    found.key_type(),
                    found.fingerprint(),
                    expected.key_type(),
                    expected.fingerprint(),
                );
                return Err((table, fault));
            }
        }
        Ok(())
    }

    /// Which fields of both keys have the same values; none if there is [no way back](Self::check_reversible).
    pub(crate) fn pairs(&self) -> Option<FieldPairs> {
        let in_new = self.back.clone().ok()?;
        Some(FieldPairs::new(&self.old, &self.new, in_new))
    }

    pub(crate) fn append_new_key(&self, old: &[u8], out: &mut Vec<u8>) -> Result<(), MappingError> {
        let key = self.old.decode(old)?;
        if self.is_same {
            out.extend_from_slice(old);
            return Ok(());
        }
        let values = self.sources.iter().enumerate().map(|(at, source)| match source {
            KeySource::Field(from) => self.new.accept(at, &key.values()[*from]),
            KeySource::Constant(value) => Ok(value.clone()),
        });
        Ok(self.new.encode_values(&values.collect::<Result<Vec<_>, _>>()?, out)?)
    }

    pub(crate) fn append_old_key(&self, new: &[u8], out: &mut Vec<u8>) -> Result<(), MappingError> {
        let back = self.back.as_ref().map_err(|error| self.old.fault(error.to_string()))?;
        let key: DynKey = self.new.decode(new)?;
        let values = back.iter().enumerate().map(|(at, from)| self.old.accept(at, &key.values()[*from]));
        Ok(self.old.encode_values(&values.collect::<Result<Vec<_>, _>>()?, out)?)
    }
}

impl KeySource {
    fn field(&self) -> Option<usize> {
        match self {
            Self::Field(at) => Some(*at),
            Self::Constant(_) => None,
        }
    }
}

fn written(field: &'static Field) -> &'static Field {
    field.hash_of().unwrap_or(field)
}

/// The unit of a field's times.
fn unit_nanos(field: &'static Field) -> Option<i128> {
    field.time_unit().map(TimeUnit::nanos)
}

/// Splits text at the commas outside of quotation marks.
fn entries(text: &str) -> impl Iterator<Item = &str> {
    let mut is_quoted = false;
    let parts = text.split(move |char| {
        is_quoted ^= char == '\'';
        char == ',' && !is_quoted
    });
    parts.map(str::trim).filter(|entry| !entry.is_empty())
}

/// The text of a constant in quotation marks.
fn constant(source: &str) -> Option<String> {
    let text = source.strip_prefix('\'')?.strip_suffix('\'')?;
    // A single quotation mark would end it.
    let is_whole = !text.replace("''", "").contains('\'');
    is_whole.then(|| text.replace("''", "'"))
}

fn position(schema: &'static KeySchema, name: &str) -> Result<usize, String> {
    let fields = schema.fields();
    fields.iter().position(|field| field.name() == name).ok_or_else(|| {
        let names: Vec<_> = fields.iter().map(|field| format!("`{}`", field.name())).collect();
        format!("`{}` has no field `{name}`; it has {}", schema.key_type(), names.join(", "))
    })
}

/// Why the values of an old field do not convert to a new one.
fn conversion_fault(
    old_schema: &'static KeySchema,
    from: usize,
    new_schema: &'static KeySchema,
    at: usize,
) -> Option<String> {
    let (old, new) = (&old_schema.fields()[from], &new_schema.fields()[at]);
    let (old_written, new_written) = (old.hash_of().unwrap_or(old), new.hash_of().unwrap_or(new));
    let declared = |field: &Field| (field.rust_type(), field.format(), field.width(), field.order());
    let converts = match (old_written.values(), new_written.values()) {
        (FieldValues::Custom, FieldValues::Custom) => {
            declared(old_written) == declared(new_written) && old_schema.layout() == new_schema.layout()
        }
        (old, new) => noun(old) == noun(new),
    };
    (!converts).then(|| {
        format!(
            "the field `{}` of `{}` holds {}, and `{}` of `{}` {}",
            old.name(),
            old_schema.key_type(),
            described(old_written),
            new.name(),
            new_schema.key_type(),
            described(new_written),
        )
    })
}

fn described(field: &Field) -> String {
    match field.values() {
        FieldValues::Custom => format!("what the module or type `{}` writes", field.rust_type()),
        values => noun(values).to_owned(),
    }
}

/// What a field holds, as a noun: values with the same noun convert to each other.
fn noun(values: FieldValues) -> &'static str {
    match values {
        FieldValues::Integer { .. } => "integers",
        FieldValues::Bool => "`bool`s",
        FieldValues::Text | FieldValues::Char | FieldValues::Codes(_) => "text",
        FieldValues::Bytes => "bytes",
        FieldValues::Time { .. } => "times",
        FieldValues::Date => "dates",
        FieldValues::Uuid { .. } => "UUIDs",
        FieldValues::Custom => "what a module writes",
    }
}

/// For each field of the old key, a field of the new key that has its value.
fn way_back(
    old: &'static KeySchema,
    new: &'static KeySchema,
    sources: &[KeySource],
) -> Result<Arc<[usize]>, LayoutError> {
    let (mut back, mut faults) = (Vec::new(), Vec::new());
    for (from, field) in old.fields().iter().enumerate() {
        let of_field = |at: &usize| sources[*at].field() == Some(from);
        let named = || format!("the field `{}` of `{}`", field.name(), old.key_type());
        let all: Vec<_> = (0..sources.len()).filter(of_field).collect();
        match all.iter().find(|at| new.fields()[**at].hash_of().is_none()) {
            _ if field.hash_of().is_some() => {
                faults.push(format!("{} is hashed: its values cannot be read back from keys", named()));
            }
            Some(at) => back.push(*at),
            None if all.is_empty() => faults.push(format!(
                "{} is dropped: no field of `{}` has its values, and rows that differ in it alone have one new key",
                named(),
                new.key_type()
            )),
            None => faults.push(format!(
                "{} is hashed in `{}`: its values cannot be read back from keys",
                named(),
                new.key_type()
            )),
        }
    }
    if faults.is_empty() { Ok(back.into()) } else { Err(LayoutError::new(faults)) }
}

impl From<DecodeError> for MappingError {
    fn from(error: DecodeError) -> Self {
        Self::Foreign(error)
    }
}

impl From<EncodeError> for MappingError {
    fn from(error: EncodeError) -> Self {
        Self::Key(error)
    }
}

impl fmt::Display for MappingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Foreign(error) => error.fmt(f),
            Self::Key(error) => error.fmt(f),
        }
    }
}

impl Error for MappingError {}

/// Each field of the new key with its source, as [`new`](KeyMapping::new) reads it.
impl fmt::Display for KeyMapping {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (old, new) = (self.old.schema().fields(), self.new.schema().fields());
        for (at, (field, source)) in new.iter().zip(&*self.sources).enumerate() {
            f.write_str(if at == 0 { "" } else { ", " })?;
            match source {
                KeySource::Field(from) => write!(f, "{}={}", field.name(), old[*from].name())?,
                KeySource::Constant(value) => {
                    write!(f, "{}='{}'", field.name(), value.to_string().replace('\'', "''"))?;
                }
            }
        }
        Ok(())
    }
}

impl fmt::Debug for KeyMapping {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("KeyMapping").field(&format_args!("{self}")).finish()
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime, UNIX_EPOCH};

    use super::*;
    use crate::RowKey;

    #[derive(RowKey)]
    struct Old {
        user_id: String,
        at: SystemTime,
        seq: u16,
        #[row_key(hash(md5))]
        device: String,
    }

    #[derive(RowKey)]
    #[salt(range = 4, over = "user")]
    struct New {
        user: String,
        #[reverse_ts]
        at: SystemTime,
        #[pad(3)]
        seq: u32,
        region: String,
    }

    fn mapping<A: RowKey, B: RowKey>(text: &str) -> Result<KeyMapping, LayoutError> {
        KeyMapping::new(&KeyLayout::of::<A>(), &KeyLayout::of::<B>(), text)
    }

    #[test]
    fn every_fault_is_in_one_error() {
        let error =
            mapping::<Old, New>("user=users,usr=user_id,seq=seq,seq=user_id,x,region='a'b'").unwrap_err();
        let expected = [
            "`user=users`: `Old` has no field `users`; it has `user_id`, `at`, `seq`, `device`",
            "`usr=user_id`: `New` has no field `usr`; it has `user`, `at`, `seq`, `region`",
            "`seq=user_id`: the field `user_id` of `Old` holds text, and `seq` of `New` integers",
            "`seq=user_id`: the field `seq` of `New` has two sources",
            "`x`: write `new=old`, or `new='text'` for a constant",
            "`region='a'b'`: `Old` has no field `'a'b'`; it has `user_id`, `at`, `seq`, `device`",
        ];
        assert_eq!(error.faults(), expected);
        let error = mapping::<Old, New>("user=device,seq='ten'").unwrap_err();
        assert_eq!(error.faults().len(), 3, "{error}");
        assert!(error.to_string().contains("the field `device` of `Old` is hashed"), "{error}");
        assert!(error.to_string().contains(r#"field `seq`"#), "{error}");
        assert!(error.to_string().contains("the field `region` of `New` has no source"), "{error}");
    }

    #[test]
    fn values_convert_by_their_types() {
        let mapping = mapping::<Old, New>("user=user_id,region='it''s,eu'").unwrap();
        assert_eq!(mapping.to_string(), "user=user_id, at=at, seq=seq, region='it''s,eu'");
        let at = UNIX_EPOCH + Duration::from_millis(1_795_478_400_000);
        let old = Old { user_id: "alice".into(), at, device: "phone".into(), seq: 42 };
        let expected = New { user: "alice".into(), at, seq: 42, region: "it's,eu".into() };
        assert_eq!(mapping.new_key(old.encode().unwrap()).unwrap(), expected.encode().unwrap());
        // A number that the new field cannot hold is an error of its row.
        let error = mapping.new_key(Old { seq: 1000, ..old }.encode().unwrap()).unwrap_err().to_string();
        assert!(error.contains("1000 does not fit"), "{error}");
        assert_eq!(mapping.dropped(), ["device"]);
        let error = mapping.check_reversible().unwrap_err().to_string();
        assert_eq!(error, "the field `device` of `Old` is hashed: its values cannot be read back from keys");
    }

    #[test]
    fn a_hashed_field_keeps_its_bytes_if_the_layout_stays() {
        let same = mapping::<Old, Old>("").unwrap();
        let key =
            Old { user_id: "a".into(), at: UNIX_EPOCH, device: "phone".into(), seq: 1 }.encode().unwrap();
        assert_eq!(same.new_key(&key).unwrap(), key);
        assert!(same.check_reversible().is_err());
        assert!(
            mapping::<Old, Old>("seq='7'").unwrap_err().to_string().contains("`device` of `Old` is hashed")
        );
    }

    #[test]
    fn a_way_back_leads_to_the_old_key() {
        #[derive(RowKey)]
        struct Plain {
            user_id: String,
            at: SystemTime,
            seq: u16,
        }
        let mapping = mapping::<Plain, New>("user=user_id,region='eu'").unwrap();
        mapping.check_reversible().unwrap();
        let at = UNIX_EPOCH + Duration::from_millis(1_795_478_400_000);
        let old = Plain { user_id: "bob".into(), at, seq: 7 }.encode().unwrap();
        let new = mapping.new_key(&old).unwrap();
        assert_eq!(mapping.old_key(&new).unwrap(), old);
        assert!(matches!(mapping.new_key(b"no key").unwrap_err(), MappingError::Foreign(_)));
    }
}
