//! Generates the code of a row type: its constants and the impls, in one scope.

use std::collections::{BTreeMap, HashSet};

use keyderive_layout::row_rules::GcLayout;
use proc_macro2::{Ident, Literal, Span, TokenStream, TokenTree};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::{DeriveInput, GenericParam, Generics, Lifetime, Type, parse_quote};

use super::attr::RuleAttrs;
use super::check::docs;
use super::model::{FamilyType, Field, Row, Values};
use crate::attr::unraw;
use crate::tokens::{
    Runtime, first_span, grouped, on_span_of, respan, respan_but_locals, span_of, type_name,
};
use crate::types::{replace_lifetimes, self_type};

/// Above this many columns in a family, the name after the last one found is tried first: cells come in the order of their names.
const MAX_MATCHED: usize = 8;

/// How many fields one closure reads, in a row of more than twice this many.
const READ_TOGETHER: usize = 32;

/// The code for a row type without faults.
pub(super) fn row(row: &Row<'_>) -> TokenStream {
    let Runtime { private, import } = row.runtime();
    let code = Code { row, private: &private, generics: row.generics(&private) };
    let markers = code.markers();
    let constants = code.constants();
    let implementation = code.implementation();
    let assertion = code.assertion();
    quote! {
        #[doc(hidden)]
        #[allow(
            clippy::all,
            clippy::nursery,
            clippy::pedantic,
            clippy::restriction,
            dead_code,
            deprecated,
            non_camel_case_types,
            non_upper_case_globals,
            private_bounds,
            private_interfaces,
            unused_qualifications,
        )]
        const _: () = {
            #import

            #markers

            #constants

            #implementation

            #assertion
        };
    }
}

struct Code<'c, 'a> {
    row: &'c Row<'a>,
    private: &'c TokenStream,
    /// With the bounds of columns.
    generics: Generics,
}

impl Code<'_, '_> {
    /// The struct's name. With the struct's own span, a deprecated struct is not reported in our impl.
    fn name(&self) -> TokenStream {
        let ident = &self.row.input.ident;
        quote_spanned!(ident.span()=> #ident)
    }

    /// `before ty after` with the type of the field's values.
    fn on_value(
        &self,
        field: &Field<'_>,
        before: TokenStream,
        lifetime: &str,
        after: TokenStream,
    ) -> TokenStream {
        let ty = field.values().ty();
        on_span_of(ty, before, &replace_lifetimes(ty.to_token_stream(), &lifetime_of(lifetime)), after)
    }

    /// An item of the trait by which the field's values are stored, as a group: it keeps its spans in [`respan_but_locals`].
    fn stored(&self, field: &Field<'_>, lifetime: &str, item: &str) -> TokenStream {
        let (private, item) = (self.private, format_ident!("{item}"));
        let stored = match field.encoding(private) {
            None => self.on_value(field, quote!(<), lifetime, quote!(as #private::Cell>::#item)),
            Some(encoding) => {
                // The compiler blames the type before the `as`.
                let encoding = grouped(over_span(encoding, span_of(field.values().ty())));
                let before = quote!(<#encoding as #private::generated::Encoding<);
                self.on_value(field, before, lifetime, quote!(>>::#item))
            }
        };
        grouped(stored)
    }

    /// The type of the constant of a column, with an error about the type of its values on the whole of that.
    fn column(&self, field: &Field<'_>, row: &TokenStream) -> TokenStream {
        let (private, ty) = (self.private, self.column_type(field));
        on_span_of(field.values().ty(), quote!(#private::generated::Column<#row,), &ty, quote!(>))
    }

    /// The type of a field's column, or of the columns of a field that is a map.
    fn column_type(&self, field: &Field<'_>) -> TokenStream {
        let private = self.private;
        let generated = quote!(#private::generated);
        if field.is_faulty.get() {
            return quote!(#generated::Faulty);
        }
        if field.attrs.counter.get().is_some() {
            return quote!(#generated::Counter);
        }
        let cell = match field.encoding(private) {
            None => self.on_value(field, quote!(<), "'static", quote!(as #private::Cell>::Owned)),
            Some(encoding) => self.on_value(field, quote!(#generated::As<), "'static", quote!(, #encoding>)),
        };
        let optional = |ty: TokenStream| quote!(#private::core::option::Option<#ty>);
        let is_optional = field.attrs.default.get().is_some() || field.is_family();
        match field.values() {
            Values::One(_) if is_optional => optional(cell),
            Values::One(_) => cell,
            Values::Optional(_) => optional(cell),
            Values::Timestamped(_) if is_optional => optional(quote!(#generated::Timestamped<#cell>)),
            Values::Timestamped(_) => quote!(#generated::Timestamped<#cell>),
            Values::OptionalTimestamped(_) => optional(quote!(#generated::Timestamped<#cell>)),
            Values::Versions(_) => quote!(#generated::Versions<#cell>),
            Values::Aggregate(ty) => ty.to_token_stream(),
            Values::Aggregates(ty) => quote!(#generated::Versions<#ty>),
        }
    }

    /// How the values of a column are stored, and which of its cells are read.
    fn stored_and_kind(&self, field: &Field<'_>) -> (TokenStream, TokenStream) {
        let private = self.private;
        let generated = quote!(#private::generated);
        let kind = |name: &str| {
            let name = format_ident!("{name}");
            quote!(#generated::ColumnKind::#name)
        };
        let integer = quote!(<#private::core::primitive::i64 as #private::Cell>::TYPE);
        match field.values() {
            Values::Aggregate(ty) => (integer, quote!(<#ty as #generated::Aggregate>::KIND)),
            Values::Aggregates(ty) => (integer, quote!(<#ty as #generated::Aggregate>::KIND_IN_WINDOWS)),
            values => {
                let kind = match values {
                    _ if field.attrs.counter.get().is_some() => kind("Counter"),
                    Values::Versions(_) => kind("Versions"),
                    Values::Timestamped(_) | Values::OptionalTimestamped(_) => kind("Timestamped"),
                    _ => kind("Value"),
                };
                (self.stored(field, "'static", "TYPE"), kind)
            }
        }
    }

    /// The marker types: the names of families, and the encodings of fields stored `with` a module.
    fn markers(&self) -> TokenStream {
        let private = self.private;
        let families = self.row.fields.iter().filter(|field| field.is_family()).map(|field| {
            let (marker, name) = (family_marker(field), &field.name);
            quote! {
                pub enum #marker {}

                impl #private::generated::FamilyName for #marker {
                    const NAME: &'static #private::core::primitive::str = #name;
                }
            }
        });
        let encodings = self.row.fields.iter().filter_map(|field| self.with_encoding(field));
        quote!(#(#families)* #(#encodings)*)
    }

    /// The marker type that stands for the module of a field.
    fn with_encoding(&self, field: &Field<'_>) -> Option<TokenStream> {
        let private = self.private;
        if field.is_faulty.get() {
            return None;
        }
        let marker = field.with_marker()?;
        let with = field.attrs.with.get()?;
        let (written, module, ty) = (&with.written, &with.module, field.values().ty());
        // Errors of the module are on its path, errors of the type on the type.
        let span = first_span(&module.to_token_stream()).unwrap_or_else(proc_macro2::Span::call_site);
        let encode = respan_but_locals(quote!(#module::encode(__value, __out)), [span; 2]);
        let decode = respan_but_locals(quote!(#module::decode(__value)), [span; 2]);
        Some(quote! {
            pub enum #marker {}

            impl #private::generated::Encoding<#ty> for #marker {
                const TYPE: #private::CellType = #private::CellType::Custom(#written);

                #[inline]
                fn encode(
                    __value: &#ty,
                    __out: &mut #private::CellWriter<'_>,
                ) -> #private::core::result::Result<(), #private::CellError> {
                    #encode
                }

                #[inline]
                fn decode(
                    __value: &[#private::core::primitive::u8],
                ) -> #private::core::result::Result<#ty, #private::CellError> {
                    #decode
                }
            }
        })
    }

    /// The constants of the columns and families.
    fn constants(&self) -> TokenStream {
        let private = self.private;
        let fixed = self.row.type_at(&lifetime_of("'static"));
        let name = self.name();
        let (impl_generics, type_generics, where_clause) = self.generics.split_for_impl();
        // Two fields with one constant already have their error.
        let mut declared = HashSet::new();
        let fields = self.row.fields.iter().filter(|field| declared.insert(field.constant.to_string()));
        let constants: Vec<_> = fields
            .map(|field| {
                let (vis, constant, docs) = (&field.field.vis, &field.constant, docs(field.field));
                let (stored, written) = (&field.name, type_name(field.ty.to_token_stream()));
                let (text, ty, value) = match (field.family(), field.family_type()) {
                    (Some(family), _) => {
                        let aliases = self.aliases(field);
                        let value = quote!(#private::generated::Column::__new(#family, #stored, #aliases));
                        (
                            format!("The column `{family}:{stored}`, of `{written}`."),
                            self.column(field, &fixed),
                            on_span_of_value(field, value),
                        )
                    }
                    (None, family) => {
                        let text = format!("The family `{stored}`, of `{written}`.");
                        match family {
                            FamilyType::Struct(of) => {
                                let item = |item| self.of_struct(field, of, "'static", item);
                                (text, item("Const"), item("CONST"))
                            }
                            FamilyType::Map { key, .. } => {
                                let (key, column) = (grouped(key.to_token_stream()), self.column_type(field));
                                let before = quote!(#private::generated::MapFamily<#fixed, #key,);
                                let ty = on_span_of(field.values().ty(), before, &column, quote!(>));
                                let value = quote!(#private::generated::MapFamily::__new(#stored));
                                (text, ty, on_span_of_value(field, value))
                            }
                        }
                    }
                };
                // An error about the type of a constant is on the whole item.
                let [start, end] = span_of(field.values().ty());
                let (declare, end) = (respan(quote!(#vis const), start), respan(quote!(;), end));
                quote! {
                    #(#[doc = #docs])*
                    #[doc = ""]
                    #[doc = #text]
                    #declare #constant: #ty = #value #end
                }
            })
            .collect();
        quote!(#[automatically_derived] impl #impl_generics #name #type_generics #where_clause { #(#constants)* })
    }

    /// The former places of a column.
    fn aliases(&self, field: &Field<'_>) -> TokenStream {
        let private = self.private;
        let aliases = field.aliases().map(|alias| {
            let name = alias.name;
            let family = match alias.family {
                Some(family) => quote!(#private::core::option::Option::Some(#family)),
                None => quote!(#private::core::option::Option::None),
            };
            quote!(#private::generated::Alias { family: #family, name: #name })
        });
        quote!(&[#(#aliases),*])
    }

    /// The schema of a field that is a column.
    fn column_schema(&self, field: &Field<'_>) -> TokenStream {
        let private = self.private;
        let (name, aliases) = (&field.name, self.aliases(field));
        let (stored, kind) = self.stored_and_kind(field);
        let is_required = field.attrs.default.get().is_none()
            && field.attrs.counter.get().is_none()
            && matches!(field.values(), Values::One(_) | Values::Timestamped(_));
        let windows = window_micros(field).map(|micros| quote!(.__in_windows(#micros)));
        let default = field.attrs.default.get().map(|_| quote!(.__with_default()));
        quote! {
            #private::generated::ColumnSchema::__new(#name, #aliases, #stored, #kind, #is_required) #windows #default
        }
    }

    /// An item of a struct that is a family.
    fn of_struct(&self, field: &Field<'_>, of: &Type, lifetime: &str, item: &str) -> TokenStream {
        let (private, item) = (self.private, format_ident!("{item}"));
        let (marker, fixed) = (family_marker(field), self.row.type_at(&lifetime_of("'static")));
        let ty = replace_lifetimes(of.to_token_stream(), &lifetime_of(lifetime));
        let after = quote!(as #private::generated::FamilyConst<#fixed, #marker>>::#item);
        grouped(on_span_of(of, quote!(<), &ty, after))
    }

    /// The values of a column in its cells: what the field holds, or an `Option` of it if the field needs a value.
    fn read_values(
        &self,
        field: &Field<'_>,
        cells: &TokenStream,
        family: &TokenStream,
        name: &TokenStream,
    ) -> TokenStream {
        let private = self.private;
        let generated = quote!(#private::generated);
        let decode = || self.stored(field, "'_", "decode");
        let read = match field.values() {
            Values::One(_) | Values::Optional(_) => {
                let decode = decode();
                quote!(#generated::newest(#cells, #decode, #family, #name)?)
            }
            Values::Timestamped(_) | Values::OptionalTimestamped(_) => {
                let decode = decode();
                quote!(#generated::newest_timestamped(#cells, #decode, #family, #name)?)
            }
            Values::Versions(_) => {
                let decode = decode();
                quote!(#generated::versions(#cells, #decode, #family, #name)?)
            }
            Values::Aggregate(ty) => quote!(#generated::aggregate::<#ty>(#cells, #family, #name)?),
            Values::Aggregates(ty) => {
                let window = window_micros(field).unwrap_or_else(|| Literal::i64_unsuffixed(0));
                quote!(#generated::aggregates::<#ty>(#cells, #family, #name, #window)?)
            }
        };
        on_span_of_value(field, read)
    }

    /// Reads a field that is a column.
    fn read<'f>(&self, field: &'f Field<'_>, cells: &TokenStream, family: &TokenStream) -> Read<'f> {
        let private = self.private;
        let text = &field.name;
        let name = bytes(&field.name).into_token_stream();
        let read = self.read_values(field, cells, family, &name);
        let is_needed = matches!(field.values(), Values::One(_) | Values::Timestamped(_));
        let default = match (field.attrs.default.get(), field.attrs.counter.get()) {
            (Some(Some(path)), _) => Some((path.to_token_stream(), first_span(&path.to_token_stream()))),
            (Some(None), _) | (None, Some(())) => {
                let written =
                    field.attrs.default.tokens().or(field.attrs.counter.tokens()).and_then(first_span);
                Some((quote!(#private::core::default::Default::default), written))
            }
            (None, None) => None,
        };
        let value = match default {
            Some((default, span)) => {
                let span = span.unwrap_or_else(Span::call_site);
                let default = respan(default, span);
                respan(quote!(#private::core::option::Option::unwrap_or_else(#read, #default)), span)
            }
            None if is_needed => {
                on_span_of_value(field, quote!(#private::generated::required(#read, #family, #text)?))
            }
            None => read,
        };
        Read { field: field.ident, value }
    }

    /// The row of the values that are read.
    ///
    /// What has been read is dropped where a later column fails. In one function this takes the compiler time that grows
    /// with the square of the columns, so several closures read the columns of a large row.
    fn row_of(&self, reads: &[Read<'_>]) -> TokenStream {
        let private = self.private;
        let ident = &self.row.input.ident;
        let ok = quote!(#private::core::result::Result::Ok);
        if reads.len() <= 2 * READ_TOGETHER {
            let fields = reads.iter().map(|Read { field, value }| quote!(#field: #value,));
            return quote!(#ok(#ident { #(#fields)* }));
        }
        let (mut parts, mut fields) = (Vec::new(), Vec::new());
        for (part, reads) in reads.chunks(READ_TOGETHER).enumerate() {
            let part = format_ident!("__part{part}");
            let values = reads.iter().map(|read| &read.value);
            parts.push(quote! {
                let #part = (|| #private::core::result::Result::<_, #private::generated::RowError>::Ok((#(#values,)*)))()?;
            });
            for (at, Read { field, .. }) in reads.iter().enumerate() {
                let at = Literal::usize_unsuffixed(at);
                fields.push(quote!(#field: #part.#at,));
            }
        }
        quote!(#(#parts)* #ok(#ident { #(#fields)* }))
    }

    /// Writes the values of a column.
    fn write_values(&self, field: &Field<'_>, value: &TokenStream, column: &TokenStream) -> TokenStream {
        let private = self.private;
        let encode = || self.stored(field, "'_", "encode");
        let write = match field.values() {
            Values::One(_) => {
                let encode = encode();
                quote!(#private::generated::RowWriter::write_value(__out, #column, #value, #encode)?;)
            }
            Values::Optional(_) => {
                let encode = encode();
                quote!(#private::generated::RowWriter::write_option(__out, #column, #value, #encode)?;)
            }
            Values::Timestamped(_) => {
                let encode = encode();
                quote!(#private::generated::RowWriter::write_versions(__out, #column, #private::core::slice::from_ref(#value), #encode)?;)
            }
            Values::OptionalTimestamped(_) => {
                let encode = encode();
                quote!(#private::generated::RowWriter::write_versions(__out, #column, #private::core::option::Option::as_slice(#value), #encode)?;)
            }
            Values::Versions(_) => {
                let encode = encode();
                quote!(#private::generated::RowWriter::write_versions(__out, #column, #value, #encode)?;)
            }
            Values::Aggregate(_) => {
                quote!(#private::generated::RowWriter::add_aggregate(__out, #column, #value)?;)
            }
            Values::Aggregates(_) => {
                let window = window_micros(field).unwrap_or_else(|| Literal::i64_unsuffixed(0));
                quote!(#private::generated::RowWriter::add_aggregates(__out, #column, #value, #window)?;)
            }
        };
        on_span_of_value(field, write)
    }

    /// Writes a field that is a column.
    fn write(&self, field: &Field<'_>, family: &TokenStream) -> TokenStream {
        let private = self.private;
        let (ident, name) = (field.ident, bytes(&field.name));
        let column = quote!(#private::generated::Name { family: #family, qualifier: #name });
        let write = self.write_values(field, &quote!(&self.#ident), &column);
        let former = field.aliases().map(|alias| {
            let name = bytes(&alias.name);
            let family = alias.family.map_or_else(|| family.clone(), |family| quote!(#family));
            quote!(__out.delete_former(#family, #name, __before);)
        });
        match field.aliases().next() {
            None => write,
            Some(_) => {
                quote!({ let __before = #private::generated::RowWriter::cells(__out); #write #(#former)* })
            }
        }
    }

    /// The schema of a field that is a family, how it is read from its cells, and how it is written.
    fn family(&self, field: &Field<'_>, cells: &TokenStream) -> [TokenStream; 3] {
        let private = self.private;
        let generated = quote!(#private::generated);
        let (ident, name, is_optional) = (field.ident, &field.name, field.is_optional());
        match field.family_type() {
            FamilyType::Struct(of) => {
                let columns = self.of_struct(field, of, "'static", "OF_COLUMNS");
                let schema = quote! {
                    #generated::FieldSchema::Struct {
                        family: #name, columns: #columns, is_optional: #is_optional,
                    }
                };
                let item = |item: &str| self.of_struct(field, of, "'_", item);
                let (read, write) = (item("read_field"), item("write_field"));
                if !is_optional {
                    return [
                        schema,
                        quote!(#read(#cells, #name)?),
                        quote!(#write(&self.#ident, #name, __out)?;),
                    ];
                }
                let (owns, delete) = (item("owns_column"), item("delete_field"));
                [
                    schema,
                    quote!(#generated::optional_family(#cells, #owns, #read, #name)?),
                    quote!(#generated::RowWriter::write_optional_family(__out, #name, &self.#ident, #write, #delete)?;),
                ]
            }
            FamilyType::Map { map, key, .. } => {
                let (stored, kind) = self.stored_and_kind(field);
                let fixed = replace_lifetimes(key.to_token_stream(), &lifetime_of("'static"));
                let key_type = on_span_of(key, quote!(<), &fixed, quote!(as #private::Qualifier>::KEY));
                let key_type = grouped(key_type);
                let schema = quote! {
                    #generated::FieldSchema::Map {
                        family: #name, key: #key_type, stored: #stored, kind: #kind, is_optional: #is_optional,
                    }
                };
                let value = self.read_values(field, &quote!(__column), &quote!(__family), &quote!(__name));
                let value = match field.values() {
                    Values::One(_) | Values::Timestamped(_) => value,
                    _ => quote!(#private::core::option::Option::Some(#value)),
                };
                let ty = replace_lifetimes(map.to_token_stream(), &lifetime_of("'_"));
                let on_key = |call: TokenStream| grouped(respan_but_locals(call, span_of(key)));
                let key = replace_lifetimes(key.to_token_stream(), &lifetime_of("'_"));
                // The constant reports a key that cannot name a column. Without it, the compiler would report the runtime's bounds too.
                let read_map = grouped(quote!(#generated::map::<#key, _, #ty>));
                let read = quote! {{
                    let _ = #key_type;
                    #read_map(__cells, __family, |__column, __family, __name| {
                        #private::core::result::Result::Ok(#value)
                    })
                }};
                let read = match is_optional {
                    false => quote!({ let (__cells, __family) = (#cells, #name); #read? }),
                    true => quote! {
                        #generated::optional_family(#cells, #generated::owns_all, |__cells, __family| #read, #name)?
                    },
                };
                let write = grouped(self.write_values(field, &quote!(__value), &quote!(__column)));
                if let Values::Aggregate(_) | Values::Aggregates(_) = field.values() {
                    let map = match is_optional {
                        false => quote!(&self.#ident),
                        true => quote!(#private::core::iter::Iterator::flatten(
                            #private::core::iter::IntoIterator::into_iter(&self.#ident)
                        )),
                    };
                    let write = on_key(quote! {{
                        let _ = #key_type;
                        #generated::RowWriter::add_map(__out, #name, #map, |__out, __column, __value| {
                            #write
                            #private::core::result::Result::Ok(())
                        })?;
                    }});
                    return [schema, read, write];
                }
                let write = on_key(quote! {{
                    let _ = #key_type;
                    #generated::RowWriter::write_map(__out, __family, __map, |__out, __column, __value| {
                        #write
                        #private::core::result::Result::Ok(())
                    })
                }});
                let write = match is_optional {
                    false => quote!({ let (__family, __map) = (#name, &self.#ident); #write?; }),
                    true => quote! {
                        #generated::RowWriter::write_optional_family(
                            __out,
                            #name,
                            &self.#ident,
                            |__map, __family, __out| #write,
                            |__family, __out| #generated::RowWriter::delete_family(__out, __family),
                        )?;
                    },
                };
                [schema, read, write]
            }
        }
    }

    /// The loop that notes where the cells of each column are. `qualifiers` is the iterator, and each column comes with its slot.
    fn notes(&self, qualifiers: &TokenStream, columns: &[(&str, usize)]) -> TokenStream {
        let private = self.private;
        if columns.len() <= MAX_MATCHED {
            let arms = columns.iter().map(|(name, slot)| {
                let name = bytes(name);
                quote!(#name => #private::generated::Slot::take(&mut __slots[#slot], __at),)
            });
            return quote! {
                for (__at, __name) in #qualifiers {
                    match __name {
                        #(#arms)*
                        _ => {}
                    }
                }
            };
        }
        let mut sorted = columns.to_vec();
        sorted.sort_unstable();
        let names: Vec<_> = sorted.iter().map(|(name, _)| bytes(name)).collect();
        let slots = sorted.iter().map(|(_, slot)| slot);
        let (count, places) = (names.len(), 0..names.len());
        let usize = quote!(#private::core::primitive::usize);
        quote! {
            const __NAMES: [&[#private::core::primitive::u8]; #count] = [#(#names),*];
            const __SLOTS: [#usize; #count] = [#(#slots),*];
            let mut __next: #usize = 0;
            for (__at, __name) in #qualifiers {
                let __place = if __next < #count && #private::generated::is_same_name(__NAMES[__next], __name) {
                    __next
                } else {
                    match __name {
                        #(#names => #places,)*
                        _ => continue,
                    }
                };
                #private::generated::Slot::take(&mut __slots[__SLOTS[__place]], __at);
                __next = __place + 1;
            }
        }
    }

    fn implementation(&self) -> TokenStream {
        match self.row.only_family() {
            Some(family) => {
                let of_struct = self.family_struct();
                let row = self.row_of_one_family(family);
                quote!(#of_struct #row)
            }
            None => self.row_of_families(),
        }
    }

    /// The impl of `Row`.
    fn row_impl(&self, fields: &TokenStream, decode: &TokenStream, encode: &TokenStream) -> TokenStream {
        let private = self.private;
        let name = self.name();
        let text = unraw(&self.row.input.ident);
        let own = self.row.only_family().unwrap_or(&self.row.family);
        let decoded = self.row.type_at(&lifetime_of("'__keyderive"));
        let (impl_generics, type_generics, where_clause) = self.generics.split_for_impl();
        let rules = self.rules();
        let is_owned = self.row.input.generics.lifetimes().next().is_none();
        let owned = is_owned.then(|| {
            quote! {
                #[automatically_derived]
                impl #impl_generics #private::generated::OwnedRow for #name #type_generics #where_clause {}
            }
        });
        let before = self.deletes_of_exclusive_families();
        let has_values =
            |field: &Field<'_>| !matches!(field.values(), Values::Aggregate(_) | Values::Aggregates(_));
        let end = match self.row.fields.is_empty() || self.row.fields.iter().any(has_values) {
            true => quote!(__out.end_row(#own);),
            false => quote!(__out.end_row_of_aggregates(#own)?;),
        };
        quote! {
            #[automatically_derived]
            impl #impl_generics #private::generated::Row for #name #type_generics #where_clause {
                type Decoded<'__keyderive> = #decoded;
                const SCHEMA: &'static #private::generated::RowSchema =
                    &#private::generated::RowSchema::__new(#text, #own, &[#fields], &[#rules]);

                #[inline]
                fn decode<'__keyderive>(
                    __cells: #private::generated::RowCells<'__keyderive>,
                ) -> #private::core::result::Result<Self::Decoded<'__keyderive>, #private::generated::RowError> {
                    #decode
                }

                #[inline]
                fn encode(
                    &self,
                    __out: &mut #private::generated::RowWriter<'_>,
                ) -> #private::core::result::Result<(), #private::generated::RowError> {
                    #before
                    #encode
                    #end
                    #private::core::result::Result::Ok(())
                }
            }

            #owned
        }
    }

    /// A row whose columns are in one family is read and written as that family.
    fn row_of_one_family(&self, family: &str) -> TokenStream {
        let private = self.private;
        let as_family = quote!(<Self as #private::generated::FamilyField>);
        self.row_impl(
            &quote! {
                #private::generated::FieldSchema::Struct {
                    family: #family, columns: #as_family::COLUMNS, is_optional: false,
                }
            },
            &quote!(#as_family::read(__cells.of_family(#family), #family)),
            &quote!(#as_family::write(self, #family, __out)?;),
        )
    }

    /// The impls of a struct whose columns are in one family: it can be the family of another row, by any name.
    fn family_struct(&self) -> TokenStream {
        let private = self.private;
        let name = self.name();
        let decoded = self.row.type_at(&lifetime_of("'__keyderive"));
        let (impl_generics, type_generics, where_clause) = self.generics.split_for_impl();
        let fields = &self.row.fields;
        let schemas = fields.iter().map(|field| self.column_schema(field));

        let mut columns: Vec<(String, usize)> = Vec::new();
        let mut reads = Vec::new();
        for field in fields {
            let slot = columns.len();
            columns.push((field.name.clone(), slot));
            let mut found = quote!(__slots[#slot]);
            for alias in field.aliases() {
                let slot = columns.len();
                columns.push((alias.name, slot));
                found = quote!(#found.or(__slots[#slot]));
            }
            reads.push(self.read(field, &quote!(__cells.of(#found)), &quote!(__family)));
        }
        let (names, count): (Vec<_>, _) =
            (columns.iter().map(|(name, _)| bytes(name)).collect(), columns.len());
        let columns: Vec<_> = columns.iter().map(|(name, slot)| (&**name, *slot)).collect();
        let notes = self.notes(&quote!(__cells.qualifiers()), &columns);
        let writes = fields.iter().map(|field| self.write(field, &quote!(__family)));
        let constant = self.family_constant();
        let row = self.row_of(&reads);
        quote! {
            #[automatically_derived]
            impl #impl_generics #private::generated::FamilyField for #name #type_generics #where_clause {
                type Decoded<'__keyderive> = #decoded;
                const COLUMNS: &'static [#private::generated::ColumnSchema] = &[#(#schemas),*];

                #[inline]
                fn read<'__keyderive>(
                    __cells: #private::generated::CellSlice<'__keyderive>,
                    __family: &#private::core::primitive::str,
                ) -> #private::core::result::Result<Self::Decoded<'__keyderive>, #private::generated::RowError> {
                    let mut __slots: [#private::generated::Slot; #count] =
                        [<#private::generated::Slot as #private::core::default::Default>::default(); #count];
                    #notes
                    #row
                }

                #[inline]
                fn write(
                    &self,
                    __family: &#private::core::primitive::str,
                    __out: &mut #private::generated::RowWriter<'_>,
                ) -> #private::core::result::Result<(), #private::generated::RowError> {
                    #(#writes)*
                    #private::core::result::Result::Ok(())
                }

                fn owns(__name: &[#private::core::primitive::u8]) -> #private::core::primitive::bool {
                    #private::core::matches!(__name, b"" #(| #names)*)
                }
            }

            #constant
        }
    }

    /// The constant of a family of this struct: its columns, each under its field's name.
    fn family_constant(&self) -> TokenStream {
        let private = self.private;
        let name = self.name();
        let fixed = self.row.type_at(&lifetime_of("'static"));
        let (_, type_generics, where_clause) = self.generics.split_for_impl();
        // The columns have no lifetimes: they are named by owned types.
        let params: Vec<_> =
            self.generics.params.iter().filter(|param| !matches!(param, GenericParam::Lifetime(_))).collect();
        let idents: Vec<_> = params
            .iter()
            .map(|param| match param {
                GenericParam::Type(param) => param.ident.to_token_stream(),
                GenericParam::Const(param) => param.ident.to_token_stream(),
                GenericParam::Lifetime(_) => TokenStream::new(),
            })
            .collect();
        let mut generics = self.generics.clone();
        generics.params.push(parse_quote!(__Row));
        generics.params.push(parse_quote!(__Name: #private::generated::FamilyName));
        let (impl_generics, _, _) = generics.split_for_impl();
        let fields = || self.row.fields.iter().filter(|field| !field.is_family());
        let columns = fields().map(|field| {
            let (vis, ident, ty) = (&field.field.vis, field.ident, self.column(field, &quote!(__Row)));
            quote!(#vis #ident: #ty,)
        });
        let values = fields().map(|field| {
            let (ident, stored, aliases) = (field.ident, &field.name, self.aliases(field));
            let value = quote! {
                #private::generated::Column::__new(
                    <__Name as #private::generated::FamilyName>::NAME, #stored, #aliases,
                )
            };
            on_span_of_value(field, quote!(#ident: #value,))
        });
        quote! {
            pub struct __Columns<__Row, #(#params),*> #where_clause {
                #(#columns)*
            }

            #[automatically_derived]
            impl #impl_generics #private::generated::FamilyConst<__Row, __Name>
                for #name #type_generics #where_clause
            {
                type Const = #private::generated::Family<__Row, #fixed, __Columns<__Row, #(#idents),*>>;
                const CONST: Self::Const = #private::generated::Family::__new(
                    <__Name as #private::generated::FamilyName>::NAME,
                    __Columns { #(#values)* },
                );
            }
        }
    }

    /// A row with several families.
    fn row_of_families(&self) -> TokenStream {
        let private = self.private;
        let (mut schemas, mut reads, mut writes) = (Vec::new(), Vec::new(), Vec::new());
        let mut families: BTreeMap<String, FamilyNotes> = BTreeMap::new();
        let mut slots = 0_usize;
        let mut slot = || {
            slots += 1;
            slots - 1
        };
        for field in &self.row.fields {
            let own = slot();
            let mut found = quote!(__slots[#own]);
            let Some(family) = field.family() else {
                families.entry(field.name.clone()).or_default().whole.push(own);
                let [schema, read, write] = self.family(field, &quote!(__all.of(#found)));
                schemas.push(schema);
                reads.push(Read { field: field.ident, value: on_span_of_value(field, read) });
                writes.push(on_span_of_value(field, write));
                continue;
            };
            families.entry(family.to_owned()).or_default().columns.push((field.name.clone(), own));
            for alias in field.aliases() {
                let slot = slot();
                found = quote!(#found.or(__slots[#slot]));
                let family = alias.family.unwrap_or_else(|| family.to_owned());
                families.entry(family).or_default().columns.push((alias.name, slot));
            }
            let schema = self.column_schema(field);
            schemas.push(
                quote!(#private::generated::FieldSchema::Column { family: #family, column: &[#schema] }),
            );
            reads.push(self.read(field, &quote!(__all.of(#found)), &quote!(#family)));
            writes.push(self.write(field, &quote!(#family)));
        }
        let arms = families.iter().map(|(family, notes)| {
            let family = bytes(family);
            let whole = &notes.whole;
            let columns: Vec<_> = notes.columns.iter().map(|(name, slot)| (&**name, *slot)).collect();
            let columns = (!columns.is_empty()).then(|| self.notes(&quote!(__run.qualifiers()), &columns));
            quote!(#family => { #(__slots[#whole] = __run.slot();)* #columns })
        });
        let row = self.row_of(&reads);
        let decode = quote! {
            let __all = __cells.all();
            let mut __slots: [#private::generated::Slot; #slots] =
                [<#private::generated::Slot as #private::core::default::Default>::default(); #slots];
            for __run in __cells.runs() {
                match __run.family() {
                    #(#arms)*
                    _ => {}
                }
            }
            #row
        };
        self.row_impl(&quote!(#(#schemas),*), &decode, &quote!(#(#writes)*))
    }

    /// The rules of the families.
    fn rules(&self) -> TokenStream {
        let rules = self.ruled_families().map(|(family, rule)| self.rule(family, rule));
        quote!(#(#rules),*)
    }

    fn ruled_families(&self) -> impl Iterator<Item = (&str, &RuleAttrs)> {
        let own = (&*self.row.family, &self.row.attrs.rule);
        let of_fields =
            self.row.fields.iter().map(|field| (field.family().unwrap_or(&field.name), &field.attrs.rule));
        [own].into_iter().chain(of_fields).filter(|(_, rule)| rule.tokens().is_some())
    }

    fn rule(&self, family: &str, rule: &RuleAttrs) -> TokenStream {
        let private = self.private;
        let generated = quote!(#private::generated);
        let optional = |value: Option<TokenStream>| match value {
            Some(value) => quote!(#private::core::option::Option::Some(#value)),
            None => quote!(#private::core::option::Option::None),
        };
        let secs = |secs: u64| quote!(#private::core::time::Duration::from_secs(#secs));
        let gc = rule.gc.get().map(|gc| match gc {
            GcLayout::Never => quote!(#generated::DeclaredGc::Never),
            GcLayout::Any { max_age_secs, max_versions } => {
                let max_age = optional(max_age_secs.map(secs));
                let max_versions = optional(max_versions.map(|versions| quote!(#versions)));
                quote!(#generated::DeclaredGc::Any { max_age: #max_age, max_versions: #max_versions })
            }
            GcLayout::All { max_age_secs, max_versions } => {
                let max_age = secs(*max_age_secs);
                quote!(#generated::DeclaredGc::All { max_age: #max_age, max_versions: #max_versions })
            }
        });
        let (gc, ttl) = (optional(gc), optional(rule.ttl.get().map(|ttl| secs(ttl.as_secs()))));
        let is_exclusive = rule.exclusive.get().is_some();
        quote!(#generated::FamilyRule { family: #family, gc: #gc, ttl: #ttl, is_exclusive: #is_exclusive })
    }

    /// An exclusive family is deleted before its columns are set.
    fn deletes_of_exclusive_families(&self) -> TokenStream {
        let exclusive = self.ruled_families().filter(|(_, rule)| rule.exclusive.get().is_some());
        let families = exclusive.map(|(family, _)| family);
        quote!(#(__out.delete_family(#families);)*)
    }

    /// The check of the pinned fingerprint, with its error on it.
    fn assertion(&self) -> Option<TokenStream> {
        let private = self.private;
        let fingerprint = &self.row.attrs.fingerprint;
        let (pinned, span) = (fingerprint.get()?, first_span(fingerprint.tokens()?)?);
        let fixed = self.row.type_at(&lifetime_of("'static"));
        let schema = quote!(<#fixed as #private::generated::Row>::SCHEMA);
        let call = respan(quote!(#private::generated::RowSchema::assert_fingerprint(#schema, #pinned)), span);
        Some(quote!(const _: () = #call;))
    }
}

/// How a field is read.
struct Read<'f> {
    field: &'f Ident,
    value: TokenStream,
}

/// What of a family is noted: all its cells for some fields, and the cells of columns.
#[derive(Default)]
struct FamilyNotes {
    whole: Vec<usize>,
    columns: Vec<(String, usize)>,
}

/// The marker type that names the family of a field.
fn family_marker(field: &Field<'_>) -> Ident {
    format_ident!("Family_{}", unraw(field.ident))
}

/// The tokens with their spans on the type of the field's values, so that a fault of the type is reported only there.
fn on_span_of_value(field: &Field<'_>, tokens: TokenStream) -> TokenStream {
    respan_but_locals(tokens, span_of(field.values().ty()))
}

/// A path of several tokens whose span goes from `start` to `end`.
fn over_span(path: TokenStream, [start, end]: [Span; 2]) -> TokenStream {
    let mut tokens: Vec<TokenTree> = respan(path, start).into_iter().collect();
    if let Some(last) = tokens.last_mut() {
        last.set_span(end);
    }
    tokens.into_iter().collect()
}

/// The width of the windows of an aggregate.
fn window_micros(field: &Field<'_>) -> Option<Literal> {
    let window = field.attrs.window.get()?;
    Some(Literal::i64_unsuffixed(i64::try_from(window.as_micros()).unwrap_or(i64::MAX)))
}

fn bytes(name: &str) -> Literal {
    Literal::byte_string(name.as_bytes())
}

fn lifetime_of(name: &str) -> Lifetime {
    Lifetime::new(name, proc_macro2::Span::call_site())
}

/// Stub impls of a type with faults, so that every use of it and of its constants compiles.
pub(super) fn stub(input: &DeriveInput, row: Option<&Row<'_>>) -> TokenStream {
    // A stub for a type with parameters would need bounds that the user did not write.
    if input.generics.params.iter().any(|param| !matches!(param, GenericParam::Lifetime(_))) {
        return TokenStream::new();
    }
    let Runtime { private, import } = row.map_or_else(|| Runtime::new(None, &input.ident), Row::runtime);
    let name = &input.ident;
    let (impl_generics, type_generics, where_clause) = input.generics.split_for_impl();
    let decoded = self_type(input, &lifetime_of("'__keyderive"));
    let unreachable = quote!(#private::core::unreachable!());
    let is_owned = input.generics.lifetimes().next().is_none();
    let owned =
        is_owned.then(|| quote!(#[automatically_derived] impl #private::generated::OwnedRow for #name {}));
    let columns = row.map(|row| {
        let code = Code { row, private: &private, generics: row.generics(&private) };
        code.stub_of_columns()
    });
    quote! {
        #[doc(hidden)]
        #[allow(
            dead_code,
            clippy::all,
            clippy::pedantic,
            deprecated,
            non_camel_case_types,
            non_upper_case_globals,
            private_bounds,
            private_interfaces,
        )]
        const _: () = {
            #import

            #[automatically_derived]
            impl #impl_generics #private::generated::Row for #name #type_generics #where_clause {
                type Decoded<'__keyderive> = #decoded;
                const SCHEMA: &'static #private::generated::RowSchema =
                    &#private::generated::RowSchema::__new("", "cf", &[], &[]);

                fn decode(
                    _: #private::generated::RowCells<'_>,
                ) -> #private::core::result::Result<Self::Decoded<'_>, #private::generated::RowError> {
                    #unreachable
                }

                fn encode(
                    &self,
                    _: &mut #private::generated::RowWriter<'_>,
                ) -> #private::core::result::Result<(), #private::generated::RowError> {
                    #unreachable
                }
            }

            #owned

            #columns
        };
    }
}

impl Code<'_, '_> {
    /// The constants of the columns and families, and the impls of a family.
    fn stub_of_columns(&self) -> TokenStream {
        let private = self.private;
        let generated = quote!(#private::generated);
        let decoded = self.row.type_at(&lifetime_of("'__keyderive"));
        let (impl_generics, type_generics, where_clause) = self.generics.split_for_impl();
        let (name, unreachable) = (self.name(), quote!(#private::core::unreachable!()));
        let (markers, constants) = (self.markers(), self.constants());
        // Without columns, the struct of a family would not name the row's type.
        let has_columns = self.row.fields.iter().any(|field| !field.is_family());
        let family = has_columns.then(|| {
            let constant = self.family_constant();
            quote! {
                #[automatically_derived]
                impl #impl_generics #generated::FamilyField for #name #type_generics #where_clause {
                    type Decoded<'__keyderive> = #decoded;
                    const COLUMNS: &'static [#generated::ColumnSchema] = &[];

                    fn read<'__keyderive>(
                        _: #generated::CellSlice<'__keyderive>,
                        _: &#private::core::primitive::str,
                    ) -> #private::core::result::Result<Self::Decoded<'__keyderive>, #generated::RowError> {
                        #unreachable
                    }

                    fn write(
                        &self,
                        _: &#private::core::primitive::str,
                        _: &mut #generated::RowWriter<'_>,
                    ) -> #private::core::result::Result<(), #generated::RowError> {
                        #unreachable
                    }

                    fn owns(_: &[#private::core::primitive::u8]) -> #private::core::primitive::bool {
                        #unreachable
                    }
                }

                #constant
            }
        });
        quote!(#markers #constants #family)
    }
}
