//! Generates the scan builder: one stage for each number of fixed fields, and a set of methods for each field.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::{Ident, Lifetime, parse_quote};

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
         `__KeyderiveStage` counts the fields that are fixed. Begin with `{0}::scan()`.",
        key.input.ident,
    );
    quote! {
        #[doc = #doc]
        #[derive(#private::core::clone::Clone, #private::core::fmt::Debug)]
        #[must_use = "a scan reads nothing until it is given to a table"]
        #[allow(dead_code)]
        #vis struct #scan<__KeyderiveStage = #private::Fixed<0>> {
            draft: #private::Draft,
            stage: #private::core::marker::PhantomData<__KeyderiveStage>,
        }
    }
}

/// The methods of all stages.
pub(super) fn stages(key: &Key<'_>, private: &TokenStream) -> TokenStream {
    let plan = plan(key, private);
    let fields = (0..key.fields.len()).map(|at| field(key, at, private));
    let names = names(key);
    quote!(#names #plan #(#fields)*)
}

/// Where the fields are in a scan, and the stages that can become a plan, if not all can: after a hash, only whole keys can be
/// read.
pub(super) fn at_stages(key: &Key<'_>, private: &TokenStream) -> TokenStream {
    let next_at = key.fields.iter().enumerate().map(|(at, field)| {
        let (name, codec) = (name(key, field), field.codec.tokens(private));
        quote! {
            impl #private::NextAt<#at> for #name {
                type Codec = #codec;
            }
        }
    });
    let ends_at = key.first_hashed().map(|hashed| {
        let name = name(key, &key.fields[hashed]);
        let stages = (0..=hashed).chain([key.fields.len()]);
        quote!(#(impl #private::EndsAt<#stages> for #name {})*)
    });
    quote!(#(#next_at)* #ends_at)
}

/// The methods of every stage. The bound is on the methods, so that its error is at the call.
fn plan(key: &Key<'_>, private: &TokenStream) -> TokenStream {
    let scan = key.scan_ident();
    let this = key.type_at(&parse_quote!('static));
    let can_plan = key.first_hashed().map(|hashed| {
        let name = name(key, &key.fields[hashed]);
        quote!(where __KeyderiveStage: #private::CanPlan<#this, #name>)
    });
    let lints = lints();
    quote! {
        #[automatically_derived]
        #lints
        #[allow(dead_code)]
        impl<__KeyderiveStage> #scan<__KeyderiveStage> {
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
        impl<__KeyderiveStage> #private::IntoPlan<#this> for #scan<__KeyderiveStage> #can_plan {
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
    let next = at + 1;
    let value: Lifetime = parse_quote!('__keyderive_value);
    let is_next = is_next(key, at, private);
    let lints = lints();
    let [fix, range, prefix, any_of] = &methods_of(field);
    let [fix_doc, range_doc, prefix_doc, any_of_doc] = docs(key, field, next);
    let arg = quote!(<#ty as #private::KeyField<__KeyderiveStage::Codec>>::Arg<#value>);
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
                    __range: impl #private::core::ops::RangeBounds<#arg>,
                ) -> #scan<#private::Ended>
                where
                    #is_next,
                    #ty: #private::RangeField<__KeyderiveStage::Codec>,
                {
                    #scan {
                        draft: #private::Draft::range::<__KeyderiveStage::Codec, #ty>(self.draft, &__range),
                        stage: #private::core::marker::PhantomData,
                    }
                }

                #[doc = #prefix_doc]
                pub fn #prefix<#value>(self, __prefix: #arg) -> #scan<#private::Ended>
                where
                    #is_next,
                    #ty: #private::PrefixField<__KeyderiveStage::Codec>,
                {
                    #scan {
                        draft: #private::Draft::prefix::<__KeyderiveStage::Codec, #ty>(self.draft, __prefix),
                        stage: #private::core::marker::PhantomData,
                    }
                }
        }
    });
    quote! {
        #[automatically_derived]
        #lints
        #[allow(dead_code)]
        impl<__KeyderiveStage> #scan<__KeyderiveStage> {
            #[doc = #fix_doc]
            pub fn #fix<#value>(self, __value: #arg) -> #scan<#private::Fixed<#next>>
            where
                #is_next,
                #ty: #private::KeyField<__KeyderiveStage::Codec>,
            {
                #scan {
                    draft: #private::Draft::#draft_fix::<__KeyderiveStage::Codec, #ty>(self.draft, __value),
                    stage: #private::core::marker::PhantomData,
                }
            }

            #[doc = #any_of_doc]
            pub fn #any_of<__KeyderiveHow>(
                self,
                __values: impl #private::core::iter::IntoIterator<
                    Item: #private::Listed<__KeyderiveStage::Codec, #ty, __KeyderiveHow>,
                >,
            ) -> #scan<#private::Fixed<#next>>
            where
                #is_next,
                #ty: #private::KeyField<__KeyderiveStage::Codec>,
            {
                #scan {
                    draft: #private::Draft::#draft_any_of::<__KeyderiveStage::Codec, #ty, _>(self.draft, __values),
                    stage: #private::core::marker::PhantomData,
                }
            }

            #ends
        }
    }
}

/// A type for each field, whose name stands for the field in the compiler's error about a call out of order.
///
/// They are in a module of their own, since a field may have the name of a crate or module that another field's type
/// uses. The module is beside the key type and as visible: the compiler prints the name alone, also for a key of another crate,
/// and the path of the module before it only if the name is not unique. Only rustdoc hides the module, since the compiler prints a
/// hidden item of another crate by its path.
fn names(key: &Key<'_>) -> TokenStream {
    let (module, vis) = (names_ident(key), key.vis());
    let declared = key.fields.iter().map(ident);
    let docs = declared.clone().map(|field| format!("The field `{}`.", unraw(&field)));
    let doc = format!("The fields of [`{}`], for the messages of the compiler.", key.input.ident);
    let lints = lints();
    quote! {
        #[doc = #doc]
        #[cfg_attr(doc, doc(hidden))]
        #lints
        #[allow(dead_code, unnameable_types, unreachable_pub)]
        #vis mod #module {
            #(
                #[doc = #docs]
                pub enum #declared {}
            )*
        }
    }
}

fn names_ident(key: &Key<'_>) -> Ident {
    format_ident!("FieldsOf{}", key.name())
}

fn name(key: &Key<'_>, field: &Field<'_>) -> TokenStream {
    let module = names_ident(key);
    let name = ident(field);
    quote!(#module::#name)
}

/// The name of a field in a scan.
fn ident(field: &Field<'_>) -> Ident {
    let [fix, ..] = methods_of(field);
    fix
}

/// The bound on the stage at which a field is next.
///
/// It bounds the stage parameter, which is known at the call, so that the error is there. The codec comes from the
/// stage, so that a format without ranges is an error at the call too. The field's type does not come from the stage,
/// since it may be more private than the key.
fn is_next(key: &Key<'_>, at: usize, private: &TokenStream) -> TokenStream {
    let this = key.type_at(&parse_quote!('static));
    let field = name(key, &key.fields[at]);
    let before = key.fields[..at].iter().map(|field| name(key, field));
    match at {
        0 => quote!(__KeyderiveStage: #private::IsFirst<#this, #field>),
        1 => quote!(__KeyderiveStage: #private::IsSecond<#this, #(#before,)* #field>),
        2 => quote!(__KeyderiveStage: #private::IsThird<#this, #(#before,)* #field>),
        _ => quote!(__KeyderiveStage: #private::IsAfter<#this, (#(#before),*), #field>),
    }
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
