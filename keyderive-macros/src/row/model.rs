//! The model of a row type, built from its tokens.

use std::cell::Cell;

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, format_ident, quote};
use syn::{
    Data, DeriveInput, Fields, GenericArgument, GenericParam, Generics, Lifetime, LitStr, PathArguments, Type,
};

use super::attr::{FamilyAttr, FieldAttrs, StructAttrs};
use crate::attr::{Unit, unraw, warn_of_serde};
use crate::ctxt::Ctxt;
use crate::tokens::Runtime;
use crate::types::{replace_lifetimes, ungrouped};

/// The family of a row's own columns, unless an attribute names another.
pub(super) const DEFAULT_FAMILY: &str = "cf";

pub(super) struct Row<'a> {
    pub(super) input: &'a DeriveInput,
    pub(super) attrs: StructAttrs,
    /// The family of the columns that name none.
    pub(super) family: String,
    pub(super) fields: Vec<Field<'a>>,
}

pub(super) struct Field<'a> {
    pub(super) field: &'a syn::Field,
    pub(super) ident: &'a Ident,
    pub(super) ty: &'a Type,
    pub(super) attrs: FieldAttrs,
    /// The stored name of the column or family.
    pub(super) name: String,
    /// The name of its constant.
    pub(super) constant: Ident,
    pub(super) place: Place,
    /// Whether it has an error, so that its type or its attributes cannot be relied on.
    pub(super) is_faulty: Cell<bool>,
}

/// What a field is.
pub(super) enum Place {
    /// A column of this family.
    Column(String),
    /// A family of its own.
    Family,
}

/// A former place of a column.
pub(super) struct Alias<'a> {
    pub(super) written: &'a LitStr,
    /// None for the column's own family.
    pub(super) family: Option<String>,
    pub(super) name: String,
}

const EXAMPLE: &str = "write `struct Event { kind: String, views: i64 }`";

impl<'a> Row<'a> {
    /// Returns `None` for a type without named fields.
    pub(super) fn from_input(cx: &Ctxt, input: &'a DeriveInput) -> Option<Self> {
        let attrs = StructAttrs::read(cx, &input.attrs);
        let family = attrs.family.get().map_or_else(|| DEFAULT_FAMILY.to_owned(), LitStr::value);
        let named = match &input.data {
            Data::Struct(data) => match &data.fields {
                Fields::Named(fields) => Some(&fields.named),
                Fields::Unit => None,
                Fields::Unnamed(fields) => {
                    let message = format_args!(
                        "a row is a struct with named fields, whose names are its columns; {EXAMPLE}"
                    );
                    cx.error(fields, message);
                    return None;
                }
            },
            Data::Enum(data) => {
                cx.error(data.enum_token, format_args!("a row is a struct, not an enum; {EXAMPLE}"));
                return None;
            }
            Data::Union(data) => {
                cx.error(data.union_token, format_args!("a row is a struct, not a union; {EXAMPLE}"));
                return None;
            }
        };
        let fields = named.into_iter().flatten();
        let fields = fields.filter_map(|field| Field::from_field(cx, field, &family)).collect();
        Some(Self { input, attrs, family, fields })
    }

    pub(super) fn runtime(&self) -> Runtime {
        Runtime::new(self.attrs.krate.get(), &self.input.ident)
    }

    /// The only family, if all fields are columns of one, now and formerly: such a struct can be a family of another row.
    pub(super) fn only_family(&self) -> Option<&str> {
        let first = self.fields.first()?.family()?;
        let is_alone = self.fields.iter().all(|field| {
            field.family() == Some(first)
                && field.aliases().all(|alias| alias.family.is_none_or(|family| family == first))
        });
        is_alone.then_some(first)
    }

    /// The generics, with the bounds of a column on type parameters.
    pub(super) fn generics(&self, private: &TokenStream) -> Generics {
        let mut generics = self.input.generics.clone();
        for param in &mut generics.params {
            if let GenericParam::Type(param) = param {
                param.bounds.push(syn::parse_quote!(#private::OwnedCell));
                param.default = None;
            }
        }
        generics
    }

    /// The row type with all its lifetimes replaced by one.
    pub(super) fn type_at(&self, lifetime: &Lifetime) -> TokenStream {
        let ident = &self.input.ident;
        let (_, generics, _) = self.input.generics.split_for_impl();
        let generics = replace_lifetimes(generics.to_token_stream(), lifetime);
        quote!(#ident #generics)
    }
}

impl<'a> Field<'a> {
    fn from_field(cx: &Ctxt, field: &'a syn::Field, own_family: &str) -> Option<Self> {
        let ident = field.ident.as_ref()?;
        let errors = cx.error_count();
        let attrs = FieldAttrs::read(cx, &field.attrs);
        warn_of_serde(cx, field, &["row"]);
        let is_faulty = Cell::new(cx.error_count() > errors);
        let plain = unraw(ident);
        let name = attrs.name.get().map_or_else(|| plain.clone(), LitStr::value);
        let constant = match attrs.constant.get() {
            Some(constant) => constant.clone(),
            None => Ident::new(&plain.to_uppercase(), Span::call_site().located_at(ident.span())),
        };
        let place = match attrs.family.get() {
            None => Place::Column(own_family.to_owned()),
            Some(FamilyAttr::ColumnOf(family)) => Place::Column(family.value()),
            Some(FamilyAttr::IsFamily) => Place::Family,
        };
        Some(Self { field, ident, ty: &field.ty, attrs, name, constant, place, is_faulty })
    }

    /// The family of a column; none for a field that is a family.
    pub(super) fn family(&self) -> Option<&str> {
        match &self.place {
            Place::Column(family) => Some(family),
            Place::Family => None,
        }
    }

    pub(super) fn is_family(&self) -> bool {
        matches!(self.place, Place::Family)
    }

    /// The former places of a column, or the former names of a family.
    pub(super) fn aliases(&self) -> impl Iterator<Item = Alias<'_>> {
        self.attrs.aliases.iter().map(|written| {
            let text = written.value();
            match text.split_once(':') {
                Some((family, name)) if !self.is_family() => Alias {
                    written,
                    family: Some(family.to_owned()).filter(|family| Some(&**family) != self.family()),
                    name: name.to_owned(),
                },
                _ => Alias { written, family: None, name: text },
            }
        })
    }

    /// What the field's column holds; for a family that is a map, what the column of each entry holds.
    pub(super) fn values(&self) -> Values<'a> {
        match self.family_type() {
            FamilyType::Map { value, .. } if self.is_family() => Values::of(value),
            _ => Values::of(self.ty),
        }
    }

    /// What the field is if it is a family, without the `Option` around it.
    pub(super) fn family_type(&self) -> FamilyType<'a> {
        let inner = argument(self.ty, "Option").unwrap_or(self.ty);
        match map_arguments(inner) {
            Some((key, value)) => FamilyType::Map { map: inner, key, value },
            None => FamilyType::Struct(inner),
        }
    }

    pub(super) fn is_optional(&self) -> bool {
        argument(self.ty, "Option").is_some()
    }

    /// The encoding that an attribute gives the field's values; none for their type's own.
    pub(super) fn encoding(&self, private: &TokenStream) -> Option<TokenStream> {
        if self.attrs.json.get().is_some() {
            return Some(quote!(#private::generated::Json));
        }
        if self.attrs.proto.get().is_some() {
            return Some(quote!(#private::generated::Proto));
        }
        if let Some(unit) = self.attrs.ts.get() {
            let unit = match unit {
                Unit::Secs => quote!(#private::Secs),
                Unit::Millis => quote!(#private::Millis),
                Unit::Micros => quote!(#private::Micros),
                Unit::Nanos => quote!(#private::Nanos),
            };
            return Some(quote!(#private::Ts<#unit>));
        }
        self.with_marker().map(ToTokens::into_token_stream)
    }

    /// The marker type of a field stored `with` a module.
    pub(super) fn with_marker(&self) -> Option<Ident> {
        self.attrs.with.get().map(|_| format_ident!("With_{}", unraw(self.ident)))
    }
}

/// What a column holds, by the type of its field.
#[derive(Clone, Copy)]
pub(super) enum Values<'t> {
    One(&'t Type),
    Optional(&'t Type),
    Timestamped(&'t Type),
    OptionalTimestamped(&'t Type),
    Versions(&'t Type),
    /// An aggregate of all time.
    Aggregate(&'t Type),
    /// An aggregate for each window of time.
    Aggregates(&'t Type),
}

impl<'t> Values<'t> {
    fn of(ty: &'t Type) -> Self {
        if is_aggregate(ty) {
            Self::Aggregate(ty)
        } else if let Some(inner) = argument(ty, "Versions") {
            if is_aggregate(inner) { Self::Aggregates(inner) } else { Self::Versions(inner) }
        } else if let Some(inner) = argument(ty, "Timestamped") {
            Self::Timestamped(inner)
        } else if let Some(inner) = argument(ty, "Option") {
            argument(inner, "Timestamped").map_or(Self::Optional(inner), Self::OptionalTimestamped)
        } else {
            Self::One(ty)
        }
    }

    /// The type of one value.
    pub(super) fn ty(self) -> &'t Type {
        match self {
            Self::One(ty)
            | Self::Optional(ty)
            | Self::Timestamped(ty)
            | Self::OptionalTimestamped(ty)
            | Self::Versions(ty)
            | Self::Aggregate(ty)
            | Self::Aggregates(ty) => ty,
        }
    }
}

/// What a field that is a family is.
#[derive(Clone, Copy)]
pub(super) enum FamilyType<'t> {
    Struct(&'t Type),
    Map { map: &'t Type, key: &'t Type, value: &'t Type },
}

/// Whether a type is an aggregate, by its name.
pub(super) fn is_aggregate(ty: &Type) -> bool {
    aggregate_name(ty).is_some()
}

/// The name of an aggregate.
pub(super) fn aggregate_name(ty: &Type) -> Option<&'static str> {
    let Type::Path(path) = ungrouped(ty) else { return None };
    let last = path.path.segments.last().filter(|last| last.arguments.is_empty())?;
    ["Sum", "Min", "Max"].into_iter().find(|name| last.ident == name)
}

/// The `T` of `Name<T>`.
pub(super) fn argument<'t>(ty: &'t Type, name: &str) -> Option<&'t Type> {
    match &*arguments(ty, &[name])? {
        [inner] => Some(inner),
        _ => None,
    }
}

/// The types of the keys and values of a map.
fn map_arguments(ty: &Type) -> Option<(&Type, &Type)> {
    match &*arguments(ty, &["BTreeMap", "HashMap"])? {
        [key, value, ..] => Some((key, value)),
        _ => None,
    }
}

fn arguments<'t>(ty: &'t Type, names: &[&str]) -> Option<Vec<&'t Type>> {
    let Type::Path(path) = ungrouped(ty) else { return None };
    let last = path.path.segments.last().filter(|last| names.iter().any(|name| last.ident == name))?;
    let PathArguments::AngleBracketed(arguments) = &last.arguments else { return None };
    let types = arguments.args.iter().filter_map(|argument| match argument {
        GenericArgument::Type(ty) => Some(ty),
        _ => None,
    });
    Some(types.collect())
}
