# Made by `keyderive codegen --python` from a layout file. A time is an aware datetime; encoders take a count of the unit since
# 1970, too, and decoders return one for nanoseconds and for what no datetime holds. What no key of the type has is a ValueError.


def named(fields, names):
    if set(fields) != set(names):
        raise ValueError(f"the fields are {names}, and these are {tuple(fields)}")
    return [fields[name] for name in names]


def checked(key):
    if not 1 <= len(key) <= 4096:
        raise ValueError(f"a row key has 1 to 4096 bytes, and this one has {len(key)}")
    return key


def exactly(key, fields, encode):
    if encode(**fields) != key:
        raise ValueError(f"{key!r} is no key that encoding writes")
    return fields


def split(key, shape):
    """The parts: each of a fixed width, or up to its end, from the byte at `width` on."""
    parts = []
    for is_fixed, width, end in shape:
        at = width if is_fixed else key.find(end, width) if end else len(key)
        if at < 0 or key[at:at + len(end)] != end:
            raise ValueError(f"{key!r} is no key of this type")
        parts.append(key[:at])
        key = key[at + len(end):]
    return parts


def text(v, delimiter):
    b = v.encode()
    if min(b, default=255) <= delimiter:
        raise ValueError(f"{v!r} holds a byte at or below the delimiter")
    return b


def within(v, low, high):
    if type(v) is not int or not low <= v <= high:
        raise ValueError(f"{v!r} is no integer of {low} to {high}")
    return v


def digits(x, width):
    return b"%0*d" % (width, x)


def farm(s):
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
    return h - (h >> 63 << 64)


# Table `events`, `EventKey`: <salt 0 to 3>#<user_id>#<site>#<at>#<seq>; fingerprint 6c1705375cfbd9b0
def encode_event_key(**fields):
    v0, v1, v2, v3, = named(fields, ("user_id", "site", "at", "seq",))
    p = [
        text(v0, 35),
        text(v1, 35),
        digits(9223372036854775807 - (within(v2, 0, 9223372036854775807)), 19),
        digits(within(v3, 0, 999999), 6),
    ]
    salt = digits(farm(b"#".join([p[0], p[1]])) % 4, 1)
    return checked(salt + b"#" + p[0] + b"#" + p[1] + b"#" + p[2] + b"#" + p[3])


def decode_event_key(key):
    p = split(key, [(True, 1, b"#"), (False, 0, b"#"), (False, 0, b"#"), (True, 19, b"#"), (True, 6, b"")])
    fields = {
        "user_id": p[1].decode(),
        "site": p[2].decode(),
        "at": 9223372036854775807 - (int(p[3])),
        "seq": int(p[4]),
    }
    return exactly(key, fields, encode_event_key)
