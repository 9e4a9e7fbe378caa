//! Generates the scan builder: one stage for each number of fixed fields, and a set of methods for each field.

use proc_macro2::{Literal, TokenStream};
use quote::{format_ident, quote};
use syn::{GenericArgument, Ident, Lifetime, PathArguments, Type, parse_quote};

use super::lints;
use crate::attr::unraw;
use crate::row_key::check::methods_of;
use crate::row_key::model::{Field, Key};

/// The builder's type, beside the struct, so that users can name it.
pub(super) fn builder(key: &Key<'_>, private: &TokenStream) -> TokenStream {
    let scan = key.scan_ident();
    let vis = key.vis();
    let doc = format!(
        "A scan of [`{0}`]: constrain its fields from the left; a range or prefix ends it.\n\n\
         `__Stage` counts the fields that are fixed. Begin with `{0}::scan()`. Where branches fix different fields, call \
         `into_plan` in each.",
        key.input.ident,
    );
    quote! {
        #[doc = #doc]
        #[derive(#private::core::clone::Clone, #private::core::fmt::Debug)]
        #[must_use = "a scan reads nothing until it is given to a table"]
        #[allow(dead_code)]
        #vis struct #scan<__Stage = #private::Fixed<0>> {
            draft: #private::Draft,
            stage: #private::core::marker::PhantomData<__Stage>,
        }
    }
}

/// The methods of all stages.
pub(super) fn stages(key: &Key<'_>, private: &TokenStream) -> TokenStream {
    let plan = plan(key, private);
    let fields = (0..key.fields.len()).map(|at| field(key, at, private));
    let bounds = bounds(key);
    quote!(#bounds #plan #(#fields)*)
}

/// Where the fields are in a scan, and the stages that can become a plan, if not all can: after a hash, only whole keys can be
/// read.
pub(super) fn at_stages(key: &Key<'_>, private: &TokenStream) -> TokenStream {
    let module = bounds_ident(key);
    let hidden = (!key.has_no_prelude()).then(|| quote!(#[diagnostic::do_not_recommend]));
    let next_at = key.fields.iter().enumerate().map(|(at, field)| {
        let (name, codec) = (ident(field), field.codec.tokens(private));
        quote! {
            #hidden
            impl #module::#name for #private::Fixed<#at> {
                type Codec = #codec;
            }
        }
    });
    let ends_at = key.first_hashed().map(|hashed| {
        let name = can_plan_ident();
        let fixed = (0..=hashed).chain([key.fields.len()]).map(|at| quote!(#private::Fixed<#at>));
        let stages = fixed.chain([quote!(#private::Ended)]);
        quote!(#(#hidden impl #module::#name for #stages {})*)
    });
    quote!(#(#next_at)* #ends_at)
}

/// The methods of every stage. The bound is on the methods, so that its error is at the call.
fn plan(key: &Key<'_>, private: &TokenStream) -> TokenStream {
    let scan = key.scan_ident();
    let this = key.type_at(&parse_quote!('static));
    let can_plan = key.first_hashed().map(|_| {
        let (module, name) = (bounds_ident(key), can_plan_ident());
        quote!(where __Stage: #module::#name)
    });
    let lints = lints();
    quote! {
        #[automatically_derived]
        #lints
        #[allow(dead_code)]
        impl<__Stage> #scan<__Stage> {
            /// The plan: which rows to read, in which buckets.
            ///
            /// # Errors
            /// If a field is fixed to a value that no key can hold.
            pub fn into_plan(
                self,
            ) -> #private::core::result::Result<#private::Plan<#this>, #private::PlanError> #can_plan {
                #private::Plan::from_draft(self.draft)
            }

            /// The plan in words.
            ///
            /// # Errors
            /// If a field is fixed to a value that no key can hold.
            pub fn explain(
                &self,
            ) -> #private::core::result::Result<#private::Explain, #private::PlanError> #can_plan {
                #private::Draft::explain(&self.draft)
            }
        }

        #[automatically_derived]
        #lints
        impl<__Stage> #private::IntoPlan<#this> for #scan<__Stage> #can_plan {
            fn into_plan(
                self,
            ) -> #private::core::result::Result<#private::Plan<#this>, #private::PlanError> {
                #private::Plan::from_draft(self.draft)
            }
        }
    }
}

/// The methods of one field, with the bound on the stage at which they can be called.
fn field(key: &Key<'_>, at: usize, private: &TokenStream) -> TokenStream {
    let field = &key.fields[at];
    let scan = key.scan_ident();
    let ty = field.type_at(&parse_quote!('static));
    let next = Literal::usize_unsuffixed(at + 1);
    let value: Lifetime = parse_quote!('value);
    let (module, name) = (bounds_ident(key), ident(field));
    // The codec comes from the stage, which is known at the call, so that the compiler reports a format without ranges there. The
    // field's type does not come from the stage, since it may be more private than the key.
    let is_next = quote!(__Stage: #private::Open<At: #module::#name>);
    let codec = quote!(<__Stage::At as #module::#name>::Codec);
    let lints = lints();
    let [fix, range, prefix, any_of] = &methods_of(field);
    let [fix_doc, range_doc, prefix_doc, any_of_doc] = docs(key, field, at + 1);
    let (arg, is_arg) = match plain_arg(field, &value, private) {
        Some(arg) => (arg.clone(), Some(quote!(, Arg<#value> = #arg))),
        None => (quote!(#private::Arg<#value, #ty, #codec>), None),
    };
    let (draft_fix, draft_any_of) = match field.is_hashed() {
        true => (quote!(fix_hashed), quote!(any_of_hashed)),
        false => (quote!(fix), quote!(any_of)),
    };
    // A hash has no order, and no plan can end after one.
    let ends = key.first_hashed().is_none_or(|hashed| at < hashed).then(|| {
        quote! {
                #[doc = #range_doc]
                pub fn #range<#value>(
                    self,
                    __range: impl #private::RangeOf<#arg>,
                ) -> #scan<#private::Ended>
                where
                    #is_next,
                    #ty: #private::RangeField<#codec #is_arg>,
                {
                    #scan {
                        draft: #private::Draft::range::<#codec, #ty>(self.draft, &__range),
                        stage: #private::core::marker::PhantomData,
                    }
                }

                #[doc = #prefix_doc]
                pub fn #prefix<#value>(self, __prefix: #arg) -> #scan<#private::Ended>
                where
                    #is_next,
                    #ty: #private::PrefixField<#codec #is_arg>,
                {
                    #scan {
                        draft: #private::Draft::prefix::<#codec, #ty>(self.draft, __prefix),
                        stage: #private::core::marker::PhantomData,
                    }
                }
        }
    });
    quote! {
        #[automatically_derived]
        #lints
        #[allow(dead_code)]
        impl<__Stage> #scan<__Stage> {
            #[doc = #fix_doc]
            pub fn #fix<#value>(self, __value: #arg) -> #scan<#private::Fixed<#next>>
            where
                #is_next,
                #ty: #private::KeyField<#codec #is_arg>,
            {
                #scan {
                    draft: #private::Draft::#draft_fix::<#codec, #ty>(self.draft, __value),
                    stage: #private::core::marker::PhantomData,
                }
            }

            #[doc = #any_of_doc]
            pub fn #any_of<__How>(
                self,
                __values: impl #private::core::iter::IntoIterator<
                    Item: #private::Listed<#codec, #ty, __How>,
                >,
            ) -> #scan<#private::Fixed<#next>>
            where
                #is_next,
                #ty: #private::KeyField<#codec>,
            {
                #scan {
                    draft: #private::Draft::#draft_any_of::<#codec, #ty, _>(self.draft, __values),
                    stage: #private::core::marker::PhantomData,
                }
            }

            #ends
        }
    }
}

/// What the methods of a field take, where the field's type is written as one of the standard library: readers of the documentation
/// see `&str`, and not the trait that says it. A type of the same name that takes something else fails at the call.
fn plain_arg(field: &Field<'_>, value: &Lifetime, private: &TokenStream) -> Option<TokenStream> {
    let str = quote!(&#value #private::core::primitive::str);
    let bytes = quote!(&#value [#private::core::primitive::u8]);
    if field.codec.with_marker().is_some() {
        return None;
    }
    let borrowed = |ty: &Type| match ty {
        Type::Path(path) if path.path.is_ident("str") => Some(str.clone()),
        Type::Slice(_) => Some(bytes.clone()),
        _ => None,
    };
    let path = match field.ty {
        Type::Reference(reference) => return borrowed(&reference.elem),
        Type::Path(path) => &path.path,
        Type::Array(array) => return Some(quote!(&#value #array)),
        _ => return None,
    };
    let last = path.segments.last()?;
    let generic = match &last.arguments {
        PathArguments::AngleBracketed(arguments) => arguments.args.last(),
        _ => None,
    };
    match (last.ident.to_string().as_str(), generic) {
        (
            "bool" | "char" | "u8" | "u16" | "u32" | "u64" | "u128" | "i8" | "i16" | "i32" | "i64" | "i128",
            None,
        ) => Some(quote!(#path)),
        ("SystemTime", None) => Some(quote!(#path)),
        ("String", None) => Some(str),
        ("Vec", Some(_)) => Some(bytes),
        ("Cow", Some(GenericArgument::Type(ty))) => borrowed(ty),
        _ => None,
    }
}

/// A trait for each field, met at the stage where the field is next, with the compiler's message for a call at another
/// stage; and a trait for the stages that can become a plan, if not all can.
///
/// They are in a module of their own, since a field may have the name of a crate or module that another field's type
/// uses. Only rustdoc hides the module, since the compiler prints a hidden item of another crate by its path.
fn bounds(key: &Key<'_>) -> TokenStream {
    let (module, vis) = (bounds_ident(key), key.vis());
    let name = key.name();
    let fields = key.fields.iter().enumerate().map(|(at, field)| {
        let ident = ident(field);
        let doc = format!("`{}` is the next field.", unraw(&ident));
        let says = says(
            key,
            &format!(
                "`{}` of `{name}` cannot be constrained here: it is out of order, or constrained already",
                unraw(&ident)
            ),
            &order(key, at),
            Some(&format!("the fields of `{name}` are constrained from the left, each once")),
        );
        quote! {
            #[doc = #doc]
            #says
            pub trait #ident {
                /// The format of the field.
                type Codec;
            }
        }
    });
    let can_plan = key.first_hashed().map(|hashed| {
        let ident = can_plan_ident();
        let hashed = unraw(&self::ident(&key.fields[hashed]));
        let says = says(
            key,
            &format!("a scan of `{name}` cannot end between its hashed field `{hashed}` and its last field"),
            "fix every field, for a point read, or none from the hashed one on",
            None,
        );
        quote! {
            /// The scan can end.
            #says
            pub trait #ident {}
        }
    });
    let doc = format!("The stages of a scan of [`{name}`], for the messages of the compiler.");
    let lints = lints();
    quote! {
        #[doc = #doc]
        #[cfg_attr(doc, doc(hidden))]
        #lints
        #[allow(dead_code, unnameable_types, unreachable_pub)]
        #vis mod #module {
            #(#fields)*
            #can_plan
        }
    }
}

/// What the compiler says where the bound fails. In a module without the prelude, the attribute has no name.
fn says(key: &Key<'_>, message: &str, label: &str, note: Option<&str>) -> Option<TokenStream> {
    let note = note.map(|note| quote!(note = #note));
    (!key.has_no_prelude())
        .then(|| quote!(#[diagnostic::on_unimplemented(message = #message, label = #label, #note)]))
}

/// Which fields come before a field, and how to write them.
fn order(key: &Key<'_>, at: usize) -> String {
    let name = key.name();
    let fields: Vec<String> =
        key.fields[..=at].iter().map(|field| format!("`{}`", unraw(&ident(field)))).collect();
    let then = fields.join(", then ");
    let first = match &fields[..] {
        [] => String::new(),
        [field] => format!("{field} comes first, once"),
        [before, _] => format!("{before} is fixed first"),
        [before @ .., last, _] => format!("{} and {last} are fixed first", before.join(", ")),
    };
    format!("{first}: write `{name}::scan()`, then {then}")
}

fn bounds_ident(key: &Key<'_>) -> Ident {
    format_ident!("FieldsOf{}", key.name())
}

fn can_plan_ident() -> Ident {
    format_ident!("__KeyderiveCanPlan")
}

/// The name of a field in a scan.
fn ident(field: &Field<'_>) -> Ident {
    let [fix, ..] = methods_of(field);
    fix
}

fn docs(key: &Key<'_>, field: &Field<'_>, next: usize) -> [String; 4] {
    let name = &field.name;
    let then = match key.fields.get(next) {
        Some(next) => format!("`{}` can be constrained next.", next.name),
        None => "This is the last field: the plan reads whole keys, not ranges.".into(),
    };
    [
        format!("Fixes `{name}` to one value. {then}"),
        format!("Ends the scan with a range of `{name}`, in the order of its values."),
        format!("Ends the scan with a prefix of `{name}`, where it is text or bytes."),
        format!(
            "Fixes `{name}` to each of several values, owned or borrowed; an empty list reads nothing. {then}"
        ),
    ]
}
