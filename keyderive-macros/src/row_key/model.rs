//! The model of a key type, built from its tokens: `check` checks it and `expand` generates code from it.

use keyderive_layout::key_rules::KeyEncoding;
use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, format_ident, quote};
use syn::punctuated::Punctuated;
use syn::{Data, DeriveInput, Fields, GenericParam, Lifetime, LitStr, Type, Visibility};

use super::attr::{FieldAttrs, SaltAttr, StructAttrs};
use super::since::Since;
use crate::attr::{Unit, unraw, warn_of_serde};
use crate::ctxt::Ctxt;
use crate::tokens::Runtime;
use crate::types::{replace_lifetimes, self_type};

pub(super) struct Key<'a> {
    pub(super) input: &'a DeriveInput,
    pub(super) attrs: StructAttrs,
    pub(super) fields: Vec<Field<'a>>,
}

pub(super) struct Field<'a> {
    pub(super) ident: &'a Ident,
    /// The field's name, without `r#`.
    pub(super) name: String,
    pub(super) ty: &'a Type,
    pub(super) attrs: FieldAttrs,
    pub(super) codec: Codec,
}

/// A field's format and order, chosen by its attributes.
pub(super) struct Codec {
    format: Format,
    order: Order,
}

enum Format {
    /// The type's own format in the layout.
    Own(KeyEncoding),
    Pad {
        width: usize,
    },
    Escape,
    Ts {
        unit: Unit,
        exact: bool,
        layout: KeyEncoding,
    },
    DateTime17 {
        exact: bool,
    },
    Uuid {
        simple: bool,
        v4: bool,
        layout: KeyEncoding,
    },
    /// A module of the user's, named by a marker type.
    With {
        marker: Ident,
    },
}

#[derive(Clone, Copy)]
enum Order {
    Natural,
    ReverseTs { max: u64 },
    Desc,
    BitReverse,
}

/// Where the salt stands.
pub(super) enum SaltPlace {
    Front,
    BeforeFields,
    After { field: usize },
}

impl<'a> Key<'a> {
    /// Returns `None` for a type without named fields.
    pub(super) fn from_input(cx: &Ctxt, input: &'a DeriveInput) -> Option<Self> {
        let attrs = StructAttrs::read(cx, &input.attrs);
        reject_parameters(cx, input);
        let fields = named_fields(cx, input)?;
        let fields = fields.iter().filter_map(|field| Field::from_field(cx, field, &attrs)).collect();
        Some(Self { input, attrs, fields })
    }

    /// The key type's name, without `r#`.
    pub(super) fn name(&self) -> String {
        unraw(&self.input.ident)
    }

    pub(super) fn vis(&self) -> &Visibility {
        &self.input.vis
    }

    pub(super) fn layout(&self) -> KeyEncoding {
        self.attrs.layout()
    }

    pub(super) fn delimiter(&self) -> u8 {
        // `check` reports those that are not ASCII.
        self.attrs.delimiter.get().and_then(|delimiter| u8::try_from(*delimiter).ok()).unwrap_or(b'#')
    }

    pub(super) fn tag(&self) -> Option<&LitStr> {
        self.attrs.tag.get()
    }

    /// The salts, in the order of their attributes.
    pub(super) fn salts(&self) -> impl DoubleEndedIterator<Item = &SaltAttr> {
        self.attrs.salts.iter().map(|(_, salt)| salt)
    }

    /// The salt of the keys before every `since`.
    pub(super) fn first_salt(&self) -> Option<&SaltAttr> {
        self.salts().find(|salt| salt.since.get().is_none())
    }

    /// The salts from a date on, each with its bound.
    pub(super) fn epochs(&self) -> impl Iterator<Item = (&SaltAttr, &Since)> {
        self.salts().filter_map(|salt| Some((salt, salt.since.get()?)))
    }

    /// The index of the field that has the bounds; `check` reports other names.
    pub(super) fn epoch_field(&self) -> Option<usize> {
        let (_, since) = self.epochs().next()?;
        self.fields.iter().position(|field| field.name == since.field.0)
    }

    /// Whether no field precedes the bucket, in the keys from the last bound on.
    pub(super) fn begins_with_salt(&self) -> bool {
        self.salts().next_back().is_some_and(|salt| salt.after.get().is_none())
    }

    /// Where the salt stands. Without a tag, `Front` and `BeforeFields` are the same place.
    pub(super) fn salt_place(&self, salt: &SaltAttr) -> SaltPlace {
        let after = salt.after.get();
        if let Some(field) = self.fields.iter().position(|field| Some(&field.name) == after) {
            return SaltPlace::After { field };
        }
        let front = salt.front.get().or(salt.java.get()).and(self.tag());
        front.map_or(SaltPlace::BeforeFields, |_| SaltPlace::Front)
    }

    /// The indexes of the salted fields in key order; `check` reports unknown names.
    pub(super) fn salted_fields(&self, salt: &SaltAttr) -> Vec<usize> {
        let over = salt.over.get();
        let salted =
            |field: &Field<'_>| over.is_none_or(|over| over.iter().any(|(_, name)| *name == field.name));
        self.fields.iter().enumerate().filter(|(_, field)| salted(field)).map(|(at, _)| at).collect()
    }

    /// The index of the first hashed field; a key with one cannot be decoded.
    pub(super) fn first_hashed(&self) -> Option<usize> {
        self.fields.iter().position(Field::is_hashed)
    }

    /// Whether the key type is in a module without the prelude.
    pub(super) fn has_no_prelude(&self) -> bool {
        self.attrs.no_implicit_prelude.get().is_some()
    }

    pub(super) fn runtime(&self) -> Runtime {
        Runtime::new(self.attrs.krate.get(), &self.input.ident)
    }

    /// The key type with all its lifetimes replaced by one.
    pub(super) fn type_at(&self, lifetime: &Lifetime) -> TokenStream {
        self_type(self.input, lifetime)
    }

    /// The name of the scan builder.
    pub(super) fn scan_ident(&self) -> Ident {
        scan_ident(self.input)
    }
}

impl<'a> Field<'a> {
    fn from_field(cx: &Ctxt, field: &'a syn::Field, on_struct: &StructAttrs) -> Option<Self> {
        let ident = field.ident.as_ref()?;
        let attrs = FieldAttrs::read(cx, &field.attrs, on_struct);
        warn_of_serde(cx, field, &["row_key", "pad", "reverse_ts"]);
        let codec = Codec::of(&attrs, ident, on_struct.layout());
        Some(Self { ident, name: unraw(ident), ty: &field.ty, attrs, codec })
    }

    pub(super) fn is_hashed(&self) -> bool {
        self.attrs.hash.get().is_some()
    }

    /// The field's name in the schema, in errors and in `explain`.
    pub(super) fn schema_name(&self) -> String {
        self.attrs.name.get().map_or_else(|| self.name.clone(), LitStr::value)
    }

    /// The field of the old key whose values it takes, if its key takes the place of another.
    pub(super) fn old_ident(&self) -> Ident {
        self.attrs.was.get().unwrap_or(self.ident).clone()
    }

    /// The type with all its lifetimes replaced by one.
    pub(super) fn type_at(&self, lifetime: &Lifetime) -> TokenStream {
        replace_lifetimes(self.ty.to_token_stream(), lifetime)
    }
}

impl SaltPlace {
    pub(super) fn tokens(&self, private: &TokenStream) -> TokenStream {
        match self {
            Self::Front => quote!(#private::SaltPlace::Front),
            Self::BeforeFields => quote!(#private::SaltPlace::BeforeFields),
            Self::After { field } => quote!(#private::SaltPlace::After { field: #field }),
        }
    }
}

impl Codec {
    /// `check` reports conflicts between the attributes.
    fn of(attrs: &FieldAttrs, ident: &Ident, layout: KeyEncoding) -> Self {
        let format = Format::of(attrs, ident, layout);
        let order = match (attrs.reverse_ts.get(), attrs.desc.get(), attrs.bit_reverse.get()) {
            (Some(max), _, _) => Order::ReverseTs { max: *max },
            (None, Some(()), _) => Order::Desc,
            (None, None, Some(())) => Order::BitReverse,
            (None, None, None) => Order::Natural,
        };
        Self { format, order }
    }

    /// The marker type of a field stored `with` a module.
    pub(super) fn with_marker(&self) -> Option<&Ident> {
        match &self.format {
            Format::With { marker } => Some(marker),
            _ => None,
        }
    }

    /// The codec's type in the runtime.
    pub(super) fn tokens(&self, private: &TokenStream) -> TokenStream {
        let format = self.format.tokens(private);
        match self.order {
            Order::Natural => format,
            Order::ReverseTs { max } => quote!(#private::ReverseTs<#max, #format>),
            Order::Desc => quote!(#private::Desc<#format>),
            Order::BitReverse => quote!(#private::BitReverse<#format>),
        }
    }
}

impl Format {
    fn of(attrs: &FieldAttrs, ident: &Ident, layout: KeyEncoding) -> Self {
        if attrs.with.get().is_some() {
            Self::With { marker: format_ident!("With_{}", unraw(ident)) }
        } else if let Some(width) = attrs.pad.get() {
            Self::Pad { width: *width }
        } else if attrs.escape.get().is_some() {
            Self::Escape
        } else if let Some(ts) = attrs.ts.get() {
            let exact = ts.exact.get().is_some();
            match ts.datetime17.get() {
                Some(()) => Self::DateTime17 { exact },
                None => Self::Ts { unit: ts.unit.get().copied().unwrap_or(Unit::Micros), exact, layout },
            }
        } else if let Some(uuid) = attrs.uuid.get() {
            Self::Uuid { simple: uuid.simple.get().is_some(), v4: uuid.v4.get().is_some(), layout }
        } else {
            Self::Own(layout)
        }
    }

    fn tokens(&self, private: &TokenStream) -> TokenStream {
        match *self {
            Self::With { ref marker } => quote!(#marker),
            Self::Own(layout) => own_tokens(layout, private),
            Self::Pad { width } => quote!(#private::Pad<#width>),
            Self::Escape => quote!(#private::Escape),
            Self::Ts { unit, exact, layout } => {
                let (unit, own) = (unit_tokens(unit, exact, private), own_tokens(layout, private));
                quote!(#private::Ts<#unit, #own>)
            }
            Self::DateTime17 { exact } => {
                let unit = unit_tokens(Unit::Millis, exact, private);
                quote!(#private::DateTime17<#unit>)
            }
            Self::Uuid { simple, v4, layout } => {
                let base = if simple { quote!(#private::Simple) } else { own_tokens(layout, private) };
                if v4 { quote!(#private::V4<#base>) } else { base }
            }
        }
    }
}

/// The type's own format in a layout.
fn own_tokens(layout: KeyEncoding, private: &TokenStream) -> TokenStream {
    match layout {
        KeyEncoding::Delimited => quote!(#private::Text),
        KeyEncoding::OrderedCode => quote!(#private::Ordered),
    }
}

fn unit_tokens(unit: Unit, exact: bool, private: &TokenStream) -> TokenStream {
    let unit = match unit {
        Unit::Secs => quote!(#private::Secs),
        Unit::Millis => quote!(#private::Millis),
        Unit::Micros => quote!(#private::Micros),
        Unit::Nanos => quote!(#private::Nanos),
    };
    if exact { quote!(#private::Exact<#unit>) } else { unit }
}

/// `<Name>Scan`, with the span of the struct's name.
pub(super) fn scan_ident(input: &DeriveInput) -> Ident {
    Ident::new(&format!("{}Scan", unraw(&input.ident)), Span::call_site().located_at(input.ident.span()))
}

/// Type and const parameters would make the stored bytes depend on more than this declaration; lifetimes do not.
fn reject_parameters(cx: &Ctxt, input: &DeriveInput) {
    for param in &input.generics.params {
        let (ident, kind) = match param {
            GenericParam::Lifetime(_) => continue,
            GenericParam::Type(param) => (&param.ident, "type"),
            GenericParam::Const(param) => (&param.ident, "const"),
        };
        cx.error(
            ident,
            format_args!(
                "a row key has no {kind} parameters, since they would change the stored bytes; \
                 declare one struct for each key"
            ),
        );
    }
}

fn named_fields<'a>(cx: &Ctxt, input: &'a DeriveInput) -> Option<&'a Punctuated<syn::Field, syn::Token![,]>> {
    const REMEDY: &str = "write `struct Key { user_id: String, at: u64 }`";
    let name = &input.ident;
    match &input.data {
        Data::Struct(data) => match &data.fields {
            Fields::Named(fields) if !fields.named.is_empty() => return Some(&fields.named),
            Fields::Named(_) | Fields::Unit => {
                cx.error(name, format_args!("a row key needs at least one field; {REMEDY}"));
            }
            Fields::Unnamed(fields) => {
                cx.error(
                    fields,
                    format_args!("the fields of a row key have names, which its scans use; {REMEDY}"),
                );
            }
        },
        Data::Enum(data) => {
            cx.error(data.enum_token, format_args!("a row key is a struct, not an enum; {REMEDY}"));
        }
        Data::Union(data) => {
            cx.error(data.union_token, format_args!("a row key is a struct, not a union; {REMEDY}"));
        }
    }
    None
}
