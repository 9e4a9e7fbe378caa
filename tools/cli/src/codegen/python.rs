//! Two functions of Python for each key type, which encode and decode its keys, without dependencies.
//!
//! A decoder encodes what it has read, and refuses a key that is not these bytes. So it needs no rule of its own for other forms of a value.

use keyderive::dynamic::TableLayout;
use keyderive::key::{
    Field, FieldOrder, FieldValues, Format, KeyEncoding, KeySchema, Salt, SaltHash, SaltPlace, TimeUnit,
    Width,
};

use super::{Names, Output, Table, custom, one_line, snake};

/// A function that the output has if another one calls it.
struct Helper {
    name: &'static str,
    text: &'static str,
}

/// Each stands after those that call it, so that one pass finds all.
const HELPERS: [Helper; 26] = [
    Helper {
        name: "named",
        text: r#"def named(fields, names):
    if set(fields) != set(names):
        raise ValueError(f"the fields are {names}, and these are {tuple(fields)}")
    return [fields[name] for name in names]"#,
    },
    Helper {
        name: "checked",
        text: r#"def checked(key):
    if not 1 <= len(key) <= 4096:
        raise ValueError(f"a row key has 1 to 4096 bytes, and this one has {len(key)}")
    return key"#,
    },
    Helper {
        name: "exactly",
        text: r#"def exactly(key, fields, encode):
    if encode(**fields) != key:
        raise ValueError(f"{key!r} is no key that encoding writes")
    return fields"#,
    },
    Helper {
        name: "split",
        text: r#"def split(key, shape):
    """The parts: each of a fixed width, or up to its end, from the byte at `width` on."""
    parts = []
    for is_fixed, width, end in shape:
        at = width if is_fixed else key.find(end, width) if end else len(key)
        if at < 0 or key[at:at + len(end)] != end:
            raise ValueError(f"{key!r} is no key of this type")
        parts.append(key[:at])
        key = key[at + len(end):]
    return parts"#,
    },
    Helper {
        name: "opened",
        text: r#"def opened(key, count):
    parts = [b"" if part == b"\0\0" else part.replace(b"\0\xff", b"\0") for part in key.split(b"\0\1")]
    if len(parts) > count:
        raise ValueError(f"{key!r} has more than {count} parts")
    return parts + [b""] * (count - len(parts))"#,
    },
    Helper {
        name: "trimmed",
        text: r#"def trimmed(parts):
    while len(parts) > 1 and not parts[-1]:
        parts.pop()
    return joined(parts)"#,
    },
    Helper {
        name: "joined",
        text: r#"def joined(parts):
    return b"\0\1".join(part.replace(b"\0", b"\0\xff") or b"\0\0" for part in parts)"#,
    },
    Helper {
        name: "text",
        text: r#"def text(v, delimiter):
    b = v.encode()
    if min(b, default=255) <= delimiter:
        raise ValueError(f"{v!r} holds a byte at or below the delimiter")
    return b"#,
    },
    Helper {
        name: "one",
        text: r#"def one(v):
    if len(v) != 1:
        raise ValueError(f"{v!r} is not one character")
    return v"#,
    },
    Helper {
        name: "padded",
        text: r#"def padded(v, width):
    b = v.encode()
    if len(b) > width or b.endswith(b" ") or min(b, default=255) < 32:
        raise ValueError(f"{v!r} does not fit {width} bytes, ends with a space, or holds a control character")
    return b.ljust(width)"#,
    },
    Helper {
        name: "escaped",
        text: r#"def escaped(v):
    return re.sub(rb"[\x00-%]", lambda m: b"%%%02X" % m[0][0], v.encode())"#,
    },
    Helper {
        name: "unescaped",
        text: r#"def unescaped(p):
    return re.sub(rb"%([0-9A-F]{2})", lambda m: bytes([int(m[1], 16)]), p).decode()"#,
    },
    Helper {
        name: "raw",
        text: r#"def raw(v, length=None):
    if not isinstance(v, bytes) or length not in (None, len(v)):
        raise ValueError(f"{v!r} is not bytes" + (f", {length} of them" if length else ""))
    return v"#,
    },
    Helper {
        name: "uid",
        text: r#"def uid(v, version=None):
    u = v if isinstance(v, uuid.UUID) else uuid.UUID(v)
    if version not in (None, u.version):
        raise ValueError(f"{u} is not of version {version}")
    return u"#,
    },
    Helper {
        name: "moment",
        text: r#"def moment(n, per_second):
    """The time of a count; the count itself, of a time that no datetime holds."""
    try:
        return EPOCH + datetime.timedelta(microseconds=n * (1000000 // per_second))
    except OverflowError:
        return n"#,
    },
    Helper {
        name: "calendar",
        text: r#"def calendar(v):
    d = EPOCH + datetime.timedelta(milliseconds=within(v, -62135596800000, 253402300799999))
    return int(f"{d.year:04}{d:%m%d%H%M%S}{d.microsecond // 1000:03}")"#,
    },
    Helper {
        name: "millis",
        text: r#"def millis(x):
    parts = [int(("%017d" % x)[at:to]) for at, to in ((0, 4), (4, 6), (6, 8), (8, 10), (10, 12), (12, 14), (14, 17))]
    d = datetime.datetime(*parts[:6], parts[6] * 1000, tzinfo=datetime.timezone.utc)
    return d"#,
    },
    Helper {
        name: "count",
        text: r#"def count(v, per_second, is_exact, name):
    if type(v) is int:
        return v
    if not isinstance(v, datetime.datetime):
        raise TypeError(f"the field {name!r} is a time: give an aware datetime or a count, and not {v!r}")
    if v.utcoffset() is None:
        raise ValueError(f"the field {name!r}: the datetime {v!r} has no time zone; give it one, such as datetime.timezone.utc")
    n, rest = divmod((v - EPOCH) // datetime.timedelta(microseconds=1) * per_second, 1000000)
    if is_exact and rest:
        raise ValueError(f"the field {name!r}: {v} is finer than the unit of the field")
    return n


EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)"#,
    },
    Helper {
        name: "day",
        text: r#"def day(x):
    within(x, 10101, 99991231)
    return datetime.date(x // 10000, x // 100 % 100, x % 100)"#,
    },
    Helper {
        name: "within",
        text: r#"def within(v, low, high):
    if type(v) is not int or not low <= v <= high:
        raise ValueError(f"{v!r} is no integer of {low} to {high}")
    return v"#,
    },
    Helper {
        name: "pick",
        text: r#"def pick(v, of):
    if v not in of:
        raise ValueError(f"{v!r} is not one of {list(of)}")
    return of[v]"#,
    },
    Helper {
        name: "signed",
        text: r#"def signed(x, width):
    return b"0" + digits(x, width) if x >= 0 else b"-" + digits(10 ** width + x, width)"#,
    },
    Helper {
        name: "digits",
        text: r#"def digits(x, width):
    return b"%0*d" % (width, x)"#,
    },
    Helper {
        name: "int64",
        text: r#"def int64(v):
    x = v if v >= 0 else -1 - v
    n = next(n for n in range(1, 11) if x.bit_length() < 7 * n)
    b = (x | ((1 << n) - 1) << 7 * n).to_bytes(n, "big")
    return b if v >= 0 else bytes(255 - byte for byte in b)


def of_int64(p):
    if not p:
        raise ValueError("an integer has no bytes")
    is_negative = p[0] < 128
    x = int.from_bytes(bytes(255 - byte for byte in p) if is_negative else p, "big") & (1 << 7 * len(p)) - 1
    return -1 - x if is_negative else x"#,
    },
    Helper {
        name: "java",
        text: r#"def java(key, buckets):
    h = 0
    units = key.decode().encode("utf-16-be")
    for at in range(0, len(units), 2):
        h = 31 * h + int.from_bytes(units[at:at + 2], "big") & 0xFFFFFFFF
    h -= h >> 31 << 32
    return abs(h) % buckets * (1 if h >= 0 else -1)"#,
    },
    Helper { name: "farm", text: FARM },
];

/// FarmHash's `Fingerprint64`; the low 64 bits of every step count.
const FARM: &str = r#"def farm(s):
    """FarmHash's Fingerprint64, as a signed number."""
    K0, K1, K2, M = 0xC3A5C85C97CB3127, 0xB492B66FBE98F273, 0x9AE16A3B2F90404F, (1 << 64) - 1
    n = len(s)

    def word(at, size=8):
        return int.from_bytes(s[at:at + size], "little")

    def turn(x, by):
        return ((x & M) >> by | x << 64 - by) & M

    def shift(x):
        return x & M ^ (x & M) >> 47

    def mix(u, v, mul):
        return shift((v ^ shift((u ^ v) * mul)) * mul) * mul & M

    def short():
        mul = K2 + n * 2
        if n >= 33:
            a, b, c, d = word(0) * K2, word(8), word(n - 8) * mul, word(n - 16) * K2
            y = turn(a + b, 43) + turn(c, 30) + d
            z = mix(y, a + turn(b + K2, 18) + c, mul)
            e, f, g, h = word(16) * mul, word(24), (y + word(n - 32)) * mul, (z + word(n - 24)) * mul
            return mix(turn(e + f, 43) + turn(g, 30) + h, e + turn(f + a, 18) + g, mul)
        if n >= 17:
            a, b, c, d = word(0) * K1, word(8), word(n - 8) * mul, word(n - 16) * K2
            return mix(turn(a + b, 43) + turn(c, 30) + d, a + turn(b + K2, 18) + c, mul)
        if n >= 8:
            a, b = word(0) + K2, word(n - 8)
            return mix(turn(b, 37) * mul + a, (turn(a, 25) + b) * mul, mul)
        if n >= 4:
            return mix(n + (word(0, 4) << 3), word(n - 4, 4), mul)
        return shift((s[0] + (s[n >> 1] << 8)) * K2 ^ (n + (s[-1] << 2)) * K0) * K2 & M if n else K2

    def long():
        y = 81 * K1 + 113
        x, z, v, w = 81 * K2 + word(0), shift(y * K2 + 113) * K2, (0, 0), (0, 0)

        def weak(at, a, b):
            first, last = a + word(at), word(at + 24)
            a = first + word(at + 8) + word(at + 16)
            return a + last & M, turn(b + first + last, 21) + turn(a, 44) + first & M

        def absorb(at, mul, factor):
            nonlocal x, y, z, v, w
            x = turn(x + y + v[0] + word(at + 8), 37) * mul ^ w[1] * factor
            y = turn(y + v[1] + word(at + 48), 42) * mul + v[0] * factor + word(at + 40)
            z = turn(z + w[0], 33) * mul
            v, w = weak(at, v[1] * mul, x + w[0]), weak(at + 32, z + w[1], y + word(at + 16))
            x, y, z = z & M, y & M, x & M

        for at in range(0, (n - 1) // 64 * 64, 64):
            absorb(at, K1, 1)
        mul = K1 + ((z & 0xFF) << 1)
        w = (w[0] + (n - 1 & 63), w[1])
        v = (v[0] + w[0], v[1])
        w = (w[0] + v[0], w[1])
        absorb(n - 64, mul, 9)
        return mix(mix(v[0], w[0], mul) + shift(y) * K0 + z, mix(v[1], w[1], mul) + x, mul)

    h = short() if n <= 64 else long()
    return h - (h >> 63 << 64)"#;

pub(super) fn generate(tables: &[Table]) -> Output {
    let mut body = Output::default();
    let layouts: Vec<_> = tables.iter().flat_map(|table| &table.layouts).collect();
    let mut names = Names::default();
    for layout in &layouts {
        let name = format!("_{}", names.take(&snake(layout.key().schema().key_type())));
        key_type(&mut body, layout, &name);
    }
    let mut called = body.text.clone();
    let helpers: Vec<_> = HELPERS
        .iter()
        .filter(|helper| {
            let is_called = called.contains(&format!("{}(", helper.name));
            if is_called {
                called.push_str(helper.text);
            }
            is_called
        })
        .collect();
    let mut out = Output::default();
    out.line("# Made by `keyderive codegen --python` from a layout file. A time is an aware datetime; encoders take a count of the unit since");
    out.line("# 1970, too, and decoders return one for nanoseconds and for what no datetime holds. What no key of the type has is a ValueError.");
    for module in ["datetime", "hashlib", "re", "uuid"] {
        if called.contains(&format!("{module}.")) {
            out.line(format!("import {module}"));
        }
    }
    for helper in helpers {
        out.line(format!("\n\n{}", helper.text));
    }
    out.text.push_str(&body.text);
    out.gaps = body.gaps;
    out
}

/// The functions of a key type.
fn key_type(out: &mut Output, layout: &TableLayout, name: &str) {
    let schema = layout.key().schema();
    let table = layout.name();
    if let Some(epoch) = schema.epochs().first() {
        let gap = format!(
            "table `{table}`: the keys of `{}` have another salt from {} on, which Python does not encode",
            schema.key_type(),
            epoch.since()
        );
        out.line("\n");
        return out.gap("#", gap);
    }
    let fields: Option<Vec<_>> = schema.fields().iter().map(|field| Coded::of(field, schema)).collect();
    let Some(fields) = fields else {
        let of = schema.fields().iter().find_map(|field| Some((field.name(), custom(field)?)));
        let (field, of) = of.unwrap_or(("?", "a type that this release does not know"));
        let gap = format!(
            "table `{table}`: the field `{field}` of `{}` is written by `{of}`, which Python does not encode",
            schema.key_type()
        );
        out.line("\n");
        return out.gap("#", gap);
    };
    let list: Vec<_> = schema.fields().iter().map(|field| string(field.name())).collect();
    let list = format!("({},)", list.join(", "));
    out.line(format!(
        "\n\n# Table `{}`, `{}`: {}; fingerprint {}",
        one_line(table),
        one_line(schema.key_type()),
        one_line(&schema.template().to_string()),
        schema.fingerprint()
    ));
    out.line(format!("def encode{name}(**fields):"));
    let values: Vec<_> = (0..fields.len()).map(|at| format!("v{at}")).collect();
    out.line(format!("    {}, = named(fields, {list})", values.join(", ")));
    out.line("    p = [");
    for (at, field) in fields.iter().enumerate() {
        out.line(format!("        {},", field.encode.replace("{v}", &format!("v{at}"))));
    }
    out.line("    ]");
    let ordered = schema.layout() == KeyEncoding::OrderedCode;
    if ordered {
        encode_ordered(out, schema);
    } else {
        encode_text(out, schema);
    }
    out.line(format!("\n\ndef decode{name}(key):"));
    if fields.iter().any(|field| field.decode.is_none()) {
        out.line("    raise ValueError(\"a key with a hashed field cannot be decoded\")");
        return;
    }
    let first = if ordered { decode_ordered(out, schema) } else { decode_text(out, schema) };
    out.line("    fields = {");
    for (at, (field, coded)) in schema.fields().iter().zip(&fields).enumerate() {
        let decode = coded.decode.as_deref().unwrap_or_default();
        let decode = decode.replace("{p}", &format!("p[{}]", first[at]));
        out.line(format!("        {}: {decode},", string(field.name())));
    }
    out.line("    }");
    out.line(format!("    return exactly(key, fields, encode{name})"));
}

/// A part of a key of the text layout.
#[derive(Clone, Copy, PartialEq)]
enum Part {
    Tag,
    Salt,
    Field(usize),
}

fn parts(schema: &KeySchema) -> Vec<Part> {
    let salt = |place| schema.salt().filter(|salt| salt.place() == place).map(|_| Part::Salt);
    let fields = (0..schema.fields().len())
        .flat_map(|field| [Some(Part::Field(field)), salt(SaltPlace::After { field })]);
    let tag = schema.tag().map(|_| Part::Tag);
    [salt(SaltPlace::Front), tag, salt(SaltPlace::BeforeFields)].into_iter().chain(fields).flatten().collect()
}

/// What follows a part.
fn end_of<'s>(schema: &'s KeySchema, part: Part, delimiter: &'s [u8]) -> &'s [u8] {
    match (part, schema.salt().and_then(Salt::sep)) {
        (Part::Salt, Some(sep)) => sep.as_bytes(),
        _ => delimiter,
    }
}

fn encode_text(out: &mut Output, schema: &KeySchema) {
    let delimiter = [schema.delimiter()];
    let parts = parts(schema);
    let expression = |with_salt: bool| {
        let parts = parts.iter().filter(|part| with_salt || **part != Part::Salt);
        let parts: Vec<_> = parts.copied().collect();
        let texts = parts.iter().enumerate().flat_map(|(at, part)| {
            let text = match part {
                Part::Tag => bytes(schema.tag().unwrap_or_default().as_bytes()),
                Part::Salt => "salt".to_owned(),
                Part::Field(field) => format!("p[{field}]"),
            };
            let end = (at + 1 < parts.len()).then(|| bytes(end_of(schema, *part, &delimiter)));
            std::iter::once(text).chain(end)
        });
        texts.collect::<Vec<_>>().join(" + ")
    };
    if let Some(salt) = schema.salt() {
        let buckets = salt.range();
        out.line(match salt.hash() {
            SaltHash::Java => format!("    salt = b\"%d\" % java({}, {buckets})", expression(false)),
            _ => {
                let over: Vec<_> = salt.over().iter().map(|at| format!("p[{at}]")).collect();
                let joined = format!("{}.join([{}])", bytes(&delimiter), over.join(", "));
                format!("    salt = digits(farm({joined}) % {buckets}, {})", salt.width())
            }
        });
    }
    out.line(format!("    return checked({})", expression(true)));
}

/// Returns where the part of each field is.
fn decode_text(out: &mut Output, schema: &KeySchema) -> Vec<usize> {
    let delimiter = [schema.delimiter()];
    let parts = parts(schema);
    let shape = parts.iter().enumerate().map(|(at, part)| {
        let width = match part {
            Part::Tag => Some(schema.tag().unwrap_or_default().len()),
            Part::Salt => schema.salt().filter(|salt| salt.hash() != SaltHash::Java).map(Salt::width),
            Part::Field(field) => match schema.fields()[*field].width() {
                Width::Fixed(width) => Some(width),
                _ => None,
            },
        };
        let end = if at + 1 < parts.len() { end_of(schema, *part, &delimiter) } else { &[] };
        // A bucket of Java can be negative, and the separator a `-`.
        let from = usize::from(*part == Part::Salt);
        let (is_fixed, width) = width.map_or(("False", from), |width| ("True", width));
        format!("({is_fixed}, {width}, {})", bytes(end))
    });
    out.line(format!("    p = split(key, [{}])", shape.collect::<Vec<_>>().join(", ")));
    let of_field = parts.iter().enumerate().filter(|(_, part)| matches!(part, Part::Field(_)));
    of_field.map(|(at, _)| at).collect()
}

fn encode_ordered(out: &mut Output, schema: &KeySchema) {
    let tag = schema.tag().map(|tag| bytes(tag.as_bytes()));
    let salt = schema.salt().map(|salt| {
        let over: Vec<_> = salt.over().iter().map(|at| format!("p[{at}]")).collect();
        format!("int64(farm(joined([{}])) % {})", over.join(", "), salt.range())
    });
    let head: Vec<_> = tag.into_iter().chain(salt).collect();
    out.line(format!("    return checked(trimmed([{}] + p))", head.join(", ")));
}

fn decode_ordered(out: &mut Output, schema: &KeySchema) -> Vec<usize> {
    let head = usize::from(schema.tag().is_some()) + usize::from(schema.salt().is_some());
    let count = schema.fields().len();
    out.line(format!("    p = opened(key, {})", head + count));
    (head..head + count).collect()
}

/// How a field is coded: expressions of `{v}`, the value, and `{p}`, its bytes.
struct Coded {
    encode: String,
    /// None for a hash.
    decode: Option<String>,
}

impl Coded {
    /// None for a field that only a program encodes.
    fn of(field: &Field, schema: &KeySchema) -> Option<Self> {
        let Some(stored) = field.hash_of() else { return Self::of_stored(field, schema) };
        let encode = Self::of_stored(stored, schema)?.encode;
        let digest =
            if schema.layout() == KeyEncoding::OrderedCode { "digest()" } else { "hexdigest().encode()" };
        Some(Self { encode: format!("hashlib.md5({encode}).{digest}"), decode: None })
    }

    fn of_stored(field: &Field, schema: &KeySchema) -> Option<Self> {
        let is_ordered = schema.layout() == KeyEncoding::OrderedCode;
        let fixed = match field.width() {
            Width::Fixed(width) => Some(width),
            _ => None,
        };
        let coded = |encode: String, decode: &str| Some(Self { encode, decode: Some(decode.to_owned()) });
        match field.values() {
            FieldValues::Text | FieldValues::Char => {
                let v = if field.values() == FieldValues::Char { "one({v})" } else { "{v}" };
                match (field.format(), fixed) {
                    (Format::PaddedUtf8, Some(width)) => {
                        coded(format!("padded({v}, {width})"), "{p}.rstrip(b\" \").decode()")
                    }
                    (Format::EscapedUtf8, _) => coded(format!("escaped({v})"), "unescaped({p})"),
                    _ if is_ordered => coded(format!("{v}.encode()"), "{p}.decode()"),
                    _ => coded(format!("text({v}, {})", schema.delimiter()), "{p}.decode()"),
                }
            }
            FieldValues::Bytes => {
                let length = fixed.map(|width| if is_ordered { width } else { width / 2 });
                let raw = match length {
                    Some(length) => format!("raw({{v}}, {length})"),
                    None => "raw({v})".to_owned(),
                };
                match is_ordered {
                    true => coded(raw, "{p}"),
                    false => coded(format!("{raw}.hex().encode()"), "bytes.fromhex({p}.decode())"),
                }
            }
            FieldValues::Uuid { version } => {
                let uid = version.map_or("uid({v})".to_owned(), |version| format!("uid({{v}}, {version})"));
                match (is_ordered, field.format()) {
                    (true, _) => coded(format!("{uid}.bytes"), "uuid.UUID(bytes={p})"),
                    (_, Format::UuidSimple) => {
                        coded(format!("{uid}.hex.encode()"), "uuid.UUID({p}.decode())")
                    }
                    _ => coded(format!("str({uid}).encode()"), "uuid.UUID({p}.decode())"),
                }
            }
            FieldValues::Custom => None,
            _ => Self::of_number(field, is_ordered, fixed.filter(|_| !is_ordered)),
        }
    }

    /// A field that is stored as a number.
    fn of_number(field: &Field, is_ordered: bool, fixed: Option<usize>) -> Option<Self> {
        let (least, greatest) = limits(field, is_ordered, fixed);
        let (number, value) = match (field.values(), field.format()) {
            (FieldValues::Integer { .. }, _) => {
                (format!("within({{v}}, {least}, {greatest})"), "{x}".to_owned())
            }
            (FieldValues::Bool, _) => {
                ("pick({v}, {False: 0, True: 1})".to_owned(), "pick({x}, {0: False, 1: True})".to_owned())
            }
            (FieldValues::Codes(codes), _) => {
                let to: Vec<_> =
                    codes.iter().map(|(code, name)| format!("{}: {code}", string(name))).collect();
                let from: Vec<_> =
                    codes.iter().map(|(code, name)| format!("{code}: {}", string(name))).collect();
                (
                    format!("pick({{v}}, {{{}}})", to.join(", ")),
                    format!("pick({{x}}, {{{}}})", from.join(", ")),
                )
            }
            (FieldValues::Time { exact }, Format::DateTime17) => {
                let name = string(field.name());
                (
                    format!("calendar(count({{v}}, 1000, {}, {name}))", boolean(exact)),
                    "millis({x})".to_owned(),
                )
            }
            (FieldValues::Time { exact }, Format::UnixTime(unit)) => {
                let per_second = match unit {
                    TimeUnit::Secs => "1",
                    TimeUnit::Millis => "1000",
                    TimeUnit::Micros => "1000000",
                    TimeUnit::Nanos => "1000000000",
                    _ => return None,
                };
                let (exact, name) = (boolean(exact), string(field.name()));
                let count = format!("count({{v}}, {per_second}, {exact}, {name})");
                let moment = match unit {
                    TimeUnit::Nanos => "{x}".to_owned(),
                    _ => format!("moment({{x}}, {per_second})"),
                };
                (format!("within({count}, {least}, {greatest})"), moment)
            }
            (FieldValues::Date, _) => {
                ("{v}.year * 10000 + {v}.month * 100 + {v}.day".to_owned(), "day({x})".to_owned())
            }
            _ => return None,
        };
        let flip = |x: String| {
            Some(match (field.order(), field.format(), fixed) {
                (FieldOrder::Ascending, ..) => x,
                (FieldOrder::ReversedFrom { max }, ..) => format!("{max} - ({x})"),
                (FieldOrder::BitReversed, _, Some(width)) => {
                    let bits = if width == 10 { 32 } else { 64 };
                    format!("int(f\"{{{x}:0{bits}b}}\"[::-1], 2)")
                }
                (FieldOrder::Descending, Format::Bool, _) => format!("1 - ({x})"),
                (FieldOrder::Descending, Format::SignedDecimal, _) | (FieldOrder::Descending, _, None) => {
                    format!("-1 - ({x})")
                }
                (FieldOrder::Descending, _, Some(width)) => format!("{} - ({x})", "9".repeat(width)),
                _ => return None,
            })
        };
        let (encode, read) = match (fixed, field.format()) {
            (None, _) => (format!("int64({})", flip(number)?), "of_int64({p})".to_owned()),
            (Some(width), Format::SignedDecimal) => (
                format!("signed({}, {})", flip(number)?, width - 1),
                format!("int({{p}}[1:]) - (10 ** {} if {{p}}[:1] == b\"-\" else 0)", width - 1),
            ),
            (Some(width), _) => (format!("digits({}, {width})", flip(number)?), "int({p})".to_owned()),
        };
        let read = flip(read)?;
        let read = if value == "{x}" { read } else { value.replace("{x}", &format!("({read})")) };
        Some(Self { encode, decode: Some(read) })
    }
}

/// The numbers that a field holds.
fn limits(field: &Field, is_ordered: bool, fixed: Option<usize>) -> (i128, u128) {
    const GREATEST: u128 = i64::MAX as u128;
    let (min, max) = match field.values() {
        FieldValues::Integer { min, max } => (min, max),
        _ => (i64::MIN.into(), u128::MAX),
    };
    match (field.order(), fixed) {
        (FieldOrder::ReversedFrom { max: from }, _) => {
            let least = if is_ordered { from.saturating_sub(GREATEST) } else { 0 };
            (least.cast_signed(), max.min(from))
        }
        (_, None) => (min.max(i64::MIN.into()), max.min(GREATEST)),
        _ if field.format() == Format::SignedDecimal => (min, max),
        (_, Some(width @ ..=38)) => (0, max.min(10_u128.pow(width as u32) - 1)),
        (_, Some(_)) => (0, max),
    }
}

fn boolean(is: bool) -> &'static str {
    if is { "True" } else { "False" }
}

/// A literal of a string, in ASCII.
fn string(text: &str) -> String {
    let escaped = |c: char| match c {
        // No expression of the output has these in a name: they would be replaced.
        '"' | '\\' | '{' | '}' => format!("\\x{:02x}", u32::from(c)),
        c if c.is_ascii_graphic() || c == ' ' => c.to_string(),
        c => format!("\\U{:08x}", u32::from(c)),
    };
    format!("\"{}\"", text.chars().map(escaped).collect::<String>())
}

/// A literal of bytes.
fn bytes(bytes: &[u8]) -> String {
    let escaped = |byte: &u8| match byte {
        b'"' | b'\\' => format!("\\x{byte:02x}"),
        byte if byte.is_ascii_graphic() || *byte == b' ' => char::from(*byte).to_string(),
        byte => format!("\\x{byte:02x}"),
    };
    format!("b\"{}\"", bytes.iter().map(escaped).collect::<String>())
}
