//! What derives read off the types of fields.

use proc_macro2::{Group, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::{DeriveInput, GenericArgument, Lifetime, PathArguments, PathSegment, Type};

/// The struct's type with all its lifetimes replaced by one.
pub(crate) fn self_type(input: &DeriveInput, lifetime: &Lifetime) -> TokenStream {
    let ident = &input.ident;
    let lifetimes = input.generics.lifetimes().map(|_| lifetime);
    match input.generics.lifetimes().next() {
        Some(_) => quote!(#ident<#(#lifetimes),*>),
        None => quote!(#ident),
    }
}

/// Replaces every lifetime but `'static` in a type's tokens. Field types have no binders of their own.
pub(crate) fn replace_lifetimes(tokens: TokenStream, lifetime: &Lifetime) -> TokenStream {
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

/// The type itself, if a macro was given it, which puts it in a group.
pub(crate) fn ungrouped(mut ty: &Type) -> &Type {
    while let Type::Group(group) = ty {
        ty = &group.elem;
    }
    ty
}

/// Why a type cannot be a field: its keys would not be found again or not sort. The compiler rejects all other types
/// without a format, through `KeyField`.
pub(crate) fn fault_of_type(ty: &Type) -> Option<&'static str> {
    let last = last_segment(ty)?;
    Some(match last.ident.to_string().as_str() {
        "usize" => "the width of `usize` depends on the machine; write `u64` or `u32`",
        "isize" => "the width of `isize` depends on the machine; write `i64` or `i32`",
        "f32" | "f64" => {
            "floats have several forms of one value and none that sorts as text; \
             store an integer, such as the value in thousandths"
        }
        // Without a parameter, it is a type of the user's with the same name.
        "Option" if !last.arguments.is_none() => {
            "a row key has no place for a missing value; use a value that stands for it, or a second key type"
        }
        _ => return None,
    })
}

/// The `'static` of a borrowed type.
pub(crate) fn static_borrow(ty: &Type) -> Option<&Lifetime> {
    let lifetime = match ungrouped(ty) {
        Type::Reference(reference) => reference.lifetime.as_ref(),
        Type::Path(path) => {
            path.path.segments.last().filter(|last| last.ident == "Cow").and_then(lifetime_of)
        }
        _ => None,
    };
    lifetime.filter(|lifetime| lifetime.ident == "static")
}

fn lifetime_of(segment: &PathSegment) -> Option<&Lifetime> {
    let PathArguments::AngleBracketed(arguments) = &segment.arguments else {
        return None;
    };
    arguments.args.iter().find_map(|argument| match argument {
        GenericArgument::Lifetime(lifetime) => Some(lifetime),
        _ => None,
    })
}

/// The last segment of a path: a derive knows no more of a type.
pub(crate) fn last_segment(ty: &Type) -> Option<&PathSegment> {
    match ungrouped(ty) {
        Type::Path(path) => path.path.segments.last(),
        _ => None,
    }
}
