VIS struct ROW«(VIS u8)»;
//---
VIS «enum» ROW {
    /// One.
    A,
}
//---
#[row(fingerprint = «"0123456789abcdef"»)]
VIS struct ROW<V> {
    /// A field.
    VIS value: V,
}
//---
VIS struct ROW<V> {
    /// A field.
    #[row(family)]
    VIS value: «V»,
}
//---
VIS struct ROW {
    /// A field.
    #[row(family = "sums")]
    VIS sum: ::keyderive::row::Sum,
    /// A field.
    #[row(family = "sums")]
    VIS «other»: u32,
}
//---
VIS struct ROW {
    /// A field.
    #[row(family = "h", gc(never))]
    VIS one: u32,
    /// A field.
    #[row(family = "h", «gc»(never))]
    VIS other: u32,
}
//---
VIS struct ROW {
    /// A field.
    #[row(family)]
    VIS h: ::std::collections::BTreeMap<String, u8>,
    /// A field.
    #[row(family = "h")]
    VIS «other»: u32,
}
//---
VIS struct ROW {
    /// A field.
    VIS one: u32,
    /// A field.
    #[row(alias = «"one"»)]
    VIS other: u32,
}
//---
#[row(ttl = "1d")]
VIS struct ROW {
    /// A field.
    VIS one: u32,
    /// A field.
    #[row(alias = «"h:one"»)]
    VIS other: u32,
}
//---
#[row(gc(max_versions = 1))]
VIS struct ROW {
    /// A field.
    VIS one: «::keyderive::row::Versions<u8>»,
}
//---
#[row(ttl = "1d")]
VIS struct ROW {
    /// A field.
    #[row(«counter»)]
    VIS one: i64,
}
