#[derive(::keyderive::KeyField, Clone, Copy, Debug, PartialEq)]
VIS enum OWN {
    «A»,
    B = 2,
}
//---
#[derive(::keyderive::KeyField, Clone, Copy, Debug, PartialEq)]
VIS enum OWN {
    A = «-1»,
    B = 2,
}
//---
#[derive(::keyderive::KeyField, Clone, Copy, Debug, PartialEq)]
VIS enum OWN {
    A = «1 + 1»,
    B = 3,
}
//---
#[derive(::keyderive::KeyField, Clone, Debug, PartialEq)]
VIS enum OWN {
    A«(u8)»,
    B,
}
//---
#[derive(::keyderive::KeyField, Clone, Copy, Debug, PartialEq)]
VIS enum «OWN» {}
//---
#[derive(::keyderive::KeyField, Clone, Debug, PartialEq)]
VIS struct OWN(VIS «usize»);
//---
#[derive(::keyderive::KeyField, Clone, Debug, PartialEq)]
VIS struct OWN(VIS «Option<u8>»);
//---
#[derive(::keyderive::KeyField, Clone, Debug, PartialEq)]
VIS struct OWN(VIS «f64»);
//---
#[derive(::keyderive::KeyField, Clone, Debug, PartialEq)]
VIS struct OWN(VIS &«'static» str);
//---
#[derive(::keyderive::KeyField, Clone, Debug, PartialEq)]
VIS struct «OWN»(VIS u8, VIS u8);
//---
#[derive(::keyderive::KeyField, Clone, Debug, PartialEq)]
VIS struct «OWN» {
    VIS a: u8,
}
//---
#[derive(::keyderive::KeyField, Clone, Debug, PartialEq)]
VIS struct «OWN»;
//---
#[derive(::keyderive::KeyField, Clone, Debug, PartialEq)]
VIS struct OWN(«#[pad(4)]» VIS u32);
//---
#[derive(::keyderive::KeyField, Clone, Debug, PartialEq)]
VIS struct OWN(«#[row_key(desc)]» VIS u32);
//---
#[derive(::keyderive::KeyField, Clone, Debug, PartialEq)]
«#[salt(range = 4)]»
VIS struct OWN(VIS u32);
//---
#[derive(::keyderive::KeyField, Clone, Debug, PartialEq)]
#[row_key(«pad»(4))]
VIS struct OWN(VIS u32);
//---
#[derive(Clone, Debug, PartialEq)]
VIS struct OWN(VIS u32);
