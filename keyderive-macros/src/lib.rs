//! The derive macros of [`keyderive`](https://docs.rs/keyderive); use them through that crate.
//!
//! Each stage is a module: `attr` parses the attributes, `model` builds the model of the key type, `check` checks the
//! rules that need more than one part of it, and `expand` generates the code. Every stage reports to one `ctxt::Ctxt`,
//! so that one run shows all faults. After a fault, `fallback` generates stub impls beside the errors, so that the
//! compiler does not report the same mistake at every use.

mod attr;
mod cell;
mod check;
mod ctxt;
mod expand;
mod fallback;
mod key_field;
mod model;
mod names;
mod query_row;
mod row;
mod since;

use proc_macro2::TokenStream;
use syn::DeriveInput;

/// Derives [`RowKey`](https://docs.rs/keyderive/latest/keyderive/trait.RowKey.html) for a struct with
/// named fields: encode, decode, the schema and the typed scan builder.
///
/// ```
/// use keyderive::RowKey;
///
/// #[derive(RowKey)]
/// #[salt(range = 4, over = "user_id,site")]
/// struct EventKey {
///     user_id: String,
///     site: String,
///     #[reverse_ts]
///     at: u64,
///     #[pad(6)]
///     seq: u32,
/// }
/// ```
///
/// # Attributes on the struct
/// - `#[salt(range = 4, over = "user_id,site")]` puts a bucket of `0..range` before the fields, chosen by a hash of the
///   fields in `over`, or of all fields without `over`. `range` is 2 to 4096. `over(user_id, site)` means the same.
///   The delimiter follows the bucket; `sep = "-"` changes that. The bucket stands after a tag;
///   `position = "front"` puts it before the tag, `after = "user_id"` after that field.
///   `hash = "java"` reads and writes tables made with Google's published salting sample: the bucket is the signed
///   remainder of `String.hashCode` of the whole key, in `-(range - 1)..range`, and stands first, before a tag too.
/// - `#[salt(range = 16, over = "user_id", sep = "!", since(at = "2026-12-01T00:00:00Z"))]` is the salt of the keys whose
///   field `at` is that time or later. There can be several, after a `#[salt]` without `since` or none; the manual has a
///   section on them.
/// - `#[row_key(tag = "BATTERY")]` a constant before the fields; also before the salt, unless that is at the front.
/// - `#[row_key(delimiter = '-')]` the character between the parts; the default is `#`. It must be below `0` in a key
///   with a delimited field or a tag with digits, and below `%` in a key with `escape`.
/// - `#[row_key(allow(hotspot))]` allows a key that begins with a value which only grows. `allow` also silences two
///   warnings: `point_reads`, a field after a hashed one, and `few_buckets`, a salt over fewer values than it has
///   buckets. An `allow` without effect is a warning too.
/// - `#[row_key(display)]` implements `Display` and, for a key without borrowed fields, `FromStr`: the text of the
///   key as it is stored. A key that cannot be encoded is displayed as `<EventKey cannot be written: …>`. Without
///   `display`, use `key.to_text()` and `EventKey::from_text(…)`. The ordered layout, which is not text, and keys with
///   a hashed field, which cannot be decoded, reject it.
/// - `#[row_key(layout = "ordered")]` writes Bigtable's `Struct.OrderedCodeBytes` in place of delimited text.
/// - `#[row_key(fingerprint = "…")]` pins the layout: any change of it fails the build.
/// - `#[row_key(foreign(pad))]` ignores `#[pad]`, for a struct on which another derive owns that attribute;
///   `foreign(salt)` and `foreign(reverse_ts)` likewise. Write `#[row_key(pad(6))]`, `#[row_key(salt(range = 4))]` and
///   `#[row_key(reverse_ts)]` instead; these forms are always allowed.
/// - `#[row_key(trait_methods)]` leaves out the methods of the type, for a type that has such methods of its own: see below.
/// - `#[row_key(crate = "path")]` the path of `keyderive`, for a renamed or re-exported crate.
///
/// # Attributes on a field
/// - `#[pad(6)]` an integer in 6 digits, zero padded; a string in 6 bytes, space padded on the right.
/// - `#[reverse_ts]` an integer as `i64::MAX - t`, so that the newest comes first;
///   `#[reverse_ts(max = 9999999999999)]` as `max - t`, in as many digits as `max` has.
/// - `#[row_key(sequential)]` says that the field only grows.
/// - `#[row_key(ts(unit = "millis"))]` a time as the count of `secs`, `millis`, `micros` (the default) or `nanos`
///   since 1970; a finer time is rounded down, or an error with `exact`. `#[row_key(ts(format = "datetime17"))]`
///   writes `YYYYMMDDHHMMSSmmm`. With `#[reverse_ts]` the count is reversed.
/// - `#[row_key(uuid(simple))]` a UUID without hyphens; `#[row_key(uuid(v4))]` random ones only, which may come
///   first in a key.
/// - `#[row_key(desc)]` greatest first: integers, `bool`, dates and times.
/// - `#[row_key(bit_reverse)]` a sequential `u32` or `u64` with its bits reversed, spread over the key space.
/// - `#[row_key(escape)]` any string in a delimited field: every byte up to `%` as `%XX`. It takes `char`, `String` and
///   `Cow<str>`; a `&str` cannot borrow escaped text.
/// - `#[row_key(hash(md5))]` the MD5 of the field's encoding; such a key encodes but does not decode.
/// - `#[row_key(name = "user")]` the field's name in the schema, in errors and in `explain()`; `over` still takes the
///   name in the struct.
/// - `#[row_key(method = "by_user")]` the name of its scan methods: `by_user`, `by_user_range`, `by_user_prefix`.
/// - `#[row_key(with = "module")]` a value of any type, encoded and decoded by a module of yours.
///
/// # Formats of your own
/// The module of `with` has a `WIDTH`, `write` and `read`. A scan can fix the field but not range over it, since its
/// order is the module's own. The field's type must implement `Debug`. A value that `write` does not write in `WIDTH`
/// bytes is an error, and so are bytes that `read` accepts but `write` would write differently.
///
/// ```
/// use keyderive::RowKey;
/// use std::net::Ipv4Addr;
///
/// mod hex_address {
///     use keyderive::key::{FieldError, Width};
///     use std::net::Ipv4Addr;
///
///     pub const WIDTH: Width = Width::Fixed(8);
///
///     pub fn write(value: &Ipv4Addr, out: &mut Vec<u8>) -> Result<(), FieldError> {
///         out.extend_from_slice(format!("{:08x}", value.to_bits()).as_bytes());
///         Ok(())
///     }
///
///     pub fn read(bytes: &[u8]) -> Result<Ipv4Addr, FieldError> {
///         let digits = str::from_utf8(bytes).map_err(FieldError::new)?;
///         u32::from_str_radix(digits, 16).map(Ipv4Addr::from_bits).map_err(FieldError::new)
///     }
/// }
///
/// #[derive(RowKey)]
/// struct HostKey {
///     #[row_key(with = "hex_address")]
///     address: Ipv4Addr,
///     port: u16,
/// }
///
/// let key = HostKey { address: Ipv4Addr::new(10, 0, 0, 1), port: 443 };
/// assert_eq!(key.to_text()?, "0a000001#00443");
/// HostKey::scan().address(&key.address).port_range(1..1024).into_plan()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Methods of the type
/// The constant and the methods of the trait are those of the type too, as visible as the type: `SCHEMA`, `encode`, `encode_into`,
/// `decode`, `to_text`, `from_text`, `scan`, `salt_bucket`, `fingerprint`, `row_key_schema` and `sql`. A caller need not import
/// the trait, which generic code uses. A type with a method of such a name gets the error "duplicate definitions with name": write
/// `#[row_key(trait_methods)]` on it, and import the trait where you call the others.
///
/// # The scan builder
/// The derive declares `<Name>Scan` beside the struct, with the same visibility. For a field `f` it has `.f(v)`,
/// `.f_any_of([a, b])`, `.f_range(a..b)` and `.f_prefix("x")`; they compile only in the order of the fields.
#[proc_macro_derive(RowKey, attributes(row_key, salt, pad, reverse_ts))]
pub fn derive_row_key(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    match syn::parse(input) {
        Ok(input) => row_key(&input),
        Err(error) => error.into_compile_error(),
    }
    .into()
}

/// Derives [`KeyField`](https://docs.rs/keyderive/latest/keyderive/trait.KeyField.html), so that a type of
/// your own can be a field of row keys: a newtype, or an enum of codes.
///
/// ```
/// use keyderive::{KeyField, RowKey};
///
/// #[derive(KeyField, Clone, Debug, PartialEq)]
/// struct UserId(String);
///
/// #[derive(KeyField, Clone, Copy, Debug, PartialEq)]
/// enum Kind {
///     Created = 1,
///     Deleted = 20,
/// }
///
/// #[derive(RowKey)]
/// struct EventKey {
///     user_id: UserId,
///     kind: Kind,
///     #[reverse_ts]
///     at: u64,
/// }
///
/// let key = EventKey { user_id: UserId("alice".into()), kind: Kind::Created, at: 1426535612156 };
/// assert_eq!(key.encode()?, b"alice#01#9223370610319163651");
///
/// // A newtype takes values of its inner type, an enum takes its variants.
/// EventKey::scan().user_id("alice").kind_range(Kind::Created..=Kind::Deleted).into_plan()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Newtypes
/// A tuple struct with one field is stored as that field, in every format of its type: write `#[pad(6)]` and
/// `#[reverse_ts]` on the row key's field. A newtype owns its value and has no parameters.
///
/// # Enums
/// An enum without fields is stored as the code of its variant, the explicit discriminant from 0 to `u64::MAX` that
/// each variant declares: decimal, zero padded to the digits of the greatest code. Values sort by their codes. The enum
/// also needs `#[derive(Clone, Copy, Debug)]`, since values are passed by copy and shown in errors.
///
/// Variants can be renamed, reordered and added later; never change a code. A code with more digits than all others widens the
/// field, so that rows stored before are no longer found: leave room in the greatest code. Decoding rejects a code
/// that the enum does not have.
///
/// # Attributes on the type
/// - `#[row_key(crate = "path")]` the path of `keyderive`, for a renamed or re-exported crate.
#[proc_macro_derive(KeyField, attributes(row_key, salt, pad, reverse_ts))]
pub fn derive_key_field(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    match syn::parse(input) {
        Ok(input) => key_field::key_field(&input),
        Err(error) => error.into_compile_error(),
    }
    .into()
}

/// Derives [`Cell`](https://docs.rs/keyderive/latest/keyderive/trait.Cell.html), so that a type of your own can be the value
/// of a column: a newtype, a unit struct, or an enum without fields.
///
/// ```
/// use keyderive::Cell;
///
/// /// Stored as its text.
/// #[derive(Cell, Debug, PartialEq)]
/// struct UserId(String);
///
/// /// Stored as the name of the variant.
/// #[derive(Cell, Debug, PartialEq)]
/// enum Kind {
///     Login,
///     #[row(name = "lo")]
///     Logout,
/// }
///
/// /// Stored as the integer of the variant.
/// #[derive(Cell, Debug, PartialEq)]
/// #[row(code)]
/// enum Level {
///     Low = 1,
///     High = 20,
/// }
///
/// assert_eq!(UserId("alice".into()).to_stored()?, b"alice");
/// assert_eq!(Kind::decode(b"lo")?, Kind::Logout);
/// assert_eq!(Level::High.to_stored()?, 20_i64.to_be_bytes());
/// # Ok::<(), keyderive::row::CellError>(())
/// ```
///
/// Variants can be reordered and added later, and renamed if `#[row(name = "…")]` keeps the stored name. Never change a stored
/// name or a code. A read of a value that no variant has fails.
///
/// # Attributes
/// - `#[row(code)]` on the enum: stores the explicit discriminant, from 0 to `i64::MAX`, in 8 bytes, big-endian.
/// - `#[row(name = "lo")]` on a variant: its stored name.
/// - `#[row(crate = "path")]` on the type: the path of `keyderive`, for a renamed or re-exported crate.
#[proc_macro_derive(Cell, attributes(row))]
pub fn derive_cell(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    match syn::parse(input) {
        Ok(input) => cell::cell(&input),
        Err(error) => error.into_compile_error(),
    }
    .into()
}

/// Derives [`Row`](https://docs.rs/keyderive/latest/keyderive/trait.Row.html) for a struct with named fields, or none: how it is read
/// from the cells of a row and written to them, its schema, and a constant for each column and family.
///
/// ```
/// use std::collections::BTreeMap;
/// use keyderive::Row;
/// use keyderive::row::{Sum, Versions};
///
/// #[derive(Row)]
/// #[row(gc(max_age = "30d"))]
/// struct Event {
///     kind: String,          // `cf:kind`, which is `Event::KIND`
///     #[row(name = "n", alias = "notes")]
///     note: Option<String>,  // `cf:n`, read from `cf:notes` too
///     #[row(default)]
///     retries: u32,
///     #[row(json)]
///     tags: Vec<String>,
///     #[row(family)]
///     place: Option<Place>,  // the family `place`; `Event::PLACE.city` is `place:city`
///     #[row(family)]
///     daily: BTreeMap<String, f64>, // the family `daily`; `Event::DAILY.at("0015")` is `daily:0015`
///     #[row(family = "h")]
///     state: Versions<String>, // `h:state`, every version of it
///     #[row(family = "sums")]
///     views: Sum,              // `sums:views`, which updates add to
/// }
///
/// #[derive(Row)]
/// struct Place {
///     city: String,
///     floor: Option<i32>,
/// }
/// ```
///
/// # Attributes on the struct
/// - `#[row(family = "cf")]` the default family, which holds each column that names no other; without it, `cf`.
/// - `#[row(gc(…))]`, `#[row(ttl = "7d")]`, `#[row(exclusive)]` for the default family: see below.
/// - `#[row(fingerprint = "…")]` pins the layout: any change of it fails the build.
/// - `#[row(crate = "path")]` the path of `keyderive`, for a renamed or re-exported crate.
///
/// # Attributes on a field
/// - `#[row(name = "n")]` the stored name of the column or family; the default is the field's name.
/// - `#[row(alias = "notes")]` a former name of a column, or `"family:name"`, under which reads and conditions find the value
///   where the column itself has none. A write of the column deletes what is under the alias. `increment` and `append` are
///   rejected, since the server looks only at the column. To rename while older programs run, take two releases: `keyderive::guide::rows`
///   shows them.
/// - `#[row(family)]` the field is a family: a struct, an `Option` of one, or a map.
/// - `#[row(family = "h")]` the field is a column of the family `h`.
/// - `#[row(default)]`, `#[row(default = "path")]` the value where the column is absent. `put` writes the column.
/// - `#[row(counter)]` an `i64` that `increment` adds to; 0 where the column is absent.
/// - `#[row(json)]` the value as compact JSON; the field's type implements serde's traits.
/// - `#[row(proto)]` a message of `prost`, encoded; needs the feature `proto`.
/// - `#[row(ts(unit = "millis"))]` a time as an integer of `secs`, `millis`, `micros` or `nanos` since 1970, rounded down.
/// - `#[row(with = "module")]` a value of any type, encoded and decoded by a module of yours: see below.
/// - `#[row(window = "1h")]` on `Versions<Sum>`, `Versions<Min>` or `Versions<Max>`: one aggregate for each hour, of what
///   `add_at` adds at a time within it.
/// - `#[row(constant = "NAME")]` the name of the constant; the default is the field's name in upper case.
///
/// `json`, `proto`, `ts` and `with` also apply inside `Option`, `Versions`, `Timestamped` and maps.
///
/// # How long cells are kept
/// On the struct, on a field with `family`, or on one field of each `family = "h"`:
/// - `#[row(gc(max_age = "30d"))]`, `#[row(gc(max_versions = 3))]`: the rule by which `create` lets Bigtable remove cells. With both
///   in one `gc`, a cell is removed if either applies; with `#[row(gc(all(max_age = "30d", max_versions = 3)))]`, if both
///   do; with `#[row(gc(never))]`, none is. The default is one version, and `never` where a field is `Versions` or an aggregate.
/// - `#[row(ttl = "7d")]` hides older cells from reads, counts and conditions on columns by this row type, but not from
///   `get_raw`, `Scan::raw`, `Condition::filter`, SQL and other row types. A row of which every cell is hidden is absent to
///   `put_if_absent`, and `delete_rows` deletes it. A write that would be hidden at once is an error. `increment` and `append` are
///   rejected, since the server would change a hidden value. The client's clock decides (`Client::now`);
///   `keyderive::guide::promises` says what each call does. It hides cells of its family alone. In a row type with several families, give them all the same `ttl`, or a row
///   whose required columns are hidden while an aggregate remains still exists: reads of it fail with `is_invalid_row`, and
///   `put_if_absent` returns false. The same holds for rules by age, and for an `update` that renews some columns only. Without a
///   `ttl`, reads return a cell until Bigtable removes it: for up to a week after it is eligible, sometimes longer.
///   Without a `gc`, a `ttl` of 7 days is `gc(max_age = "7d")` too.
/// - `#[row(exclusive)]`: `put` empties the family before it writes, also of columns that the type does not name.
///
/// # Encodings of your own
/// The module of `with` has `encode` and `decode`:
///
/// ```
/// use keyderive::Row;
///
/// mod hex {
///     use keyderive::Cell;
///     use keyderive::row::{CellError, CellWriter};
///     use std::fmt::Write as _;
///
///     pub fn encode(value: &u32, out: &mut CellWriter<'_>) -> Result<(), CellError> {
///         write!(out, "{value:08x}").map_err(CellError::unsupported)
///     }
///
///     pub fn decode(value: &[u8]) -> Result<u32, CellError> {
///         let digits = <&str>::decode(value)?;
///         u32::from_str_radix(digits, 16).map_err(CellError::malformed)
///     }
/// }
///
/// #[derive(Row)]
/// struct Light {
///     #[row(with = "hex")]
///     color: Option<u32>,
/// }
/// ```
#[proc_macro_derive(Row, attributes(row))]
pub fn derive_row(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    match syn::parse(input) {
        Ok(input) => row::row(&input),
        Err(error) => error.into_compile_error(),
    }
    .into()
}

/// A struct that rows of a query become: each field is the column of its name.
///
/// ```no_run
/// use keyderive::Client;
/// use keyderive::query::FromQueryRow;
///
/// #[derive(FromQueryRow)]
/// struct Count {
///     kind: Option<String>,
///     #[query(name = "n")]
///     count: i64,
/// }
///
/// # async fn sample(client: Client) -> Result<(), keyderive::Error> {
/// let query = client.query("SELECT CAST(cf['kind'] AS STRING) AS kind, COUNT(*) AS n FROM events GROUP BY kind");
/// let counts: Vec<Count> = query.fetch().await?;
/// # Ok(())
/// # }
/// ```
///
/// The type of a field is one that `keyderive::query` lists, or your own with `FromSql`. Names match
/// exactly, with upper and lower case. Columns that no field names are ignored. A column that is missing, of another type, or of a
/// name that several have, is an error that names the query and the column.
///
/// # Attributes
/// - `#[query(name = "n")]` on a field: the name of its column; the default is the field's name.
/// - `#[query(crate = "path")]` on the struct: the path of `keyderive`, for a renamed or re-exported crate.
#[proc_macro_derive(FromQueryRow, attributes(query))]
pub fn derive_from_query_row(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    match syn::parse(input) {
        Ok(input) => query_row::query_row(&input),
        Err(error) => error.into_compile_error(),
    }
    .into()
}

/// Takes and returns `proc_macro2` tokens, which unit tests can make.
fn row_key(input: &DeriveInput) -> TokenStream {
    let cx = ctxt::Ctxt::new();
    let key = model::Key::from_input(&cx, input);
    if let Some(key) = &key {
        check::check(&cx, key);
    }
    let warnings = cx.take_warnings();
    match (key, cx.check()) {
        (Some(key), Ok(())) => {
            let expanded = expand::row_key(&key);
            quote::quote!(#warnings #expanded)
        }
        (key, errors) => {
            let errors = errors.err().map(syn::Error::into_compile_error);
            let stub = fallback::row_key(input, key.as_ref());
            quote::quote!(#errors #warnings #stub)
        }
    }
}

#[cfg(test)]
mod tests;
