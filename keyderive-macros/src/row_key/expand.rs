//! Generates the code of a key type: one `const` with the impls, and the scan builder beside it.

mod rekeyed;
mod scan;

use keyderive_layout::key_rules::KeyEncoding;
use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::{DeriveInput, Lifetime};

use super::attr::SaltAttr;
use super::model::{Field, Key, scan_ident};
use crate::tokens::{Runtime, first_span, on_span_of, respan, respan_all, type_name};
use crate::types::self_type;

/// The code for a key type without faults.
pub(super) fn row_key(key: &Key<'_>) -> TokenStream {
    let Runtime { private, import } = key.runtime();
    let lifetime: Lifetime = syn::parse_quote!('__keyderive_key);
    let decoded = decoded(key, &lifetime, &private);
    let name = &key.input.ident;
    let (impl_generics, type_generics, where_clause) = key.input.generics.split_for_impl();
    let scan = key.scan_ident();

    let schema = schema(key, &private);
    let assertions = assertions(key, &private);
    let encode = encode_into(key, &private);
    let decode = decode(key, &private);
    let builder = scan::builder(key, &private);
    let stages = scan::stages(key, &private);
    let at_stages = scan::at_stages(key, &private);
    let shortest = match key.first_hashed() {
        Some(_) => quote!(#private::RawKey),
        None => self_type(key.input, &syn::parse_quote!('_)),
    };
    let methods = key.attrs.trait_methods.get().is_none().then(|| methods(key.input, &shortest, &private));
    let codecs = with_codecs(key, &private);
    let display = display(key, &private);

    let table_key = table_key(key, &private);
    let rekeyed = rekeyed::impls(key, &private);
    let rekeyed_items = rekeyed::items(key, &private);

    // With the struct's own span, a deprecated struct is not reported in our impl.
    let name = quote_spanned!(name.span()=> #name);
    let lints = lints();
    quote! {
        #import

        #methods

        #builder

        #stages

        #[doc(hidden)]
        #lints
        const _: () = {
            const __SCHEMA: &#private::KeySchema = &#schema;

            #assertions

            #[automatically_derived]
            impl #impl_generics #private::RowKey for #name #type_generics #where_clause {
                type Decoded<#lifetime> = #decoded;
                type Scan = #scan;
                const SCHEMA: &'static #private::KeySchema = __SCHEMA;
                #rekeyed_items

                #encode

                #decode

                #[inline]
                fn scan() -> #scan {
                    #scan { draft: #private::Draft::new(__SCHEMA), stage: #private::core::marker::PhantomData }
                }
            }

            #table_key

            #rekeyed

            #display

            #codecs

            #at_stages
        };
    }
}

/// The lints that generated code passes over.
fn lints() -> TokenStream {
    quote! {
        #[allow(
            clippy::all,
            clippy::nursery,
            clippy::pedantic,
            clippy::restriction,
            deprecated,
            non_camel_case_types,
            non_snake_case,
            private_bounds,
            private_interfaces,
            unused_qualifications,
        )]
    }
}

/// The methods of the trait as methods of the type, so that a caller need not import the trait.
///
/// They are outside of the `const` with the impls, where the compiler and rustdoc show them as the user's own. `decoded` is the
/// result of `decode`.
pub(super) fn methods(input: &DeriveInput, decoded: &TokenStream, private: &TokenStream) -> TokenStream {
    let (name, vis, scan) = (&input.ident, &input.vis, scan_ident(input));
    let (impl_generics, type_generics, where_clause) = input.generics.split_for_impl();
    let name = quote_spanned!(name.span()=> #name);
    let this = quote!(<Self as #private::RowKey>);
    let result = quote!(#private::core::result::Result);
    let bytes = quote!([#private::core::primitive::u8]);
    let str = quote!(#private::core::primitive::str);
    let lints = lints();
    quote! {
        #[automatically_derived]
        #lints
        #[allow(dead_code)]
        impl #impl_generics #name #type_generics #where_clause {
            /// The layout of the key.
            #vis const SCHEMA: &'static #private::KeySchema = #this::SCHEMA;

            /// Encodes the row key.
            ///
            /// # Errors
            /// When a field cannot hold its value, or the key is empty or over 4096 bytes.
            #[inline]
            #vis fn encode(&self) -> #result<#private::Vec<#private::core::primitive::u8>, #private::EncodeError> {
                #this::encode(self)
            }

            /// Appends the row key to a buffer, which is unchanged on an error.
            ///
            /// # Errors
            /// Those of `encode`.
            #[inline]
            #vis fn encode_into(
                &self,
                __out: &mut #private::Vec<#private::core::primitive::u8>,
            ) -> #result<(), #private::EncodeError> {
                #this::encode_into(self, __out)
            }

            /// Decodes a row key. Accepts exactly the bytes that `encode` writes; borrowed fields do not allocate.
            ///
            /// # Errors
            /// For every other key.
            #[inline]
            #vis fn decode(__key: &#bytes) -> #result<#decoded, #private::DecodeError> {
                #this::decode(__key)
            }

            /// The row key as text: the stored bytes.
            ///
            /// # Errors
            /// Those of `encode`, and when the stored bytes are not text, as in the ordered layout.
            #vis fn to_text(&self) -> #result<#private::String, #private::EncodeError> {
                #this::to_text(self)
            }

            /// Decodes a row key from its text, as `to_text` returns it.
            ///
            /// # Errors
            /// Those of `decode`.
            #vis fn from_text(__text: &#str) -> #result<#decoded, #private::DecodeError> {
                #this::from_text(__text)
            }

            /// A scan of the whole table; constrain it field by field, from the left.
            #[inline]
            #vis fn scan() -> #scan {
                #this::scan()
            }

            /// The salt bucket of the key; `None` if the key type has no salt.
            ///
            /// # Errors
            /// Those of `encode`.
            #vis fn salt_bucket(
                &self,
            ) -> #result<#private::core::option::Option<#private::core::primitive::i32>, #private::EncodeError> {
                #this::salt_bucket(self)
            }

            /// The hash of the key's layout.
            #[must_use]
            #vis fn fingerprint() -> #private::Fingerprint {
                #this::fingerprint()
            }

            /// The row key schema, which makes the key's parts columns in SQL.
            ///
            /// # Errors
            /// For a part that a row key schema cannot hold; the text names it.
            #vis fn row_key_schema() -> #result<#private::RowKeySchema, #private::SqlError> {
                #this::row_key_schema()
            }

            /// The SQL expressions that compute the typed fields and the salt.
            ///
            /// # Errors
            /// For a part that SQL cannot compute; the text names it.
            #vis fn sql() -> #result<#private::Sql, #private::SqlError> {
                #this::sql()
            }
        }
    }
}

fn encode_into(key: &Key<'_>, private: &TokenStream) -> TokenStream {
    let count = key.fields.len();
    let fields = key.fields.iter().enumerate().map(|(at, field)| {
        let (ident, ty) = (field.ident, field.type_at(&syn::parse_quote!('_)));
        let codec = field.codec.tokens(private);
        let width = key_field(field, "WIDTH", private);
        let write = on_type(
            field,
            match field.is_hashed() {
                true => quote!(#private::KeyWriter::hashed_field::<#codec,),
                false => quote!(#private::KeyWriter::field::<#codec,),
            },
            &ty,
            quote!(>(__key, #at, &self.#ident)?),
        );
        // The constant reports a type without a format; see `decode`.
        quote!(let _ = #width; #write;)
    });
    let lens = key.fields.iter().map(|field| {
        let (ident, ty) = (field.ident, field.type_at(&syn::parse_quote!('_)));
        let codec = field.codec.tokens(private);
        let width = key_field(field, "WIDTH", private);
        let len = on_type(field, quote!(#private::written_len::<#codec,), &ty, quote!(>(&self.#ident)));
        quote!({ let _ = #width; #len })
    });
    quote! {
        #[inline]
        fn encode_into(
            &self,
            __out: &mut #private::Vec<#private::core::primitive::u8>,
        ) -> #private::core::result::Result<(), #private::EncodeError> {
            #private::encode_fields::<Self, #count>(__out, [#(#lens),*], |__key| {
                #(#fields)*
                #private::core::result::Result::Ok(())
            })
        }
    }
}

/// The result of `decode`: the key, or its bytes if a field is hashed.
fn decoded(key: &Key<'_>, lifetime: &Lifetime, private: &TokenStream) -> TokenStream {
    match key.first_hashed() {
        Some(_) => quote!(#private::RawKey),
        None => key.type_at(lifetime),
    }
}

/// The impl that makes an owned key type a table's key.
fn table_key(key: &Key<'_>, private: &TokenStream) -> Option<TokenStream> {
    let name = &key.input.ident;
    if !key.input.generics.params.is_empty() {
        return None;
    }
    if key.first_hashed().is_none() {
        return Some(quote!(#[automatically_derived] impl #private::OwnedRowKey for #name {}));
    }
    Some(quote! {
        #[automatically_derived]
        impl #private::TableKey for #name {
            type Stored = #private::RawKey;
            type Codecs = ();

            #[inline]
            fn encode_stored(&self, __out: &mut #private::Vec<#private::core::primitive::u8>) -> #private::core::result::Result<(), #private::EncodeError> {
                <#name as #private::RowKey>::encode_into(self, __out)
            }

            fn codecs(_: &'static #private::KeySchema) {}

            fn stored((): &(), __bytes: &[#private::core::primitive::u8]) -> #private::core::result::Result<#private::RawKey, #private::DecodeError> {
                <#name as #private::RowKey>::decode(__bytes)
            }
        }
    })
}

fn decode(key: &Key<'_>, private: &TokenStream) -> TokenStream {
    let count = key.fields.len();
    let lifetime: Lifetime = syn::parse_quote!('__keyderive_key);
    let name = &key.input.ident;
    let local = |at: usize| quote::format_ident!("__field_{at}");
    let fields = key.fields.iter().enumerate().map(|(at, field)| {
        let ty = field.type_at(&syn::parse_quote!('_));
        let codec = field.codec.tokens(private);
        let width = key_field(field, "WIDTH", private);
        let read =
            on_type(field, quote!(#private::KeyReader::field::<#codec,), &ty, quote!(>(&mut __key, #at)?));
        // For a type without a format, the error is at this constant. Without it, the compiler would report the
        // runtime's bounds too.
        match (key.first_hashed(), field.is_hashed(), local(at)) {
            (None, _, local) => quote!(let #local = { let _ = #width; #read };),
            (Some(_), false, _) => quote!({ let _ = #width; #read };),
            (Some(_), true, _) => quote!(#private::KeyReader::hashed_field(&mut __key, #at)?;),
        }
    });
    let decoded = match key.first_hashed() {
        None => {
            let fields = key.fields.iter().enumerate().map(|(at, field)| (field.ident, local(at)));
            let fields = fields.map(|(ident, local)| quote!(#ident: #local));
            quote!(#name { #(#fields),* })
        }
        Some(_) => quote!(#private::RawKey::new(__bytes)),
    };
    quote! {
        #[inline]
        fn decode<#lifetime>(
            __bytes: &#lifetime [#private::core::primitive::u8],
        ) -> #private::core::result::Result<Self::Decoded<#lifetime>, #private::DecodeError> {
            let mut __key = #private::key_reader::<Self, #count>(__bytes);
            #private::KeyReader::head(&mut __key)?;
            #(#fields)*
            #private::KeyReader::finish(__key)?;
            #private::core::result::Result::Ok(#decoded)
        }
    }
}

pub(super) fn display(key: &Key<'_>, private: &TokenStream) -> Option<TokenStream> {
    key.attrs.display.get()?;
    let name = &key.input.ident;
    let (impl_generics, type_generics, where_clause) = key.input.generics.split_for_impl();
    // `FromStr` cannot return a key that borrows from its argument.
    let owned = key.input.generics.params.is_empty().then(|| {
        quote! {
            #[automatically_derived]
            impl #private::core::str::FromStr for #name {
                type Err = #private::DecodeError;

                fn from_str(__text: &#private::core::primitive::str) -> #private::core::result::Result<Self, #private::DecodeError> {
                    <Self as #private::RowKey>::from_text(__text)
                }
            }
        }
    });
    Some(quote! {
        #[automatically_derived]
        impl #impl_generics #private::core::fmt::Display for #name #type_generics #where_clause {
            fn fmt(&self, __f: &mut #private::core::fmt::Formatter<'_>) -> #private::core::fmt::Result {
                #private::display_key(self, __f)
            }
        }

        #owned
    })
}

/// The schema, in which the field types give their formats and widths.
fn schema(key: &Key<'_>, private: &TokenStream) -> TokenStream {
    let key_type = key.name();
    let delimiter = key.delimiter();
    let tag = match key.tag() {
        Some(tag) => quote!(#private::core::option::Option::Some(#tag)),
        None => quote!(#private::core::option::Option::None),
    };
    let salt = match key.first_salt() {
        Some(salt) => {
            let salt = salt_value(key, salt, private);
            quote!(#private::core::option::Option::Some(#salt))
        }
        None => quote!(#private::core::option::Option::None),
    };
    let fields = key.fields.iter().map(|field| {
        let name = field.schema_name();
        let rust_type = type_name(field.ty.to_token_stream());
        let format = key_field(field, "FORMAT", private);
        let width = key_field(field, "WIDTH", private);
        let [order, values] = ["ORDER", "VALUES"].map(|item| key_field(field, item, private));
        let written =
            quote!(#private::Field::new(#name, #rust_type, #format, #width, #order).with_values(#values));
        if field.is_hashed() {
            let layout = layout(key, private);
            return quote!(#private::Field::hashed(&const { #written }, #layout));
        }
        written
    });
    let layout = layout(key, private);
    let epochs = epochs(key, &layout, private);
    quote! {
        #private::KeySchema::new(#key_type, #delimiter, #tag, #salt, &[#(#fields),*]).with_layout(#layout) #epochs
    }
}

/// The salts from a date on.
fn epochs(key: &Key<'_>, layout: &TokenStream, private: &TokenStream) -> Option<TokenStream> {
    let at = key.epoch_field()?;
    let field = &key.fields[at];
    let epochs = key.epochs().map(|(salt, since)| {
        let (bound, salt) =
            (super::since::bound_tokens(since.bound, private), salt_value(key, salt, private));
        let [format, width, order] = ["FORMAT", "WIDTH", "ORDER"].map(|item| key_field(field, item, private));
        quote!(#private::Epoch::new(#bound, #layout, (#format, #width, #order), #salt))
    });
    Some(quote!(.with_epochs(#at, &[#(#epochs),*])))
}

fn layout(key: &Key<'_>, private: &TokenStream) -> TokenStream {
    match key.layout() {
        KeyEncoding::Delimited => quote!(#private::KeyEncoding::Delimited),
        KeyEncoding::OrderedCode => quote!(#private::KeyEncoding::OrderedCode),
    }
}

fn salt_value(key: &Key<'_>, salt: &SaltAttr, private: &TokenStream) -> TokenStream {
    let range = salt.range();
    let over = key.salted_fields(salt);
    let place = key.salt_place(salt).tokens(private);
    // `sep` may repeat the delimiter; the schema is the same as without it.
    let sep = salt.sep.get().filter(|sep| sep.as_bytes() != [key.delimiter()]);
    let sep = sep.map(|sep| quote!(.with_sep(#sep)));
    let hash = salt.java.get().map(|()| quote!(.with_hash(#private::SaltHash::Java)));
    quote!(#private::Salt::new(#range, &[#(#over),*]).with_place(#place) #sep #hash)
}

/// The rules about what only the field types know, such as widths. Each is an error on the token at fault.
fn assertions(key: &Key<'_>, private: &TokenStream) -> TokenStream {
    let fits = assertion(&quote!(assert_fits(__SCHEMA)), key.input.ident.span(), private);
    let delimiter = key.attrs.delimiter.tokens().and_then(first_span);
    let delimiter = delimiter.map(|span| assertion(&quote!(assert_delimiter(__SCHEMA)), span, private));
    let pinned = key.attrs.fingerprint.get().zip(key.attrs.fingerprint.tokens().and_then(first_span));
    let fingerprint =
        pinned.map(|(pinned, span)| assertion(&quote!(assert_fingerprint(__SCHEMA, #pinned)), span, private));
    let epochs = epoch_assertions(key, private);
    quote!(#fits #delimiter #epochs #fingerprint)
}

/// The rules about salts from a date on.
fn epoch_assertions(key: &Key<'_>, private: &TokenStream) -> TokenStream {
    let (Some(at), Some((_, since))) = (key.epoch_field(), key.epochs().next()) else {
        return TokenStream::new();
    };
    let span = |tokens: &TokenStream| first_span(tokens).unwrap_or_else(Span::call_site);
    let field = assertion(&quote!(assert_epoch_field(__SCHEMA)), span(&since.field.1), private);
    let after = (at + 1..key.fields.len()).map(|after| {
        let span = key.fields[after].ident.span();
        assertion(&quote!(assert_after_epoch_field(__SCHEMA, #after)), span, private)
    });
    let of_epochs = key.epochs().enumerate().map(|(later, (salt, since))| {
        let bound = assertion(&quote!(assert_bound(__SCHEMA, #later)), span(&since.written), private);
        let written = salt.sep.tokens().or(salt.range.tokens()).unwrap_or(&since.written);
        let apart = assertion(&quote!(assert_heads_apart(__SCHEMA, #later)), span(written), private);
        quote!(#bound #apart)
    });
    quote!(#field #(#after)* #(#of_epochs)*)
}

/// Runs a check of the schema at compile time, with its error at `span`.
fn assertion(check: &TokenStream, span: Span, private: &TokenStream) -> TokenStream {
    let call = respan(quote!(#private::KeySchema::#check), span);
    quote!(const _: () = #call;)
}

/// The codecs of the fields stored `with` a module.
fn with_codecs(key: &Key<'_>, private: &TokenStream) -> TokenStream {
    key.fields.iter().filter_map(|field| with_codec(field, private)).collect()
}

/// The marker type that stands for the module on this field, so that the field's type may be foreign.
fn with_codec(field: &Field<'_>, private: &TokenStream) -> Option<TokenStream> {
    let marker = field.codec.with_marker()?;
    let with = field.attrs.with.get()?;
    let (written, module, ty) = (&with.written, &with.module, field.ty);
    // Errors of the module are on its path, errors of the type on the type.
    let span = module.to_token_stream().into_iter().next().map_or_else(Span::call_site, |token| token.span());
    let width = respan(quote!(#module::WIDTH), span);
    let write = respan_all(quote!(|__value, __out| #module::write(__value, __out)), span);
    let read = respan_all(quote!(|__bytes| #module::read(__bytes)), span);
    let arg = on_type(field, quote!(&'__keyderive), &quote!(#ty), TokenStream::new());
    Some(quote! {
        pub enum #marker {}

        #[automatically_derived]
        impl #private::KeyField<#marker> for #ty {
            type Arg<'__keyderive> = #arg;
            type Decoded<'__keyderive> = #ty;
            const FORMAT: #private::Format = #private::Format::Custom(#written);
            const WIDTH: #private::Width = #width;

            #[inline]
            fn arg(&self) -> &#ty {
                self
            }

            #[inline]
            fn write(
                __value: &#ty,
                __out: &mut #private::Vec<#private::core::primitive::u8>,
            ) -> #private::core::result::Result<(), #private::FieldError> {
                #private::write_custom::<#marker, #ty>(__value, __out, #write)
            }

            #[inline]
            fn read(
                __bytes: #private::Cow<'_, [#private::core::primitive::u8]>,
            ) -> #private::core::result::Result<#ty, #private::FieldError> {
                #private::read_custom::<#marker, #ty>(&__bytes, #read)
            }
        }
    })
}

/// `<ty as KeyField<…>>::item`, on the field's type, with its lifetimes inferred.
fn key_field(field: &Field<'_>, item: &str, private: &TokenStream) -> TokenStream {
    let codec = field.codec.tokens(private);
    let item = Ident::new(item, Span::call_site());
    let ty = field.type_at(&syn::parse_quote!('_));
    on_type(field, quote!(<), &ty, quote!(as #private::KeyField<#codec>>::#item))
}

/// `before ty after`, with spans such that an error about it is on the whole of the field's type.
///
/// The compiler takes a span from the first token to the last one. All code that needs a format of the type is
/// generated this way, so that the errors are equal and the compiler shows one.
fn on_type(field: &Field<'_>, before: TokenStream, ty: &TokenStream, after: TokenStream) -> TokenStream {
    on_span_of(field.ty, before, ty, after)
}
