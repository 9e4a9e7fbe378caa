//! Generates the impls of a field type, which call the runtime or the inner type.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::{GenericParam, Ident, Type};

use super::{FieldType, Shape};
use crate::attr::unraw;
use crate::tokens::{Runtime, in_scope, on_span_of, respan};

/// The code for a field type without faults.
pub(super) fn key_field(field_type: &FieldType<'_>, shape: &Shape<'_>) -> TokenStream {
    let Runtime { private, import } = Runtime::new(field_type.krate.as_ref(), &field_type.input.ident);
    // With the type's own span, a deprecated type is not reported in our impl.
    let ident = &field_type.input.ident;
    let name = quote_spanned!(ident.span()=> #ident);
    let impls = match shape {
        Shape::Newtype(inner) => newtype(&name, inner, &private),
        Shape::Codes(codes) => enum_codes(ident, &name, codes, &private),
    };
    in_scope(import.as_ref(), &impls)
}

/// A newtype delegates to its inner type in every codec that the inner type has.
fn newtype(name: &TokenStream, inner: &Type, private: &TokenStream) -> TokenStream {
    // Reports an inner type without a format once, not at every use.
    let inner_has_a_format = on_span_of(
        inner,
        quote!(const _: #private::Width = <),
        &quote!(#inner),
        quote!(as #private::KeyField<#private::Text>>::WIDTH;),
    );
    let codec = quote!(__KeyderiveCodec);
    let inner_as = quote!(<#inner as #private::KeyField<#codec>>);
    let arg = quote!(<Self as #private::KeyField<#codec>>::Arg);
    let stored = quote!(#inner: for<'__keyderive> #private::KeyField<#codec, Decoded<'__keyderive> = #inner>);
    quote! {
        #inner_has_a_format

        #[automatically_derived]
        impl<#codec> #private::KeyField<#codec> for #name
        where
            #stored,
        {
            type Arg<'__keyderive> = #inner_as::Arg<'__keyderive>;
            type Decoded<'__keyderive> = Self;
            const FORMAT: #private::Format = #inner_as::FORMAT;
            const WIDTH: #private::Width = #inner_as::WIDTH;
            const ORDER: #private::FieldOrder = #inner_as::ORDER;
            const VALUES: #private::FieldValues = #inner_as::VALUES;

            #[inline]
            fn arg(&self) -> #arg<'_> {
                #inner_as::arg(&self.0)
            }

            #[inline]
            fn write(
                __value: #arg<'_>,
                __out: &mut #private::Vec<#private::core::primitive::u8>,
            ) -> #private::core::result::Result<(), #private::FieldError> {
                #inner_as::write(__value, __out)
            }

            #[inline]
            fn written_len(__value: #arg<'_>) -> #private::core::primitive::usize {
                #inner_as::written_len(__value)
            }

            #[inline]
            fn append(
                __value: #arg<'_>,
                __delimiter: #private::core::primitive::u8,
                __out: &mut #private::KeyBuf<'_>,
            ) -> #private::core::result::Result<#private::core::primitive::bool, #private::FieldError> {
                #inner_as::append(__value, __delimiter, __out)
            }

            #[inline]
            fn read(
                __bytes: #private::Cow<'_, [#private::core::primitive::u8]>,
            ) -> #private::core::result::Result<Self, #private::FieldError> {
                #private::core::result::Result::map(#inner_as::read(__bytes), Self)
            }

            #[inline]
            fn read_borrowed<'__keyderive>(
                __bytes: &'__keyderive [#private::core::primitive::u8],
                __text: #private::core::option::Option<&'__keyderive #private::core::primitive::str>,
            ) -> #private::core::result::Result<Self, #private::FieldError> {
                #private::core::result::Result::map(#inner_as::read_borrowed(__bytes, __text), Self)
            }
        }

        #[automatically_derived]
        impl<#codec> #private::RangeField<#codec> for #name
        where
            #stored,
            #inner: #private::RangeField<#codec>,
        {
            fn cut(__bound: #arg<'_>, __side: #private::Side) -> #private::Cut {
                <#inner as #private::RangeField<#codec>>::cut(__bound, __side)
            }
        }

        #[automatically_derived]
        impl<#codec> #private::PrefixField<#codec> for #name
        where
            #stored,
            #inner: #private::PrefixField<#codec>,
        {
            fn prefix_cuts(__prefix: #arg<'_>) -> (#private::Cut, #private::Cut) {
                <#inner as #private::PrefixField<#codec>>::prefix_cuts(__prefix)
            }
        }
    }
}

/// An enum is stored as its codes, in both layouts.
fn enum_codes(
    ident: &Ident,
    name: &TokenStream,
    codes: &[(u64, &Ident)],
    private: &TokenStream,
) -> TokenStream {
    let type_name = unraw(ident);
    let variants = codes.iter().map(|(code, variant)| {
        let variant_name = unraw(variant);
        quote!((#code, #variant_name, #name::#variant))
    });
    let named = codes.iter().map(|(code, variant)| {
        let variant_name = unraw(variant);
        quote!((#code, #variant_name))
    });
    let arms = codes.iter().map(|(code, variant)| quote!(#name::#variant => #code));
    let codecs = [quote!(#private::Text), quote!(#private::Ordered)];
    let fields = codecs.iter().map(|codec| codes_in(codec, ident, name, private));
    quote! {
        #[automatically_derived]
        impl #private::Code for #name {
            const NAME: &'static #private::core::primitive::str = #type_name;
            const VARIANTS: &'static [(#private::core::primitive::u64, &'static #private::core::primitive::str, Self)] = &[#(#variants),*];
            const CODES: &'static [(#private::core::primitive::u64, &'static #private::core::primitive::str)] = &[#(#named),*];

            #[inline]
            fn code(&self) -> #private::core::primitive::u64 {
                match self {
                    #(#arms),*
                }
            }
        }

        #(#fields)*
    }
}

/// The codes in one codec. One impl for every codec that takes codes would be shorter, but for other codecs the
/// compiler's error would be about that bound.
fn codes_in(codec: &TokenStream, ident: &Ident, name: &TokenStream, private: &TokenStream) -> TokenStream {
    let is_value = is_value(ident, private);
    quote! {
        #[automatically_derived]
        impl #private::KeyField<#codec> for #name
        where
            #is_value,
        {
            type Arg<'__keyderive> = Self;
            type Decoded<'__keyderive> = Self;
            const FORMAT: #private::Format = <#codec as #private::CodeCodec<#name>>::FORMAT;
            const WIDTH: #private::Width = <#codec as #private::CodeCodec<#name>>::WIDTH;
            const VALUES: #private::FieldValues = #private::FieldValues::Codes(<Self as #private::Code>::CODES);

            #[inline]
            fn arg(&self) -> Self {
                *self
            }

            #[inline]
            fn write(
                __value: Self,
                __out: &mut #private::Vec<#private::core::primitive::u8>,
            ) -> #private::core::result::Result<(), #private::FieldError> {
                <#codec as #private::CodeCodec<#name>>::write(__value, __out)
            }

            #[inline]
            fn read(
                __bytes: #private::Cow<'_, [#private::core::primitive::u8]>,
            ) -> #private::core::result::Result<Self, #private::FieldError> {
                <#codec as #private::CodeCodec<#name>>::read(__bytes)
            }
        }

        #[automatically_derived]
        impl #private::RangeField<#codec> for #name
        where
            #is_value,
        {
            fn cut(__bound: Self, __side: #private::Side) -> #private::Cut {
                <#codec as #private::CodeCodec<#name>>::cut(__bound, __side)
            }
        }
    }
}

/// The bound that variants are `Copy` and `Debug`. Its error is on the enum's name, and names the missing derive.
fn is_value(ident: &Ident, private: &TokenStream) -> TokenStream {
    respan(quote!(#ident: #private::core::marker::Copy + #private::core::fmt::Debug), ident.span())
}

/// Stub impls of a field type with faults, so that every use of it compiles.
pub(super) fn stub(field_type: &FieldType<'_>) -> TokenStream {
    let FieldType { input, krate, shape, inner } = field_type;
    let arg = match shape {
        // The faults are elsewhere, so the regular impls compile.
        Some(shape @ Shape::Newtype(_)) if input.generics.params.is_empty() => {
            return key_field(field_type, shape);
        }
        Some(Shape::Codes(_)) if input.generics.params.is_empty() => quote!(Self),
        // A rejected inner type is its own argument, so that calls with its values compile.
        _ => inner.map_or_else(|| quote!(()), |inner| quote!(#inner)),
    };
    // A stub for a type with parameters would need bounds that the user did not write.
    if input.generics.params.iter().any(|param| !matches!(param, GenericParam::Lifetime(_))) {
        return TokenStream::new();
    }
    let Runtime { private, import } = Runtime::new(krate.as_ref(), &input.ident);
    let name = &input.ident;
    let (_, type_generics, _) = input.generics.split_for_impl();
    let [lifetimes, in_range, in_prefix] = [(); 3].map(|()| input.generics.lifetimes());
    let is_value = matches!(shape, Some(Shape::Codes(_))).then(|| is_value(name, &private));
    quote! {
        #[doc(hidden)]
        #[allow(clippy::all, clippy::pedantic)]
        const _: () = {
            #import

            #[automatically_derived]
            impl<#(#lifetimes,)* __KeyderiveCodec> #private::KeyField<__KeyderiveCodec> for #name #type_generics
            where
                #is_value
            {
                type Arg<'__keyderive> = #arg;
                type Decoded<'__keyderive> = Self;
                const FORMAT: #private::Format = #private::Format::Decimal;
                const WIDTH: #private::Width = #private::Width::Fixed(0);

                fn arg(&self) -> #arg {
                    #private::core::unreachable!()
                }

                fn write(
                    _: #arg,
                    _: &mut #private::Vec<#private::core::primitive::u8>,
                ) -> #private::core::result::Result<(), #private::FieldError> {
                    #private::core::unreachable!()
                }

                fn read(
                    _: #private::Cow<'_, [#private::core::primitive::u8]>,
                ) -> #private::core::result::Result<Self, #private::FieldError> {
                    #private::core::unreachable!()
                }
            }

            #[automatically_derived]
            impl<#(#in_range,)* __KeyderiveCodec> #private::RangeField<__KeyderiveCodec>
                for #name #type_generics
            where
                #is_value
            {
                fn cut(_: #arg, _: #private::Side) -> #private::Cut {
                    #private::core::unreachable!()
                }
            }

            #[automatically_derived]
            impl<#(#in_prefix,)* __KeyderiveCodec> #private::PrefixField<__KeyderiveCodec>
                for #name #type_generics
            where
                #is_value
            {
                fn prefix_cuts(_: #arg) -> (#private::Cut, #private::Cut) {
                    #private::core::unreachable!()
                }
            }
        };
    }
}
