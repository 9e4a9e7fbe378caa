//! The key type put together from its tokens: what `check` asks and `expand` prints.

use proc_macro2::{Group, Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::punctuated::Punctuated;
use syn::{Data, DeriveInput, Fields, GenericParam, Lifetime, LitStr, Path, Type, Visibility};

use crate::attr::{FieldAttrs, SaltAttr, StructAttrs, unraw};
use crate::ctxt::Ctxt;

/// A key type.
pub(crate) struct Key<'a> {
    pub(crate) input: &'a DeriveInput,
    pub(crate) attrs: StructAttrs,
    pub(crate) fields: Vec<Field<'a>>,
}

/// One of its fields.
pub(crate) struct Field<'a> {
    pub(crate) ident: &'a Ident,
    /// The field's name, without `r#`.
    pub(crate) name: String,
    pub(crate) ty: &'a Type,
    pub(crate) attrs: FieldAttrs,
    pub(crate) codec: Codec,
}

/// The format that a field's attributes choose.
#[derive(Clone, Copy)]
pub(crate) enum Codec {
    Text,
    Pad { width: usize },
    ReverseTs { max: u64 },
}

/// Where the salt stands.
pub(crate) enum SaltPlace {
    Front,
    BeforeFields,
    After { field: usize },
}

impl<'a> Key<'a> {
    /// Reads a key type; none where there are no fields to speak of.
    pub(crate) fn from_input(cx: &Ctxt, input: &'a DeriveInput) -> Option<Self> {
        let attrs = StructAttrs::read(cx, &input.attrs);
        refuse_parameters(cx, input);
        let fields = named_fields(cx, input)?;
        let fields = fields.iter().filter_map(|field| Field::from_field(cx, field)).collect();
        Some(Self { input, attrs, fields })
    }

    /// The key type's name, without `r#`.
    pub(crate) fn name(&self) -> String {
        unraw(&self.input.ident)
    }

    pub(crate) fn vis(&self) -> &Visibility {
        &self.input.vis
    }

    pub(crate) fn delimiter(&self) -> u8 {
        self.attrs.delimiter.get().copied().unwrap_or(b'#')
    }

    pub(crate) fn tag(&self) -> Option<&LitStr> {
        self.attrs.tag.get()
    }

    pub(crate) fn salt(&self) -> Option<&SaltAttr> {
        self.attrs.salt.get()
    }

    /// Whether the bucket is the first part that is not constant.
    pub(crate) fn begins_with_salt(&self) -> bool {
        self.salt().is_some_and(|salt| salt.after.get().is_none())
    }

    /// Where the salt stands. Without a tag there is one front.
    pub(crate) fn salt_place(&self, salt: &SaltAttr) -> SaltPlace {
        let after = salt.after.get();
        if let Some(field) = self.fields.iter().position(|field| Some(&field.name) == after) {
            return SaltPlace::After { field };
        }
        let front = salt.front.get().or(salt.java.get()).and(self.tag());
        front.map_or(SaltPlace::BeforeFields, |_| SaltPlace::Front)
    }

    /// The indexes of the salted fields in key order; unknown names have their error from `check`.
    pub(crate) fn salted_fields(&self) -> Vec<usize> {
        let over = self.salt().and_then(|salt| salt.over.get());
        let salted =
            |field: &Field<'_>| over.is_none_or(|over| over.iter().any(|(_, name)| *name == field.name));
        self.fields.iter().enumerate().filter(|(_, field)| salted(field)).map(|(at, _)| at).collect()
    }

    /// Where the runtime is found.
    pub(crate) fn krate(&self) -> Path {
        self.attrs.krate.get().cloned().unwrap_or_else(|| syn::parse_quote!(::keyderive))
    }

    /// The key type with all its lifetimes replaced by one.
    pub(crate) fn type_at(&self, lifetime: &Lifetime) -> TokenStream {
        self_type(self.input, lifetime)
    }

    /// The name of the scan builder.
    pub(crate) fn scan_ident(&self) -> Ident {
        scan_ident(self.input)
    }
}

impl<'a> Field<'a> {
    fn from_field(cx: &Ctxt, field: &'a syn::Field) -> Option<Self> {
        let ident = field.ident.as_ref()?;
        let attrs = FieldAttrs::read(cx, &field.attrs);
        let codec = match (attrs.pad.get(), attrs.reverse_ts.get()) {
            (Some(width), _) => Codec::Pad { width: *width },
            (None, Some(max)) => Codec::ReverseTs { max: *max },
            (None, None) => Codec::Text,
        };
        Some(Self { ident, name: unraw(ident), ty: &field.ty, attrs, codec })
    }

    /// The type with all its lifetimes replaced by one.
    pub(crate) fn type_at(&self, lifetime: &Lifetime) -> TokenStream {
        replace_lifetimes(self.ty.to_token_stream(), lifetime)
    }
}

impl SaltPlace {
    pub(crate) fn tokens(&self, private: &TokenStream) -> TokenStream {
        match self {
            Self::Front => quote!(#private::SaltPlace::Front),
            Self::BeforeFields => quote!(#private::SaltPlace::BeforeFields),
            Self::After { field } => quote!(#private::SaltPlace::After { field: #field }),
        }
    }
}

impl Codec {
    /// The marker type that names the format.
    pub(crate) fn tokens(self, private: &TokenStream) -> TokenStream {
        match self {
            Self::Text => quote!(#private::Text),
            Self::Pad { width } => quote!(#private::Pad<#width>),
            Self::ReverseTs { max } => quote!(#private::ReverseTs<#max>),
        }
    }
}

/// The struct's type with all its lifetimes replaced by one.
pub(crate) fn self_type(input: &DeriveInput, lifetime: &Lifetime) -> TokenStream {
    let ident = &input.ident;
    let lifetimes = input.generics.lifetimes().map(|_| lifetime);
    match input.generics.lifetimes().next() {
        Some(_) => quote!(#ident<#(#lifetimes),*>),
        None => quote!(#ident),
    }
}

/// `<Name>Scan`, where the struct is declared.
pub(crate) fn scan_ident(input: &DeriveInput) -> Ident {
    Ident::new(&format!("{}Scan", unraw(&input.ident)), Span::call_site().located_at(input.ident.span()))
}

/// Lifetimes are borrowed fields; types and constants would make the stored bytes depend on more than
/// this declaration.
fn refuse_parameters(cx: &Ctxt, input: &DeriveInput) {
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
                cx.error(name, format_args!("a row key needs a field at least; {REMEDY}"));
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

/// Replaces every lifetime but `'static` in a type's tokens. Field types have no binders of their own.
fn replace_lifetimes(tokens: TokenStream, lifetime: &Lifetime) -> TokenStream {
    let mut replaced = TokenStream::new();
    let mut tokens = tokens.into_iter();
    while let Some(token) = tokens.next() {
        match token {
            TokenTree::Punct(quote) if quote.as_char() == '\'' => match tokens.next() {
                Some(TokenTree::Ident(name)) if name != "static" => {
                    replaced.extend(lifetime.to_token_stream());
                }
                name => replaced.extend([Some(TokenTree::Punct(quote)), name].into_iter().flatten()),
            },
            TokenTree::Group(group) => {
                let mut inner = Group::new(group.delimiter(), replace_lifetimes(group.stream(), lifetime));
                inner.set_span(group.span());
                replaced.extend([TokenTree::Group(inner)]);
            }
            token => replaced.extend([token]),
        }
    }
    replaced
}
