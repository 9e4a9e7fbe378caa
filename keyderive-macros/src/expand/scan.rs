//! The scan builder: one stage for each number of fixed fields, and a method set for each field.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::{Ident, Lifetime, parse_quote};

use crate::check::methods_of;
use crate::model::{Field, Key};
use crate::names;

/// The builder's type, where the struct is declared, so that it can be named.
pub(super) fn builder(key: &Key<'_>, private: &TokenStream) -> TokenStream {
    let scan = key.scan_ident();
    let vis = key.vis();
    let doc = format!(
        "A scan of [`{0}`]: its fields are constrained from the left, and a range or prefix ends it.\n\n\
         `S` says how far it has been constrained. Begin one with `{0}::scan()`.",
        key.input.ident,
    );
    quote! {
        #[doc = #doc]
        #[derive(#private::core::clone::Clone, #private::core::fmt::Debug)]
        #[must_use = "a scan reads nothing until it is given to a table"]
        #[allow(dead_code)]
        #vis struct #scan<S = #private::Fixed<0>> {
            draft: #private::Draft,
            stage: #private::core::marker::PhantomData<S>,
        }
    }
}

/// The methods of all stages.
pub(super) fn stages(key: &Key<'_>, private: &TokenStream) -> TokenStream {
    let plan = plan(key, private);
    let can_plan = can_plan(key, private);
    let fields = (0..key.fields.len()).map(|at| field(key, at, private));
    quote!(#can_plan #plan #(#fields)*)
}

/// Where a plan cannot be made at every stage: behind a hash only whole keys can be looked up.
fn can_plan(key: &Key<'_>, private: &TokenStream) -> Option<TokenStream> {
    let hashed = key.first_hashed()?;
    let (key_type, name, last) = (key.name(), &key.fields[hashed].name, key.fields.len());
    let message =
        format!("a scan of `{key_type}` cannot end between its hashed field `{name}` and its last field");
    let stages = (0..=hashed).chain([last]);
    Some(quote! {
        #[diagnostic::on_unimplemented(
            message = #message,
            label = "fix every field, for a point read, or none from the hashed one on"
        )]
        pub trait CanPlan {}

        #(
            #[diagnostic::do_not_recommend]
            impl CanPlan for #private::Fixed<#stages> {}
        )*

        #[diagnostic::do_not_recommend]
        impl CanPlan for #private::Ended {}
    })
}

/// What each stage can do: become a plan.
fn plan(key: &Key<'_>, private: &TokenStream) -> TokenStream {
    let scan = key.scan_ident();
    let this = key.type_at(&parse_quote!('static));
    let bound = key.first_hashed().map(|_| quote!(: CanPlan));
    quote! {
        #[automatically_derived]
        #[allow(dead_code)]
        impl<S #bound> #scan<S> {
            /// The plan: which rows are asked for, in which buckets.
            ///
            /// # Errors
            /// When a field was fixed to a value that no key can hold.
            pub fn into_plan(
                self,
            ) -> #private::core::result::Result<#private::Plan<#this>, #private::PlanError> {
                #private::Plan::from_draft(self.draft)
            }

            /// The plan in words.
            ///
            /// # Errors
            /// When a field was fixed to a value that no key can hold.
            pub fn explain(&self) -> #private::core::result::Result<#private::Explain, #private::PlanError> {
                #private::Draft::explain(&self.draft)
            }
        }

        #[automatically_derived]
        impl<S #bound> #private::IntoPlan<#this> for #scan<S> {
            fn into_plan(
                self,
            ) -> #private::core::result::Result<#private::Plan<#this>, #private::PlanError> {
                #private::Plan::from_draft(self.draft)
            }
        }
    }
}

/// The methods of one field, and the trait that says at which stage they can be called.
fn field(key: &Key<'_>, at: usize, private: &TokenStream) -> TokenStream {
    let field = &key.fields[at];
    let scan = key.scan_ident();
    let ty = field.type_at(&parse_quote!('static));
    let codec = field.codec.tokens(private);
    let next = at + 1;
    let value: Lifetime = parse_quote!('__keyderive_value);
    let is_next = format_ident!("{}IsNext", field.name);
    let methods @ [fix, range, prefix] = &methods_of(field);
    let [fix_doc, range_doc, prefix_doc] = docs(key, field, next);
    let stage_trait = stage_trait(key, at, &is_next, methods);
    let arg = quote!(<S::Field as #private::KeyField<#codec>>::Arg<#value>);
    let draft_fix = match field.is_hashed() {
        true => quote!(fix_hashed),
        false => quote!(fix),
    };
    // A hash has no order, and no plan can end behind one.
    let ends = key.first_hashed().is_none_or(|hashed| at < hashed).then(|| {
        quote! {
                #[doc = #range_doc]
                pub fn #range<#value>(
                    self,
                    range: impl #private::core::ops::RangeBounds<#arg>,
                ) -> #scan<#private::Ended>
                where
                    S: #is_next,
                    S::Field: #private::RangeField<#codec>,
                {
                    #scan {
                        draft: #private::Draft::range::<#codec, S::Field>(self.draft, &range),
                        stage: #private::core::marker::PhantomData,
                    }
                }

                #[doc = #prefix_doc]
                pub fn #prefix<#value>(self, prefix: #arg) -> #scan<#private::Ended>
                where
                    S: #is_next,
                    S::Field: #private::PrefixField<#codec>,
                {
                    #scan {
                        draft: #private::Draft::prefix::<#codec, S::Field>(self.draft, prefix),
                        stage: #private::core::marker::PhantomData,
                    }
                }
        }
    });
    quote! {
        #stage_trait

        #[diagnostic::do_not_recommend]
        impl #is_next for #private::Fixed<#at> {
            type Field = #ty;
        }

        #[automatically_derived]
        #[allow(dead_code)]
        impl<S> #scan<S> {
            #[doc = #fix_doc]
            pub fn #fix<#value>(self, #fix: #arg) -> #scan<#private::Fixed<#next>>
            where
                S: #is_next,
                S::Field: #private::KeyField<#codec>,
            {
                #scan {
                    draft: #private::Draft::#draft_fix::<#codec, S::Field>(self.draft, #fix),
                    stage: #private::core::marker::PhantomData,
                }
            }

            #ends
        }
    }
}

/// The trait of the stage at which a field is next. Its message is what a wrong order looks like.
///
/// The bound is on the stage parameter, which is known at the call, so that is where the error is.
fn stage_trait(key: &Key<'_>, at: usize, is_next: &Ident, [fix, ..]: &[Ident; 3]) -> TokenStream {
    let key_type = key.name();
    let field = &key.fields[at].name;
    let message = format!("`{field}` of `{key_type}` cannot be constrained here");
    let before = &key.fields[..at];
    let calls: String = before.iter().map(|field| format!(".{}(…)", field.ident)).collect();
    let first = match names::all(before.iter().map(|field| field.name.as_str())) {
        _ if before.is_empty() => format!("`{field}` comes first, once"),
        names if before.len() == 1 => format!("{names} comes first"),
        names => format!("{names} come first"),
    };
    let label = format!("{first}: write `{key_type}::scan(){calls}.{fix}(…)`");
    let order: Vec<_> = key.fields.iter().map(|field| field.name.as_str()).collect();
    let note = format!(
        "the fields of `{key_type}` are constrained from the left, each once: {}; nothing comes behind a range \
         or a prefix",
        order.join(", "),
    );
    quote! {
        #[diagnostic::on_unimplemented(message = #message, label = #label, note = #note)]
        pub trait #is_next {
            type Field;
        }
    }
}

fn docs(key: &Key<'_>, field: &Field<'_>, next: usize) -> [String; 3] {
    let name = &field.name;
    let then = match key.fields.get(next) {
        Some(next) => format!("`{}` can be constrained next.", next.name),
        None => "This is the last field: the plan is a point read.".into(),
    };
    [
        format!("Fixes `{name}` to one value. {then}"),
        format!("Ends the scan with a range of `{name}`, in the order of its values."),
        format!("Ends the scan with a prefix of `{name}`, where it is text or bytes."),
    ]
}
