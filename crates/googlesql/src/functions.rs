//! The functions of SQL.

use std::cmp::Ordering;
use std::fmt::Display;

use bytes::Bytes;
use keyderive_embedded::{Re2Error, translate_re2};
use regex::bytes::{Captures, Regex, RegexBuilder};
use sqlparser::tokenizer::Location;
use tonic::Status;

use crate::cast;
use crate::error::{invalid, invalid_at, out_of_range, unimplemented};
use crate::expr::Expr;
use crate::meter;
use crate::typed::{Form, Typed, type_list, unified};
use crate::types::Type;
use crate::value::Value;

mod times;

pub(crate) use times::{takes_interval, time_part_call, time_part_place};

/// What the service has, by its pages, and this engine does not.
const UNSERVED: &str = "\
    ACOS ACOSH APPROX_COSINE_DISTANCE APPROX_COUNT_DISTINCT APPROX_EUCLIDEAN_DISTANCE APPROX_QUANTILES APPROX_TOP_COUNT \
    APPROX_TOP_SUM ARRAY ARRAY_AVG ARRAY_CONCAT_AGG ARRAY_FILTER ARRAY_FIND ARRAY_FIND_ALL ARRAY_FIRST_N ARRAY_INCLUDES_ALL \
    ARRAY_INCLUDES_ANY ARRAY_IS_DISTINCT ARRAY_LAST_N ARRAY_MAX ARRAY_MIN ARRAY_OFFSET ARRAY_OFFSETS ARRAY_REMOVE_FIRST_N \
    ARRAY_REMOVE_LAST_N ARRAY_SLICE ARRAY_SUM ARRAY_TRANSFORM ASCII ASIN ASINH ATAN ATAN2 ATANH BIT_AND BIT_CAST_TO_INT64 BIT_COUNT \
    BIT_OR BIT_XOR CBRT CHR CODE_POINTS_TO_BYTES CODE_POINTS_TO_STRING CONTAINS_SUBSTR CORR COS COSH COT COTH COVAR_POP COVAR_SAMP \
    CSC CSCH DATETIME DOT_PRODUCT EDIT_DISTANCE ERROR FORMAT FROM_BASE32 FROM_PROTO GENERATE_ARRAY GENERATE_DATE_ARRAY \
    GENERATE_TIMESTAMP_ARRAY GENERATE_UUID HLL_COUNT.EXTRACT HLL_COUNT.INIT HLL_COUNT.MERGE HLL_COUNT.MERGE_PARTIAL INITCAP INSTR \
    JSON_EXTRACT JSON_EXTRACT_SCALAR JSON_QUERY JSON_QUERY_ARRAY JSON_VALUE JSON_VALUE_ARRAY KEYS.NEW_KEYSET LAST_DAY MAP_FROM_ARRAY \
    MD5 NORMALIZE NORMALIZE_AND_CASEFOLD PARSE_JSON PROTO_DEFAULT_IF_NULL RAND RANGE_BUCKET RANK REGEXP_EXTRACT_ALL REGEXP_INSTR \
    ROW_NUMBER S2_CELLIDFROMPOINT S2_COVERINGCELLIDS SAFE_ADD SAFE_MULTIPLY SAFE_NEGATE SAFE_SUBTRACT SEC SECH SHA1 SHA256 SHA512 \
    SIN SINH SOUNDEX STDDEV STDDEV_POP STDDEV_SAMP TAN TANH TIME TO_BASE32 TO_CODE_POINTS TO_JSON TO_JSON_STRING TO_PROTO TRANSLATE \
    UNICODE VARIANCE VAR_POP VAR_SAMP";

/// The function is not known.
pub(crate) fn not_found(name: &str, at: Location) -> Status {
    if time_part_place(name).is_some() {
        return invalid_at(format!("{name} without a part of a time, such as DAY"), at);
    }
    if matches!(name, "ALL" | "SOME") {
        return unimplemented(format!("LIKE {name}"));
    }
    invalid_at(format!("Function not found: {name}"), at)
}

/// No function of this name takes such arguments.
pub(crate) fn no_signature(what: &str, arguments: &[Typed], at: Location) -> Status {
    // Structs whose fields have common types have one in GoogleSQL.
    if arguments.len() > 1 && arguments.iter().all(|argument| matches!(argument.of, Type::Struct(_))) {
        return unimplemented(format!("{what} of structs of several types: {}", type_list(arguments)));
    }
    invalid_at(format!("No matching signature for {what} for argument types: {}", type_list(arguments)), at)
}

/// As [`no_signature`], of a comparison. Arrays and structs have an order in GoogleSQL, and none here.
pub(crate) fn not_comparable(what: &str, arguments: &[Typed], at: Location) -> Status {
    match arguments {
        [first, rest @ ..]
            if matches!(first.of, Type::Array(_) | Type::Struct(_))
                && rest.iter().all(|other| other.of == first.of) =>
        {
            unimplemented(format!("comparisons of {}", first.of))
        }
        arguments => no_signature(what, arguments, at),
    }
}

/// Fails for a function that the service has and this engine does not.
pub(crate) fn check_served(name: &str) -> Result<(), Status> {
    match UNSERVED.split_ascii_whitespace().any(|unserved| unserved == name) {
        true => Err(unimplemented(format!("the function {name}"))),
        false => Ok(()),
    }
}

/// The arguments of a call, as they are taken one after the other.
struct Arguments<'a> {
    name: &'a str,
    all: Vec<Typed>,
    at: Location,
}

impl Arguments<'_> {
    fn wrong(&self) -> Status {
        no_signature(&format!("function {}", self.name), &self.all, self.at)
    }

    /// These arguments as the types of one of these signatures, the first that fits.
    fn into_any(mut self, signatures: &[&[Type]]) -> Result<(usize, Vec<Typed>), Status> {
        let fits = |signature: &&[Type]| {
            signature.len() == self.all.len()
                && self.all.iter().zip(*signature).all(|(typed, of)| typed.becomes(of))
        };
        // A signature that fits without a conversion comes first.
        let exact = |signature: &&[Type]| {
            fits(signature)
                && self
                    .all
                    .iter()
                    .zip(*signature)
                    .all(|(typed, of)| typed.of == *of || typed.form == Form::Null)
        };
        let found = signatures.iter().position(exact);
        let Some(found) = found.or_else(|| signatures.iter().position(fits)) else {
            return Err(self.wrong());
        };
        let mut coerced = Vec::with_capacity(self.all.len());
        for (typed, of) in self.all.drain(..).zip(signatures[found]) {
            coerced.push(typed.coerced(of)?.unwrap_or_else(|same| same));
        }
        Ok((found, coerced))
    }

    fn into_one(self, signature: &[Type]) -> Result<Vec<Typed>, Status> {
        Ok(self.into_any(&[signature])?.1)
    }

    /// Fails unless there are this many.
    fn count(&self, counts: std::ops::RangeInclusive<usize>) -> Result<(), Status> {
        if counts.contains(&self.all.len()) { Ok(()) } else { Err(self.wrong()) }
    }

    /// All as one type.
    fn unified(self) -> Result<(Vec<Typed>, Type), Status> {
        let (name, at) = (self.name, self.at);
        unified(self.all)?.map_err(|all| no_signature(&format!("function {name}"), &all, at))
    }
}

use Type::{Bool, Bytes as Blob, Float32, Float64, Int64, Text};

/// A call of a scalar function; `now` is the time of the server.
#[expect(clippy::too_many_lines, reason = "a row for each function")]
pub(crate) fn call(name: &str, all: Vec<Typed>, at: Location, now: i64) -> Result<Typed, Status> {
    let arguments = Arguments { name, all, at };
    let int = |number: usize| Value::Int64(i64::try_from(number).unwrap_or(i64::MAX));
    Ok(match name {
        // Maps.
        "MAP_CONTAINS_KEY" | "MAP_KEYS" | "MAP_VALUES" | "MAP_ENTRIES" | "MAP_EMPTY" => {
            map_function(arguments)?
        }
        // Stored bytes.
        "TO_INT64" => Typed::strict(Int64, arguments.into_one(&[Blob])?, |values| {
            Ok(Value::Int64(i64::from_be_bytes(exactly(&values[0])?)))
        }),
        "TO_FLOAT64" => Typed::strict(Float64, arguments.into_one(&[Blob])?, |values| {
            Ok(Value::Float64(f64::from_be_bytes(exactly(&values[0])?)))
        }),
        "TO_FLOAT32" => Typed::strict(Float32, arguments.into_one(&[Blob])?, |values| {
            Ok(Value::Float32(f32::from_be_bytes(exactly(&values[0])?)))
        }),
        "TO_VECTOR64" => Typed::strict(Type::array(Float64), arguments.into_one(&[Blob])?, |values| {
            let elements = values[0]
                .raw()
                .chunks(8)
                .map(|bytes| Ok(Value::Float64(f64::from_be_bytes(of_size(bytes)?))));
            Ok(Value::Array(elements.collect::<Result<_, Status>>()?))
        }),
        "TO_VECTOR32" => Typed::strict(Type::array(Float32), arguments.into_one(&[Blob])?, |values| {
            let elements = values[0]
                .raw()
                .chunks(4)
                .map(|bytes| Ok(Value::Float32(f32::from_be_bytes(of_size(bytes)?))));
            Ok(Value::Array(elements.collect::<Result<_, Status>>()?))
        }),
        "SAFE_CONVERT_BYTES_TO_STRING" => Typed::strict(Text, arguments.into_one(&[Blob])?, |values| {
            // Each byte that is no UTF-8 becomes a character of its own.
            let shown = |chunk: std::str::Utf8Chunk<'_>| {
                format!("{}{}", chunk.valid(), "\u{fffd}".repeat(chunk.invalid().len()))
            };
            Ok(Value::Text(values[0].raw().utf8_chunks().map(shown).collect()))
        }),
        "TO_HEX" => Typed::strict(Text, arguments.into_one(&[Blob])?, |values| {
            Ok(Value::Text(values[0].raw().iter().map(|byte| format!("{byte:02x}")).collect()))
        }),
        "FROM_HEX" => Typed::strict(Blob, arguments.into_one(&[Text])?, |values| from_hex(&values[0])),
        "TO_BASE64" => Typed::strict(Text, arguments.into_one(&[Blob])?, |values| {
            use base64::Engine as _;
            Ok(Value::Text(base64::engine::general_purpose::STANDARD.encode(values[0].raw())))
        }),
        "FROM_BASE64" => Typed::strict(Blob, arguments.into_one(&[Text])?, |values| {
            use base64::Engine as _;
            // All padding, or none; blanks between, and bits that are left over.
            let config = base64::engine::GeneralPurposeConfig::new()
                .with_decode_allow_trailing_bits(true)
                .with_decode_padding_mode(base64::engine::DecodePaddingMode::Indifferent);
            let engine = base64::engine::GeneralPurpose::new(&base64::alphabet::STANDARD, config);
            let text: Vec<u8> =
                values[0].raw().iter().copied().filter(|byte| !byte.is_ascii_whitespace()).collect();
            let is_padded = text.ends_with(b"=");
            let bytes = engine.decode(&text).ok().filter(|_| !is_padded || text.len().is_multiple_of(4));
            bytes
                .map(|bytes| Value::Bytes(bytes.into()))
                .ok_or_else(|| out_of_range("Failed to decode invalid base64 string"))
        }),
        "FARM_FINGERPRINT" => {
            let (_, arguments) = arguments.into_any(&[&[Text], &[Blob]])?;
            Typed::strict(Int64, arguments, |values| {
                Ok(Value::Int64(keyderive_farmhash::fingerprint64(values[0].raw()).cast_signed()))
            })
        }
        // Text and bytes.
        "STARTS_WITH" => {
            let (_, mut arguments) = arguments.into_any(&[&[Text, Text], &[Blob, Blob]])?;
            let prefix = arguments.pop().map(|prefix| Box::new(prefix.expr));
            let operand = arguments.pop().map(|operand| Box::new(operand.expr));
            let (Some(operand), Some(prefix)) = (operand, prefix) else { return Ok(Typed::null()) };
            Typed::new(Expr::StartsWith(operand, prefix), Bool)
        }
        "ENDS_WITH" => {
            let (_, arguments) = arguments.into_any(&[&[Text, Text], &[Blob, Blob]])?;
            Typed::strict(Bool, arguments, |values| {
                Ok(Value::Bool(values[0].raw().ends_with(values[1].raw())))
            })
        }
        "LENGTH" | "CHAR_LENGTH" | "CHARACTER_LENGTH" => {
            let signatures: &[&[Type]] = if name == "LENGTH" { &[&[Text], &[Blob]] } else { &[&[Text]] };
            let (found, arguments) = arguments.into_any(signatures)?;
            Typed::strict(Int64, arguments, move |values| {
                Ok(int(if found == 0 { chars(&values[0]).len() } else { values[0].raw().len() }))
            })
        }
        "BYTE_LENGTH" | "OCTET_LENGTH" => {
            let (_, arguments) = arguments.into_any(&[&[Text], &[Blob]])?;
            Typed::strict(Int64, arguments, move |values| Ok(int(values[0].raw().len())))
        }
        "UPPER" | "LOWER" => {
            let is_upper = name == "UPPER";
            let (found, arguments) = arguments.into_any(&[&[Text], &[Blob]])?;
            let of = if found == 0 { Text } else { Blob };
            Typed::strict(of, arguments, move |values| {
                Ok(match &values[0] {
                    Value::Text(text) => {
                        Value::Text(if is_upper { text.to_uppercase() } else { text.to_lowercase() })
                    }
                    bytes if is_upper => Value::Bytes(bytes.raw().to_ascii_uppercase().into()),
                    bytes => Value::Bytes(bytes.raw().to_ascii_lowercase().into()),
                })
            })
        }
        "CONCAT" => {
            arguments.count(1..=usize::MAX)?;
            let wrong = arguments.wrong();
            let (arguments, of) = arguments.unified()?;
            if !of.is_text_or_bytes() {
                return Err(wrong);
            }
            Typed::strict(of, arguments, |values| {
                let is_text = matches!(values[0], Value::Text(_));
                made(is_text, values.iter().flat_map(Value::raw).copied().collect())
            })
        }
        "SUBSTR" | "SUBSTRING" => {
            let signatures: &[&[Type]] =
                &[&[Text, Int64], &[Blob, Int64], &[Text, Int64, Int64], &[Blob, Int64, Int64]];
            let (found, arguments) = arguments.into_any(signatures)?;
            let is_text = found % 2 == 0;
            Typed::strict(if is_text { Text } else { Blob }, arguments, move |values| substr(is_text, values))
        }
        "LEFT" | "RIGHT" => {
            let is_left = name == "LEFT";
            let (found, arguments) = arguments.into_any(&[&[Text, Int64], &[Blob, Int64]])?;
            let is_text = found == 0;
            Typed::strict(if is_text { Text } else { Blob }, arguments, move |values| {
                let Ok(count) = usize::try_from(values[1].int()) else {
                    return Err(out_of_range("the length of LEFT and RIGHT cannot be negative"));
                };
                let units = units(is_text, &values[0]);
                let count = count.min(units.len());
                let kept = if is_left { &units[..count] } else { &units[units.len() - count..] };
                made(is_text, kept.concat())
            })
        }
        "TRIM" | "LTRIM" | "RTRIM" => {
            let (from_start, from_end) = (name != "RTRIM", name != "LTRIM");
            let (found, arguments) = arguments.into_any(&[&[Text], &[Text, Text], &[Blob, Blob]])?;
            let is_text = found < 2;
            Typed::strict(if is_text { Text } else { Blob }, arguments, move |values| {
                let mut rest = &units(is_text, &values[0])[..];
                let set = values.get(1).map(|set| units(is_text, set));
                let is_trimmed = |unit: &[u8]| match &set {
                    Some(set) => set.contains(&unit),
                    None => str::from_utf8(unit).is_ok_and(|unit| unit.chars().all(char::is_whitespace)),
                };
                while let Some((_, after)) =
                    rest.split_first().filter(|(unit, _)| from_start && is_trimmed(unit))
                {
                    rest = after;
                }
                while let Some((_, before)) =
                    rest.split_last().filter(|(unit, _)| from_end && is_trimmed(unit))
                {
                    rest = before;
                }
                made(is_text, rest.concat())
            })
        }
        "LPAD" | "RPAD" => {
            let is_left = name == "LPAD";
            let signatures: &[&[Type]] =
                &[&[Text, Int64], &[Blob, Int64], &[Text, Int64, Text], &[Blob, Int64, Blob]];
            let (found, arguments) = arguments.into_any(signatures)?;
            let is_text = found % 2 == 0;
            Typed::strict(if is_text { Text } else { Blob }, arguments, move |values| {
                pad(is_text, is_left, values)
            })
        }
        "REPLACE" => {
            let (found, arguments) = arguments.into_any(&[&[Text, Text, Text], &[Blob, Blob, Blob]])?;
            let is_text = found == 0;
            Typed::strict(if is_text { Text } else { Blob }, arguments, move |values| {
                let (from, to) = (values[1].raw(), values[2].raw());
                if from.is_empty() {
                    return Ok(values[0].clone());
                }
                let parts = split(values[0].raw(), from);
                checked_size(joined_size(&parts, to))?;
                made(is_text, parts.join(to))
            })
        }
        "REVERSE" => {
            let (found, arguments) = arguments.into_any(&[&[Text], &[Blob]])?;
            let is_text = found == 0;
            Typed::strict(if is_text { Text } else { Blob }, arguments, move |values| {
                made(is_text, units(is_text, &values[0]).into_iter().rev().flatten().copied().collect())
            })
        }
        "REPEAT" => {
            let (found, arguments) = arguments.into_any(&[&[Text, Int64], &[Blob, Int64]])?;
            let is_text = found == 0;
            Typed::strict(if is_text { Text } else { Blob }, arguments, move |values| {
                let Ok(count) = usize::try_from(values[1].int()) else {
                    return Err(out_of_range("the repetitions of REPEAT cannot be negative"));
                };
                checked_size(values[0].raw().len().saturating_mul(count))?;
                made(is_text, values[0].raw().repeat(count))
            })
        }
        "STRPOS" => {
            let (found, arguments) = arguments.into_any(&[&[Text, Text], &[Blob, Blob]])?;
            let is_text = found == 0;
            Typed::strict(Int64, arguments, move |values| {
                let (whole, part) = (values[0].raw(), values[1].raw());
                let at = memchr::memmem::find(whole, part);
                let before = |at: usize| {
                    if is_text { String::from_utf8_lossy(&whole[..at]).chars().count() } else { at }
                };
                Ok(int(at.map_or(0, |at| before(at) + 1)))
            })
        }
        "SPLIT" => {
            let (found, arguments) = arguments.into_any(&[&[Text], &[Text, Text], &[Blob, Blob]])?;
            let is_text = found < 2;
            let of = Type::array(if is_text { Text } else { Blob });
            Typed::strict(of, arguments, move |values| {
                let delimiter = values.get(1).map_or(&b","[..], |delimiter| delimiter.raw());
                // The empty value has one empty part.
                let parts = match delimiter.is_empty() {
                    true if values[0].raw().is_empty() => vec![&b""[..]],
                    true => units(is_text, &values[0]),
                    false => split(values[0].raw(), delimiter),
                };
                // Each part is an allocation of its own, of which the least has 32 bytes.
                let _parts = meter::hold(parts.len() * (size_of::<Value>() + 32))?;
                let mut elements = Vec::with_capacity(parts.len());
                for part in parts {
                    elements.push(made(is_text, part.to_vec())?);
                }
                Ok(Value::Array(elements))
            })
        }
        "REGEXP_CONTAINS" => {
            let (found, arguments) = arguments.into_any(&[&[Text, Text], &[Blob, Blob]])?;
            let regex = Pattern::new(found == 0, &arguments[1]);
            Typed::strict(Bool, arguments, move |values| {
                Ok(Value::Bool(regex.compiled(&values[1])?.is_match(values[0].raw())))
            })
        }
        "REGEXP_EXTRACT" | "REGEXP_SUBSTR" => {
            let signatures: &[&[Type]] = &[
                &[Text, Text],
                &[Blob, Blob],
                &[Text, Text, Int64],
                &[Blob, Blob, Int64],
                &[Text, Text, Int64, Int64],
                &[Blob, Blob, Int64, Int64],
            ];
            let (found, arguments) = arguments.into_any(signatures)?;
            let is_text = found % 2 == 0;
            let regex = Pattern::new(is_text, &arguments[1]);
            Typed::strict(if is_text { Text } else { Blob }, arguments, move |values| {
                let regex = regex.compiled(&values[1])?;
                if regex.captures_len() > 2 {
                    return Err(out_of_range("Regular expression has more than one capturing group"));
                }
                let number = |place: usize, what: &str| {
                    let number = values.get(place).map_or(1, Value::int);
                    let number = number.checked_sub(1).and_then(|number| usize::try_from(number).ok());
                    number.ok_or_else(|| out_of_range(format!("{what} of REGEXP_EXTRACT must be positive")))
                };
                let (position, occurrence) = (number(2, "the position")?, number(3, "the occurrence")?);
                let units = units(is_text, &values[0]);
                if position > units.len() || position >= values[0].raw().len().max(1) {
                    return Ok(Value::Null);
                }
                let found = extracted(&regex, is_text, &units[position..].concat(), occurrence)?;
                found.map_or(Ok(Value::Null), |found| made(is_text, found))
            })
        }
        "REGEXP_REPLACE" => {
            let (found, arguments) = arguments.into_any(&[&[Text, Text, Text], &[Blob, Blob, Blob]])?;
            let is_text = found == 0;
            let regex = Pattern::new(is_text, &arguments[1]);
            Typed::strict(if is_text { Text } else { Blob }, arguments, move |values| {
                replaced(is_text, &regex.compiled(&values[1])?, values[0].raw(), values[2].raw())
            })
        }
        // Numbers.
        "ABS" | "SIGN" | "FLOOR" | "CEIL" | "CEILING" | "TRUNC" | "ROUND" | "SQRT" | "EXP" | "LN"
        | "LOG10" | "POW" | "POWER" | "LOG" | "MOD" | "DIV" | "SAFE_DIVIDE" | "IEEE_DIVIDE" => {
            number_function(arguments)?
        }
        "IS_NAN" | "IS_INF" => {
            let is_nan = name == "IS_NAN";
            Typed::strict(Bool, arguments.into_one(&[Float64])?, move |values| {
                let number = values[0].float();
                Ok(Value::Bool(if is_nan { number.is_nan() } else { number.is_infinite() }))
            })
        }
        "GREATEST" | "LEAST" => {
            arguments.count(1..=usize::MAX)?;
            let (arguments, of) = arguments.unified()?;
            if !of.is_ordered() {
                return Err(not_comparable(&format!("function {name}"), &arguments, at));
            }
            let sought = if name == "GREATEST" { Ordering::Greater } else { Ordering::Less };
            Typed::strict(of, arguments, move |values| {
                let mut best = &values[0];
                for value in &values[1..] {
                    if value.replaces(best, sought) {
                        best = value;
                    }
                }
                Ok(best.clone())
            })
        }
        "COSINE_DISTANCE" | "EUCLIDEAN_DISTANCE" => {
            let is_cosine = name == "COSINE_DISTANCE";
            let (wide, narrow) = (Type::array(Float64), Type::array(Float32));
            let (_, arguments) = arguments.into_any(&[&[wide.clone(), wide], &[narrow.clone(), narrow]])?;
            Typed::strict(Float64, arguments, move |values| {
                distance(is_cosine, values[0].elements(), values[1].elements())
            })
        }
        // Conditions.
        "IF" => {
            arguments.count(3..=3)?;
            let wrong = arguments.wrong();
            let mut all = arguments.all;
            let rest = all.split_off(1);
            let Some(Ok(condition)) = all.pop().map(|condition| condition.coerced(&Bool)).transpose()? else {
                return Err(wrong);
            };
            let Ok((mut rest, of)) = unified(rest)? else { return Err(wrong) };
            let (Some(no), Some(yes)) = (rest.pop(), rest.pop()) else { return Err(wrong) };
            Typed::new(Expr::Case(vec![(condition.expr, yes.expr)], Box::new(no.expr)), of)
        }
        "IFNULL" | "COALESCE" => {
            arguments.count(if name == "IFNULL" { 2..=2 } else { 1..=usize::MAX })?;
            let (arguments, of) = arguments.unified()?;
            Typed::new(Expr::Coalesce(arguments.into_iter().map(|typed| typed.expr).collect()), of)
        }
        "NULLIF" => {
            arguments.count(2..=2)?;
            let (arguments, of) = arguments.unified()?;
            if !of.is_ordered() {
                return Err(not_comparable(&format!("function {name}"), &arguments, at));
            }
            let exprs = arguments.into_iter().map(|typed| typed.expr).collect();
            Typed::new(
                Expr::Lenient(
                    Box::new(|values| {
                        Ok(match values {
                            [Value::Null, _] => Value::Null,
                            [value, other]
                                if !other.is_null() && value.compare(other) == Some(Ordering::Equal) =>
                            {
                                Value::Null
                            }
                            values => values[0].clone(),
                        })
                    }),
                    exprs,
                ),
                of,
            )
        }
        // Arrays.
        "ARRAY_LENGTH" | "ARRAY_REVERSE" | "ARRAY_FIRST" | "ARRAY_LAST" | "ARRAY_CONCAT"
        | "ARRAY_TO_STRING" | "ARRAY_INCLUDES" => array_function(arguments)?,
        _ => return times::call(arguments, now),
    })
}

fn no_arguments(arguments: Arguments<'_>, of: Type) -> Result<Type, Status> {
    arguments.into_one(&[]).map(|_| of)
}

fn map_function(arguments: Arguments<'_>) -> Result<Typed, Status> {
    let name = arguments.name.to_owned();
    let Some(Type::Map(key, value)) = arguments.all.first().map(|map| map.of.clone()) else {
        return Err(arguments.wrong());
    };
    let map = Type::Map(key.clone(), value.clone());
    let sorted = |map: &Value| {
        let mut entries = map.entries().to_vec();
        entries.sort_by(|left, right| left.0.sort_order(&right.0));
        entries
    };
    if name == "MAP_CONTAINS_KEY" {
        let exprs = arguments.into_one(&[map, *key])?.into_iter().map(|typed| typed.expr).collect();
        let contains = |values: &[Value]| match values {
            [Value::Null, _] => Value::Null,
            [map, key] => Value::Bool(map.entries().iter().any(|(name, _)| name.sort_order(key).is_eq())),
            _ => Value::Null,
        };
        return Ok(Typed::new(Expr::Lenient(Box::new(move |values| Ok(contains(values))), exprs), Bool));
    }
    let arguments = arguments.into_one(&[map])?;
    Ok(match &name[..] {
        "MAP_EMPTY" => {
            Typed::strict(Bool, arguments, |values| Ok(Value::Bool(values[0].entries().is_empty())))
        }
        "MAP_KEYS" => Typed::strict(Type::Array(key), arguments, move |values| {
            Ok(Value::Array(sorted(&values[0]).into_iter().map(|(key, _)| key).collect()))
        }),
        "MAP_VALUES" => Typed::strict(Type::Array(value), arguments, move |values| {
            Ok(Value::Array(sorted(&values[0]).into_iter().map(|(_, value)| value).collect()))
        }),
        _ => {
            let entry = Type::Struct(vec![("key".to_owned(), *key), ("value".to_owned(), *value)]);
            Typed::strict(Type::array(entry), arguments, move |values| {
                let entries =
                    sorted(&values[0]).into_iter().map(|(key, value)| Value::Struct(vec![key, value]));
                Ok(Value::Array(entries.collect()))
            })
        }
    })
}

fn array_function(arguments: Arguments<'_>) -> Result<Typed, Status> {
    let name = arguments.name.to_owned();
    if name == "ARRAY_CONCAT" {
        arguments.count(1..=usize::MAX)?;
        let wrong = arguments.wrong();
        let (arguments, of) = arguments.unified()?;
        let Type::Array(_) = of else { return Err(wrong) };
        return Ok(Typed::strict(of, arguments, |values| {
            Ok(Value::Array(values.iter().flat_map(Value::elements).cloned().collect()))
        }));
    }
    if name == "ARRAY_TO_STRING" {
        let (texts, blobs) = (Type::array(Text), Type::array(Blob));
        let signatures: &[&[Type]] =
            &[&[texts.clone(), Text], &[blobs.clone(), Blob], &[texts, Text, Text], &[blobs, Blob, Blob]];
        let (found, arguments) = arguments.into_any(signatures)?;
        let is_text = found % 2 == 0;
        return Ok(Typed::strict(if is_text { Text } else { Blob }, arguments, move |values| {
            let for_null = values.get(2).map(Value::raw);
            let elements = values[0].elements().iter();
            let parts =
                elements.filter_map(|value| if value.is_null() { for_null } else { Some(value.raw()) });
            joined(is_text, &parts.collect::<Vec<_>>(), values[1].raw())
        }));
    }
    let Some(Type::Array(element)) = arguments.all.first().map(|array| array.of.clone()) else {
        return Err(arguments.wrong());
    };
    let array = Type::Array(element.clone());
    if name == "ARRAY_INCLUDES" {
        return Ok(Typed::strict(Bool, arguments.into_one(&[array, *element])?, |values| {
            // NaN is equal to nothing.
            let is_it = |each: &Value| !each.is_null() && each.compare(&values[1]) == Some(Ordering::Equal);
            Ok(Value::Bool(values[0].elements().iter().any(is_it)))
        }));
    }
    let arguments = arguments.into_one(std::slice::from_ref(&array))?;
    Ok(match &name[..] {
        "ARRAY_LENGTH" => Typed::strict(Int64, arguments, |values| {
            Ok(Value::Int64(i64::try_from(values[0].elements().len()).unwrap_or(i64::MAX)))
        }),
        "ARRAY_REVERSE" => Typed::strict(array, arguments, |values| {
            Ok(Value::Array(values[0].elements().iter().rev().cloned().collect()))
        }),
        name => {
            let is_first = name == "ARRAY_FIRST";
            Typed::strict(*element, arguments, move |values| {
                let elements = values[0].elements();
                let found = if is_first { elements.first() } else { elements.last() };
                found
                    .cloned()
                    .ok_or_else(|| out_of_range("ARRAY_FIRST and ARRAY_LAST need an array with elements"))
            })
        }
    })
}

fn number_function(arguments: Arguments<'_>) -> Result<Typed, Status> {
    let name = arguments.name.to_owned();
    match &name[..] {
        "ABS" | "SIGN" => {
            let is_abs = name == "ABS";
            let (found, arguments) = arguments.into_any(&[&[Int64], &[Float32], &[Float64]])?;
            let of = [Int64, Float32, Float64].into_iter().nth(found).unwrap_or(Float64);
            Ok(Typed::strict(of, arguments, move |values| {
                Ok(match &values[0] {
                    Value::Int64(number) if is_abs => Value::Int64(
                        number
                            .checked_abs()
                            .ok_or_else(|| out_of_range(format!("int64 overflow: ABS({number})")))?,
                    ),
                    Value::Int64(number) => Value::Int64(number.signum()),
                    Value::Float32(number) if is_abs => Value::Float32(number.abs()),
                    Value::Float32(number) => {
                        Value::Float32(if *number == 0.0 { 0.0 } else { number.signum() })
                    }
                    number if is_abs => Value::Float64(number.float().abs()),
                    number => {
                        Value::Float64(if number.float() == 0.0 { 0.0 } else { number.float().signum() })
                    }
                })
            }))
        }
        "MOD" | "DIV" => {
            let is_mod = name == "MOD";
            Ok(Typed::strict(Int64, arguments.into_one(&[Int64, Int64])?, move |values| {
                let (left, right) = (values[0].int(), values[1].int());
                if right == 0 {
                    return Err(out_of_range(format!(
                        "division by zero: {}",
                        if is_mod { "MOD" } else { "DIV" }
                    )));
                }
                match is_mod {
                    true => Ok(Value::Int64(left.checked_rem(right).unwrap_or(0))),
                    false => left
                        .checked_div(right)
                        .map(Value::Int64)
                        .ok_or_else(|| out_of_range(format!("int64 overflow: DIV({left}, {right})"))),
                }
            }))
        }
        "SAFE_DIVIDE" => Ok(Typed::strict(Float64, arguments.into_one(&[Float64, Float64])?, |values| {
            let (left, right) = (values[0].float(), values[1].float());
            let quotient = left / right;
            let is_error = right == 0.0 || (!quotient.is_finite() && left.is_finite() && right.is_finite());
            Ok(if is_error { Value::Null } else { Value::Float64(quotient) })
        })),
        "IEEE_DIVIDE" => {
            let (found, arguments) = arguments.into_any(&[&[Float64, Float64], &[Float32, Float32]])?;
            let of = if found == 0 { Float64 } else { Float32 };
            Ok(Typed::strict(of, arguments, move |values| {
                Ok(as_float(found == 1, values[0].float() / values[1].float()))
            }))
        }
        "ROUND" | "TRUNC" => {
            let is_round = name == "ROUND";
            let signatures: &[&[Type]] = &[&[Float64], &[Float32], &[Float64, Int64], &[Float32, Int64]];
            let (found, arguments) = arguments.into_any(signatures)?;
            let is_narrow = found % 2 == 1;
            Ok(Typed::strict(if is_narrow { Float32 } else { Float64 }, arguments, move |values| {
                let digits =
                    i32::try_from(values.get(1).map_or(0, Value::int).clamp(-400, 400)).unwrap_or_default();
                let number = values[0].float();
                if !number.is_finite() {
                    return Ok(values[0].clone());
                }
                // Every number has fewer digits before the point.
                if digits < -f64::MAX_10_EXP {
                    return Ok(as_float(is_narrow, 0.0));
                }
                let text = cut_at(number, digits, is_round);
                let rounded = match is_narrow {
                    true => text.parse().map(Value::Float32).ok(),
                    false => text.parse().map(Value::Float64).ok(),
                };
                let overflow =
                    || out_of_range(format!("Floating point overflow: {name}({number}, {digits})"));
                rounded.filter(|rounded| rounded.float().is_finite()).ok_or_else(overflow)
            }))
        }
        "FLOOR" | "CEIL" | "CEILING" => {
            let is_floor = name == "FLOOR";
            let (found, arguments) = arguments.into_any(&[&[Float64], &[Float32]])?;
            let of = if found == 0 { Float64 } else { Float32 };
            Ok(Typed::strict(of, arguments, move |values| {
                let number = values[0].float();
                Ok(as_float(found == 1, if is_floor { number.floor() } else { number.ceil() }))
            }))
        }
        "POW" | "POWER" => {
            Ok(Typed::strict(Float64, arguments.into_one(&[Float64, Float64])?, move |values| {
                finite(&name, values[0].float().powf(values[1].float()), values)
            }))
        }
        "LOG" => {
            let (_, arguments) = arguments.into_any(&[&[Float64, Float64], &[Float64]])?;
            Ok(Typed::strict(Float64, arguments, |values| {
                let number = values[0].float();
                let by = match values.get(1).map(Value::float) {
                    None => 1.0,
                    Some(base) if base.is_finite() && base > 0.0 => base.ln(),
                    Some(_) => f64::NAN,
                };
                finite("LOG", number.ln() / by, values)
            }))
        }
        _ => Ok(Typed::strict(Float64, arguments.into_one(&[Float64])?, move |values| {
            let number = values[0].float();
            match &name[..] {
                "SQRT" if number < 0.0 => Err(floating_point_error(&name, values)),
                "SQRT" => Ok(Value::Float64(number.sqrt())),
                "EXP" => finite(&name, number.exp(), values),
                "LN" => finite(&name, number.ln(), values),
                _ => finite(&name, number.log10(), values),
            }
        })),
    }
}

/// The decimal value of a number with so many digits after its point, or without so many before it: rounded, halves away from zero, or cut.
/// The value is exact, so that 2.675 is below its half.
fn cut_at(number: f64, digits: i32, is_round: bool) -> String {
    // No number has more digits after its point.
    let exact = format!("{:.1074}", number.abs());
    let (whole, fraction) = exact.split_once('.').unwrap_or((&exact, ""));
    let mut kept = [b"0", whole.as_bytes(), fraction.as_bytes()].concat();
    let point = whole.len() + 1;
    let end = i64::try_from(point).unwrap_or_default() + i64::from(digits);
    let end = usize::try_from(end).unwrap_or_default().min(kept.len());
    let goes_up = is_round && kept.get(end).is_some_and(|digit| *digit >= b'5');
    kept[end..].fill(b'0');
    if goes_up {
        let nines = kept[..end].iter().rev().take_while(|digit| **digit == b'9').count();
        kept[end - nines..end].fill(b'0');
        // The first digit is a zero.
        if let Some(digit) = kept[..end - nines].last_mut() {
            *digit += 1;
        }
    }
    let (whole, fraction) = kept.split_at(point);
    let sign = if number.is_sign_negative() { "-" } else { "" };
    format!("{sign}{}.{}", String::from_utf8_lossy(whole), String::from_utf8_lossy(fraction))
}

#[expect(clippy::cast_possible_truncation, reason = "a FLOAT32 rounded is one")]
fn as_float(is_narrow: bool, number: f64) -> Value {
    if is_narrow { Value::Float32(number as f32) } else { Value::Float64(number) }
}

/// A result of finite numbers, which has to be one.
fn finite(name: &str, result: f64, values: &[Value]) -> Result<Value, Status> {
    if result.is_finite() || values.iter().any(|value| !value.float().is_finite()) {
        return Ok(Value::Float64(result));
    }
    Err(floating_point_error(name, values))
}

fn floating_point_error(name: &str, values: &[Value]) -> Status {
    let shown: Vec<String> = values.iter().map(cast::text).collect();
    out_of_range(format!("Floating point error in function: {name}({})", shown.join(", ")))
}

fn distance(is_cosine: bool, left: &[Value], right: &[Value]) -> Result<Value, Status> {
    if left.len() != right.len() {
        return Err(out_of_range(format!("Array length mismatch: {} and {}", left.len(), right.len())));
    }
    if left.iter().chain(right).any(Value::is_null) {
        return Err(out_of_range("an element of a vector is NULL"));
    }
    let checked = |number: f64| match number.is_finite()
        || left.iter().chain(right).any(|each| !each.float().is_finite())
    {
        true => Ok(number),
        false => Err(out_of_range("double overflow in the distance of two vectors")),
    };
    let pairs = || left.iter().map(Value::float).zip(right.iter().map(Value::float));
    if !is_cosine {
        let sum = checked(pairs().map(|(left, right)| (left - right).powi(2)).sum::<f64>())?;
        // The sum of no numbers is -0.
        return Ok(Value::Float64(sum.sqrt() + 0.0));
    }
    let product: f64 = pairs().map(|(left, right)| left * right).sum();
    let length = |vector: &[Value]| vector.iter().map(|each| each.float().powi(2)).sum::<f64>().sqrt();
    match checked(length(left) * length(right))? {
        0.0 => Err(out_of_range("Cannot compute cosine distance against zero vector")),
        lengths => Ok(Value::Float64(1.0 - product / lengths)),
    }
}

/// The bytes of a value that has a size.
fn exactly<const N: usize>(value: &Value) -> Result<[u8; N], Status> {
    of_size(value.raw())
}

fn of_size<const N: usize>(bytes: &[u8]) -> Result<[u8; N], Status> {
    bytes.try_into().map_err(|_| {
        invalid(format!("incorrect value size. expected: {N} bytes, actual: {} bytes", bytes.len()))
    })
}

fn from_hex(value: &Value) -> Result<Value, Status> {
    let text = cast::text(value);
    let padded = if text.len().is_multiple_of(2) { text.clone() } else { format!("0{text}") };
    let digit = |digit: u8| char::from(digit).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let bytes = padded.as_bytes().chunks(2).map(|pair| Some(digit(pair[0])? << 4 | digit(pair[1])?));
    let bytes: Option<Vec<u8>> = bytes.collect();
    bytes
        .map(|bytes| Value::Bytes(bytes.into()))
        .ok_or_else(|| out_of_range(format!("Failed to decode invalid hexadecimal string: {text}")))
}

fn chars(value: &Value) -> Vec<char> {
    String::from_utf8_lossy(value.raw()).chars().collect()
}

/// The characters of a text, or the single bytes, each as its bytes.
fn units(is_text: bool, value: &Value) -> Vec<&[u8]> {
    match value {
        Value::Text(text) if is_text => {
            text.char_indices().map(|(at, each)| &text.as_bytes()[at..at + each.len_utf8()]).collect()
        }
        bytes => bytes.raw().chunks(1).collect(),
    }
}

/// Bytes as a value of STRING or BYTES.
fn made(is_text: bool, bytes: Vec<u8>) -> Result<Value, Status> {
    match is_text {
        true => String::from_utf8(bytes).map(Value::Text).map_err(|_| out_of_range("a STRING is not UTF-8")),
        false => Ok(Value::Bytes(Bytes::from(bytes))),
    }
}

fn joined_size(parts: &[&[u8]], delimiter: &[u8]) -> usize {
    let between = delimiter.len().saturating_mul(parts.len().saturating_sub(1));
    parts.iter().map(|part| part.len()).sum::<usize>().saturating_add(between)
}

/// Parts with delimiters between them, which may be much longer than what they are of.
pub(crate) fn joined(is_text: bool, parts: &[&[u8]], delimiter: &[u8]) -> Result<Value, Status> {
    let _result = meter::hold(joined_size(parts, delimiter))?;
    made(is_text, parts.join(delimiter))
}

/// The parts between delimiters, which are not empty.
fn split<'a>(whole: &'a [u8], delimiter: &[u8]) -> Vec<&'a [u8]> {
    let (mut parts, mut start) = (Vec::new(), 0);
    for at in memchr::memmem::find_iter(whole, delimiter) {
        parts.push(&whole[start..at]);
        start = at + delimiter.len();
    }
    parts.push(&whole[start..]);
    parts
}

/// `SUBSTR`: positions count from 1, and negative ones from the end.
fn substr(is_text: bool, values: &[Value]) -> Result<Value, Status> {
    let units = units(is_text, &values[0]);
    let size = i64::try_from(units.len()).unwrap_or(i64::MAX);
    let position = values[1].int();
    let start = match position {
        1.. => position - 1,
        0 => 0,
        _ => size.saturating_add(position).max(0),
    };
    let length = values.get(2).map_or(size, Value::int);
    if length < 0 {
        return Err(out_of_range("Third argument in SUBSTR() cannot be negative"));
    }
    let range = |at: i64| usize::try_from(at.clamp(0, size)).unwrap_or_default();
    let (start, end) = (range(start), range(start.saturating_add(length)));
    made(is_text, units[start..end.max(start)].concat())
}

/// The most bytes that `REPEAT`, `LPAD`, `RPAD`, `REPLACE` and `REGEXP_REPLACE` may produce.
const MAX_BYTES: usize = 1 << 20;

fn checked_size(bytes: usize) -> Result<(), Status> {
    if bytes <= MAX_BYTES {
        return Ok(());
    }
    Err(out_of_range(format!("Output of function exceeds max allowed output size of {MAX_BYTES} bytes")))
}

fn pad(is_text: bool, is_left: bool, values: &[Value]) -> Result<Value, Status> {
    let units = units(is_text, &values[0]);
    let filler = values.get(2).map_or_else(|| vec![&b" "[..]], |filler| self::units(is_text, filler));
    let Ok(length) = usize::try_from(values[1].int()) else {
        return Err(out_of_range("the length of LPAD and RPAD cannot be negative"));
    };
    if filler.is_empty() {
        return Err(out_of_range("the pattern of LPAD and RPAD cannot be empty"));
    }
    checked_size(length)?;
    let missing = length.saturating_sub(units.len());
    let padding = filler.into_iter().cycle().take(missing);
    let kept = units.into_iter().take(length);
    let all: Vec<&[u8]> = if is_left { padding.chain(kept).collect() } else { kept.chain(padding).collect() };
    made(is_text, all.concat())
}

/// A regular expression, compiled once if it is a literal.
struct Pattern {
    is_text: bool,
    literal: Option<Result<Regex, Status>>,
}

impl Pattern {
    fn new(is_text: bool, pattern: &Typed) -> Self {
        let literal = pattern.expr.as_literal().filter(|pattern| !pattern.is_null());
        Self { is_text, literal: literal.map(|pattern| compiled(is_text, pattern)) }
    }

    fn compiled(&self, pattern: &Value) -> Result<Regex, Status> {
        match &self.literal {
            // A clone shares the program.
            Some(literal) => literal.clone(),
            None => compiled(self.is_text, pattern),
        }
    }
}

fn compiled(is_text: bool, pattern: &Value) -> Result<Regex, Status> {
    let wrong = |fault: &dyn Display| {
        let pattern = String::from_utf8_lossy(pattern.raw());
        out_of_range(format!("Cannot parse regular expression: {pattern}: {fault}"))
    };
    let translated = translate_re2(pattern.raw(), is_text).map_err(|error| match error {
        Re2Error::UnicodeClass => unimplemented("Unicode classes in regular expressions"),
        error => wrong(&error),
    })?;
    let built = RegexBuilder::new(&translated).unicode(is_text).size_limit(1 << 20).build();
    // The lines before the last show the translated expression.
    built.map_err(|error| wrong(&error.to_string().lines().last().unwrap_or_default()))
}

/// `REGEXP_REPLACE`: after an empty match, which cannot follow another match, comes the next character.
/// The length of the first character, or byte.
fn first_len(is_text: bool, whole: &[u8]) -> usize {
    // Bytes of UTF-8 from 0x80 to 0xbf go on with a character.
    let goes_on = |byte: &u8| is_text && (0x80..0xc0).contains(byte);
    let Some((_, rest)) = whole.split_first() else { return 0 };
    1 + rest.iter().take_while(|byte| goes_on(byte)).count()
}

/// What the expression or its group matches, of matches that do not overlap the one after so many others.
fn extracted(regex: &Regex, is_text: bool, whole: &[u8], others: usize) -> Result<Option<Vec<u8>>, Status> {
    let (mut at, mut found) = (0, None);
    for number in 0..=others {
        // A search that has reached the end finds no further match, not even an empty one.
        if number > 0 && at >= whole.len() {
            return Ok(None);
        }
        meter::check_caller()?;
        let Some(groups) = regex.captures_at(whole, at) else { return Ok(None) };
        let Some(all) = groups.get(0) else { return Ok(None) };
        at = all.end() + if all.is_empty() { first_len(is_text, &whole[all.end()..]) } else { 0 };
        found = groups.get(groups.len() - 1).map(|found| found.as_bytes().to_vec());
    }
    Ok(found)
}

fn replaced(is_text: bool, regex: &Regex, whole: &[u8], replacement: &[u8]) -> Result<Value, Status> {
    check_replacement(regex, replacement)?;
    let mut out = Vec::with_capacity(whole.len());
    let (mut at, mut last_end) = (0, None);
    while let Some(groups) = regex.captures_at(whole, at) {
        // Each search may read the whole text.
        meter::check_caller()?;
        let Some(found) = groups.get(0) else { break };
        out.extend_from_slice(&whole[at..found.start()]);
        if !found.is_empty() || last_end != Some(found.start()) {
            append_replacement(&mut out, &groups, replacement);
            checked_size(out.len())?;
        }
        at = found.end();
        last_end = Some(at);
        if found.is_empty() {
            let length = first_len(is_text, &whole[at..]);
            if length == 0 {
                return made(is_text, out);
            }
            out.extend_from_slice(&whole[at..at + length]);
            at += length;
        }
    }
    out.extend_from_slice(&whole[at..]);
    made(is_text, out)
}

/// Checks that a backslash precedes a digit of a group that exists, or a backslash.
fn check_replacement(regex: &Regex, replacement: &[u8]) -> Result<(), Status> {
    let wrong = |fault: String| out_of_range(format!("Invalid REGEXP_REPLACE pattern: {fault}"));
    let groups = regex.captures_len() - 1;
    let mut rest = replacement.iter();
    while let Some(byte) = rest.next() {
        match (byte, if *byte == b'\\' { rest.next() } else { None }) {
            (b'\\', Some(digit @ b'0'..=b'9')) if usize::from(digit - b'0') > groups => {
                return Err(wrong(format!(
                    "it has the group \\{}, and the regular expression has {groups} groups",
                    digit - b'0'
                )));
            }
            (b'\\', None) => return Err(wrong("it ends with a backslash".to_owned())),
            (b'\\', Some(other)) if *other != b'\\' && !other.is_ascii_digit() => {
                return Err(wrong("a backslash precedes neither a digit nor a backslash".to_owned()));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Appends a checked replacement, in which `\1` is a group.
fn append_replacement(out: &mut Vec<u8>, groups: &Captures<'_>, replacement: &[u8]) {
    let mut rest = replacement.iter();
    while let Some(byte) = rest.next() {
        match (byte, if *byte == b'\\' { rest.next() } else { None }) {
            (_, Some(digit @ b'0'..=b'9')) => {
                let group = groups.get(usize::from(digit - b'0'));
                out.extend_from_slice(group.map_or(&[], |group| group.as_bytes()));
            }
            (byte, _) => out.push(*byte),
        }
    }
}
