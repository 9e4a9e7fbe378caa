//! The printed code does not depend on the names in scope: every path begins at the runtime's private module,
//! or at a name that the printed code itself declares.

use std::collections::BTreeSet;

use proc_macro2::TokenStream;
use syn::punctuated::Punctuated;
use syn::visit::{self, Visit};
use syn::visit_mut::{self, VisitMut};
use syn::{Attribute, DeriveInput, Ident, Path, Token};

use super::{KEYS, parse};
use crate::key_field::key_field;
use crate::row_key::row_key;

/// Prefixes every path that the user wrote, to tell it from the paths that the derive prints.
const USER: &str = "user";

/// Puts [`USER`] before the paths of the field types.
struct MarkTypes;

impl VisitMut for MarkTypes {
    fn visit_attribute_mut(&mut self, _: &mut Attribute) {}

    fn visit_path_mut(&mut self, path: &mut Path) {
        visit_mut::visit_path_mut(self, path);
        let user = Ident::new(USER, proc_macro2::Span::call_site());
        path.segments.insert(0, user.into());
    }
}

/// The names that the printed code declares for itself.
struct Declared(BTreeSet<String>);

macro_rules! declares {
    ($($visit:ident of $node:ident by $name:ident)*) => {$(
        fn $visit(&mut self, node: &'ast syn::$node) {
            self.0.insert(node.$name.to_string());
            visit::$visit(self, node);
        }
    )*};
}

impl<'ast> Visit<'ast> for Declared {
    declares! {
        visit_item_struct of ItemStruct by ident
        visit_item_enum of ItemEnum by ident
        visit_item_mod of ItemMod by ident
        visit_use_rename of UseRename by rename
        visit_item_const of ItemConst by ident
        visit_item_static of ItemStatic by ident
        visit_type_param of TypeParam by ident
        visit_pat_ident of PatIdent by ident
    }
}

/// Collects the paths that begin elsewhere.
struct Strays<'a> {
    krate: &'a str,
    declared: &'a BTreeSet<String>,
    found: Vec<String>,
}

impl Strays<'_> {
    /// Whether the path goes through `__private` of the crate. The path of the default crate begins with `::`.
    fn is_private(&self, path: &Path) -> bool {
        let mut segments = path.segments.iter().map(|segment| &segment.ident);
        path.leading_colon.is_some() == (self.krate == "keyderive")
            && segments.next().is_some_and(|krate| krate == self.krate)
            && segments.next().is_some_and(|private| private == "__private")
    }

    /// Whether the path is that of syn's `compile_error!`.
    fn is_error(path: &Path) -> bool {
        quote::quote!(#path).to_string() == ":: core :: compile_error"
    }

    fn is_own(&self, path: &Path) -> bool {
        let first = &path.segments[0].ident;
        // The language's own names, which only a declaration of the same name can shadow.
        let known = ["Self", "self", USER, "bool", "u8", "u64", "str"];
        path.leading_colon.is_none()
            && (known.iter().any(|known| first == known) || self.declared.contains(&first.to_string()))
    }
}

impl<'ast> Visit<'ast> for Strays<'_> {
    fn visit_path(&mut self, path: &'ast Path) {
        if !self.is_private(path) && !self.is_own(path) && !Self::is_error(path) {
            self.found.push(quote::quote!(#path).to_string());
        }
        visit::visit_path(self, path);
    }

    fn visit_visibility(&mut self, _: &'ast syn::Visibility) {}

    /// The compiler resolves only the derives in `derive(…)`, and tool attributes such as `#[diagnostic::…]`, which
    /// `#![no_implicit_prelude]` hides.
    fn visit_attribute(&mut self, attribute: &'ast Attribute) {
        if attribute.path().get_ident().is_none() {
            self.visit_path(attribute.path());
        }
        if attribute.path().is_ident("derive") {
            let derives = attribute.parse_args_with(Punctuated::<Path, Token![,]>::parse_terminated).unwrap();
            for derive in &derives {
                self.visit_path(derive);
            }
        }
    }
}

fn strays(krate: &str, key: &DeriveInput, printed: TokenStream) -> Vec<String> {
    let printed = syn::parse2(printed).unwrap();
    let mut declared = Declared(BTreeSet::from([key.ident.to_string()]));
    declared.visit_file(&printed);
    let mut strays = Strays { krate, declared: &declared.0, found: Vec::new() };
    strays.visit_file(&printed);
    strays.found
}

/// The declaration of a key in a module without the prelude, with its types marked.
fn without_prelude(declaration: &str) -> DeriveInput {
    let mut key = parse(declaration);
    key.attrs.push(syn::parse_quote!(#[row_key(no_implicit_prelude)]));
    MarkTypes.visit_data_mut(&mut key.data);
    key
}

#[test]
fn every_path_comes_through_the_private_module() {
    for (name, declaration) in KEYS {
        let key = without_prelude(declaration);
        let krate = if declaration.contains("crate =") { "bigtable_keys" } else { "keyderive" };
        assert_eq!(strays(krate, &key, row_key(&key)), [""; 0], "{name}");
    }
}

/// Options of structs and fields that [`KEYS`] do not have, and a key with errors.
#[test]
fn every_option_comes_through_the_private_module() {
    let declarations = [
        r#"
        #[row_key(display, fingerprint = "0123456789abcdef")]
        struct HostKey {
            #[row_key(with = "user::hexadecimal")]
            address: u32,
            #[row_key(ts(unit = "millis", exact), desc)]
            at: u64,
            #[row_key(uuid(v4))]
            id: u64,
        }
        "#,
        r#"
        #[row_key(layout = "ordered", tag = "HOST")]
        #[salt(range = 4, after = "user_id")]
        struct HostKey {
            user_id: String,
            #[row_key(hash(md5))]
            number: u64,
            #[row_key(desc)]
            at: i64,
        }
        "#,
        "struct HostKey { #[salt(range = 4)] user_id: String, #[pad(0)] at: u64 }",
    ];
    for declaration in declarations {
        let key = without_prelude(declaration);
        assert_eq!(strays("keyderive", &key, row_key(&key)), [""; 0], "{declaration}");
    }
}

#[test]
fn every_path_of_a_field_type_comes_through_the_private_module() {
    let declarations = [
        "struct UserId(String);",
        "enum Kind { Created = 1, Deleted = 20 }",
        "struct Count(usize);",
        "enum Kind { Created, Deleted = 20 }",
    ];
    for declaration in declarations {
        let mut field = parse(declaration);
        MarkTypes.visit_data_mut(&mut field.data);
        assert_eq!(strays("keyderive", &field, key_field(&field)), [""; 0], "{declaration}");
    }
}

#[test]
fn names_of_the_prelude_are_found() {
    let key = parse("struct OrderKey { id: u64 }");
    let printed = quote::quote! {
        #[derive(Clone, ::keyderive::__private::core::fmt::Debug)]
        #[diagnostic::do_not_recommend]
        struct OrderKeyScan;
        fn encode(out: Vec<u8>) -> ::core::result::Result<(), ::keyderive::key::EncodeError> {
            let own = OrderKey { id: 7 };
            Ok(format!("{own:?}"))
        }
    };
    let expected = [
        "Clone",
        "diagnostic :: do_not_recommend",
        "Vec < u8 >",
        ":: core :: result :: Result < () , :: keyderive :: key :: EncodeError >",
    ];
    let found = strays("keyderive", &key, printed);
    assert_eq!(found[..4], expected);
    assert_eq!(found[4..], [":: keyderive :: key :: EncodeError", "Ok", "format"]);
}
