#[derive(::keyderive::Cell)]
VIS enum «OWN» {}
//---
#[derive(::keyderive::Cell)]
VIS enum OWN {
    A«(u8)»,
    B,
}
//---
#[derive(::keyderive::Cell)]
VIS enum OWN {
    A,
    #[row(name = «"A"»)]
    B,
}
//---
#[derive(::keyderive::Cell)]
VIS enum OWN {
    #[row(name = "B")]
    A,
    «B»,
}
//---
#[derive(::keyderive::Cell)]
#[row(code)]
«VIS enum OWN» {
    A = 1,
    B = 1,
}
//---
#[derive(::keyderive::Cell)]
VIS enum OWN {
    #[row(«nmae» = "A")]
    A,
}
//---
#[derive(::keyderive::Cell)]
#[row(code)]
VIS enum OWN {
    «A»,
    B = 2,
}
//---
#[derive(::keyderive::Cell)]
#[row(code)]
VIS enum OWN {
    «#[row(name = "a")]»
    A = 1,
}
//---
#[derive(::keyderive::Cell)]
#[row(code)]
#[repr(u64)]
VIS enum OWN {
    «A» = 9223372036854775808,
}
//---
#[derive(::keyderive::Cell)]
#[row(«code»)]
VIS struct OWN(VIS u32);
//---
#[derive(::keyderive::Cell)]
#[row(«family» = "f")]
VIS struct OWN(VIS u32);
//---
#[derive(::keyderive::Cell)]
VIS struct «OWN»(VIS u32, VIS u32);
//---
#[derive(::keyderive::Cell)]
VIS struct «OWN» {
    VIS a: u32,
}
//---
#[derive(::keyderive::Cell)]
VIS struct OWN(VIS &«'static» str);
//---
#[derive(::keyderive::Cell)]
VIS struct OWN(«#[row(json)]» VIS u32);
//---
#[derive(::keyderive::Cell)]
VIS struct OWN(VIS «crate::support::Id»);
