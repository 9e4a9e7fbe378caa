//! Generates the impl of a value of a cell.

use proc_macro2::{Literal, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::{Ident, Type};

use super::{CellInput, Shape};
use crate::attr::unraw;
use crate::tokens::{Runtime, grouped, in_scope, on_span_of, respan_but_locals, span_of};

/// The code for a type without faults.
pub(super) fn cell(cell: &CellInput<'_>, shape: &Shape<'_>) -> TokenStream {
    let Runtime { private, import } = Runtime::new(cell.krate.as_ref(), &cell.input.ident);
    let ident = &cell.input.ident;
    let Parts { ty, encode, decode, encode_bound } = match shape {
        Shape::Newtype(inner) => newtype(inner, &private),
        Shape::Unit => unit(&private),
        Shape::Names(variants) => names(variants, &private),
        Shape::Codes(codes) => enum_codes(codes, &private),
    };
    let order = order(shape, ident, &private);
    let qualifier = qualifier(shape, ident, &private);
    let order = quote!(#order #qualifier);
    implementation(ident, import.as_ref(), &private, [&ty, &encode, &decode, &encode_bound, &order])
}

/// What the impl of one shape has.
struct Parts {
    ty: TokenStream,
    encode: TokenStream,
    decode: TokenStream,
    /// The method of bounds, if it is not the default one.
    encode_bound: TokenStream,
}

fn implementation(
    ident: &Ident,
    import: Option<&TokenStream>,
    private: &TokenStream,
    [ty, encode, decode, encode_bound, order]: [&TokenStream; 5],
) -> TokenStream {
    // With the type's own span, a deprecated type is not reported in our impl.
    let name = quote_spanned!(ident.span()=> #ident);
    let impls = quote! {
            #[automatically_derived]
            impl #private::Cell for #name {
                type Owned = Self;
                type Decoded<'__keyderive> = Self;
                const TYPE: #private::CellType = #ty;

                #[inline]
                fn encode(
                    &self,
                    __out: &mut #private::CellWriter<'_>,
                ) -> #private::core::result::Result<(), #private::CellError> {
                    #encode
                }

                #[inline]
                fn decode(
                    __value: &[#private::core::primitive::u8],
                ) -> #private::core::result::Result<Self, #private::CellError> {
                    #decode
                }

                #encode_bound
            }

            #order
    };
    in_scope(import, &impls)
}

/// A newtype is stored as what is inside.
fn newtype(inner: &Type, private: &TokenStream) -> Parts {
    let inner_as = |item: &str| {
        let item = format_ident!("{item}");
        grouped(on_span_of(inner, quote!(<), &quote!(#inner), quote!(as #private::Cell>::#item)))
    };
    // Each error is on the inner type, so that one without an encoding is reported there alone.
    let on_inner = |tokens: TokenStream| respan_but_locals(tokens, span_of(inner));
    let [encode, decode, encode_bound] = ["encode", "decode", "encode_bound"].map(inner_as);
    let encode_bound = on_inner(quote!(#encode_bound(&self.0, __out)));
    Parts {
        ty: inner_as("TYPE"),
        encode: on_inner(quote!(#encode(&self.0, __out))),
        decode: on_inner(quote!(#private::core::result::Result::map(#decode(__value), Self))),
        encode_bound: quote! {
            fn encode_bound(
                &self,
                __out: &mut #private::CellWriter<'_>,
            ) -> #private::core::result::Result<#private::core::cmp::Ordering, #private::CellError> {
                #encode_bound
            }
        },
    }
}

/// The impls by which the server compares values: a newtype as what is inside, others for equality.
fn order(shape: &Shape<'_>, ident: &Ident, private: &TokenStream) -> TokenStream {
    let Shape::Newtype(inner) = shape else {
        return quote!(#[automatically_derived] impl #private::ComparableCell for #ident {});
    };
    // The lifetime lets an impl compile even if its bound does not hold.
    quote! {
        #[automatically_derived]
        impl #private::ComparableCell for #ident
        where
            for<'__keyderive> #inner: #private::ComparableCell,
        {
        }

        #[automatically_derived]
        impl #private::OrderedCell for #ident where for<'__keyderive> #inner: #private::OrderedCell {}
    }
}

/// The impl by which a value is the key of a map that is a family, if it is ordered: a newtype as what is inside, an enum by its
/// names.
fn qualifier(shape: &Shape<'_>, ident: &Ident, private: &TokenStream) -> Option<TokenStream> {
    // The lifetime lets the impl compile even if its bound does not hold.
    let ordered = quote!(for<'__keyderive> #ident: #private::core::cmp::Ord,);
    let (inner, key, to_qualifier, of_qualifier) = match shape {
        Shape::Newtype(inner) => {
            let inner_as = quote!(<#inner as #private::Qualifier>);
            (
                quote!(for<'__keyderive> #inner: #private::Qualifier,),
                quote!(#inner_as::KEY),
                quote!(#inner_as::to_qualifier(#inner_as::borrowed(&__key.0))),
                quote!(#private::core::result::Result::map(#inner_as::of_qualifier(__name), Self)),
            )
        }
        Shape::Names(_) => (
            TokenStream::new(),
            quote!(<Self as #private::Cell>::TYPE),
            quote! {
                #private::core::result::Result::map(
                    #private::Cell::to_stored(__key),
                    #private::core::convert::Into::into,
                )
            },
            quote!(<Self as #private::Cell>::decode(__name)),
        ),
        Shape::Unit | Shape::Codes(_) => return None,
    };
    Some(quote! {
        #[automatically_derived]
        impl #private::Qualifier for #ident where #ordered #inner {
            type Borrowed = Self;
            const KEY: #private::CellType = #key;

            fn to_qualifier(
                __key: &Self,
            ) -> #private::core::result::Result<#private::Bytes, #private::CellError> {
                #to_qualifier
            }

            fn borrowed(&self) -> &Self {
                self
            }

            fn of_qualifier(
                __name: &[#private::core::primitive::u8],
            ) -> #private::core::result::Result<Self, #private::CellError> {
                #of_qualifier
            }
        }
    })
}

fn unit(private: &TokenStream) -> Parts {
    Parts {
        ty: quote!(#private::CellType::Unit),
        encode: quote!(#private::Cell::encode(&(), __out)),
        decode: quote! {
            #private::core::result::Result::map(<() as #private::Cell>::decode(__value), |()| Self)
        },
        encode_bound: TokenStream::new(),
    }
}

/// An enum is stored as the name of its variant.
fn names(variants: &[(String, &Ident)], private: &TokenStream) -> Parts {
    let names: Vec<_> = variants.iter().map(|(name, _)| name).collect();
    let bytes: Vec<_> = names.iter().map(|name| Literal::byte_string(name.as_bytes())).collect();
    let idents: Vec<_> = variants.iter().map(|(_, ident)| ident).collect();
    Parts {
        ty: quote!(#private::CellType::Enum(&[#(#names),*])),
        encode: quote! {
            #private::CellWriter::write(__out, match self { #(Self::#idents => #bytes),* });
            #private::core::result::Result::Ok(())
        },
        decode: quote! {
            match __value {
                #(#bytes => #private::core::result::Result::Ok(Self::#idents),)*
                _ => #private::core::result::Result::Err(
                    #private::CellError::unknown_variant(__value, &[#(#names),*]),
                ),
            }
        },
        encode_bound: TokenStream::new(),
    }
}

/// An enum with `code` is stored as the code of its variant.
fn enum_codes(codes: &[(u64, &Ident)], private: &TokenStream) -> Parts {
    let numbers: Vec<_> = codes.iter().map(|(code, _)| Literal::u64_unsuffixed(*code)).collect();
    let idents: Vec<_> = codes.iter().map(|(_, ident)| ident).collect();
    let names = idents.iter().map(|ident| unraw(ident));
    // The compiler rejects two variants with one code, and would warn of the second arm.
    let mut read = codes.to_vec();
    read.dedup_by_key(|(code, _)| *code);
    let read = read.iter().map(|(code, ident)| (Literal::u64_unsuffixed(*code), ident));
    let read = read.map(|(code, ident)| quote!(#code => #private::core::result::Result::Ok(Self::#ident),));
    let i64 = quote!(#private::core::primitive::i64);
    Parts {
        ty: quote!(#private::CellType::Code(&[#((#numbers, #names)),*])),
        encode: quote! {
            let __code: #i64 = match self { #(Self::#idents => #numbers),* };
            #private::Cell::encode(&__code, __out)
        },
        decode: quote! {
            match <#i64 as #private::Cell>::decode(__value)? {
                #(#read)*
                __code => #private::core::result::Result::Err(#private::CellError::unknown_code(__code, &[#(#numbers),*])),
            }
        },
        encode_bound: TokenStream::new(),
    }
}

/// A stub impl of a type with faults, so that every use of it compiles.
pub(super) fn stub(cell: &CellInput<'_>) -> TokenStream {
    let ident = &cell.input.ident;
    // A stub for a type with parameters would need bounds that the user did not write.
    if !cell.input.generics.params.is_empty() {
        return TokenStream::new();
    }
    let Runtime { private, import } = Runtime::new(cell.krate.as_ref(), ident);
    let unreachable = quote!(#private::core::unreachable!());
    let ty = quote!(#private::CellType::Unit);
    let order = quote! {
        #[automatically_derived]
        impl #private::ComparableCell for #ident {}
        #[automatically_derived]
        impl #private::OrderedCell for #ident {}
    };
    implementation(
        ident,
        import.as_ref(),
        &private,
        [&ty, &unreachable, &unreachable, &TokenStream::new(), &order],
    )
}
