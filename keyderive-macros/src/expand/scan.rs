//! The scan builder: one stage for each number of fixed fields, and a method set for each field.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::{Ident, Lifetime, parse_quote};

use crate::check::methods_of;
use crate::model::{Field, Key};

/// The builder's type, where the struct is declared, so that it can be named.
pub(super) fn builder(key: &Key<'_>, private: &TokenStream) -> TokenStream {
    let scan = key.scan_ident();
    let vis = key.vis();
    let doc = format!(
        "A scan of [`{0}`]: its fields are constrained from the left, and a range or prefix ends it.\n\n\
         `__KeyderiveStage` says how far it has been constrained. Begin one with `{0}::scan()`.",
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
    let ends_at = ends_at(key, private);
    let fields = (0..key.fields.len()).map(|at| field(key, at, private));
    let names = names(key, private);
    quote!(#names #ends_at #plan #(#fields)*)
}

/// Where a plan cannot be made at every stage: after a hash only whole keys can be looked up.
fn ends_at(key: &Key<'_>, private: &TokenStream) -> Option<TokenStream> {
    let hashed = key.first_hashed()?;
    let name = name(key, &key.fields[hashed]);
    let stages = (0..=hashed).chain([key.fields.len()]);
    Some(quote!(#(impl #private::EndsAt<#stages> for #name {})*))
}

/// What each stage can do: become a plan. A bound is on the methods, so that the error is its own at the call.
fn plan(key: &Key<'_>, private: &TokenStream) -> TokenStream {
    let scan = key.scan_ident();
    let this = key.type_at(&parse_quote!('static));
    let can_plan = key.first_hashed().map(|hashed| {
        let name = name(key, &key.fields[hashed]);
        quote!(where __KeyderiveStage: #private::CanPlan<#this, #name>)
    });
    quote! {
        #[automatically_derived]
        #[allow(dead_code)]
        impl<__KeyderiveStage> #scan<__KeyderiveStage> {
            /// The plan: which rows are asked for, in which buckets.
            ///
            /// # Errors
            /// When a field was fixed to a value that no key can hold.
            pub fn into_plan(
                self,
            ) -> #private::core::result::Result<#private::Plan<#this>, #private::PlanError> #can_plan {
                #private::Plan::from_draft(self.draft)
            }

            /// The plan in words.
            ///
            /// # Errors
            /// When a field was fixed to a value that no key can hold.
            pub fn explain(
                &self,
            ) -> #private::core::result::Result<#private::Explain, #private::PlanError> #can_plan {
                #private::Draft::explain(&self.draft)
            }
        }

        #[automatically_derived]
        impl<__KeyderiveStage> #private::IntoPlan<#this> for #scan<__KeyderiveStage> #can_plan {
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
    let next = at + 1;
    let value: Lifetime = parse_quote!('__keyderive_value);
    let is_next = is_next(key, at, private);
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
                    range: impl #private::core::ops::RangeBounds<#arg>,
                ) -> #scan<#private::Ended>
                where
                    #is_next,
                    #ty: #private::RangeField<__KeyderiveStage::Codec>,
                {
                    #scan {
                        draft: #private::Draft::range::<__KeyderiveStage::Codec, #ty>(self.draft, &range),
                        stage: #private::core::marker::PhantomData,
                    }
                }

                #[doc = #prefix_doc]
                pub fn #prefix<#value>(self, prefix: #arg) -> #scan<#private::Ended>
                where
                    #is_next,
                    #ty: #private::PrefixField<__KeyderiveStage::Codec>,
                {
                    #scan {
                        draft: #private::Draft::prefix::<__KeyderiveStage::Codec, #ty>(self.draft, prefix),
                        stage: #private::core::marker::PhantomData,
                    }
                }
        }
    });
    quote! {
        #[automatically_derived]
        #[allow(dead_code)]
        impl<__KeyderiveStage> #scan<__KeyderiveStage> {
            #[doc = #fix_doc]
            pub fn #fix<#value>(self, #fix: #arg) -> #scan<#private::Fixed<#next>>
            where
                #is_next,
                #ty: #private::KeyField<__KeyderiveStage::Codec>,
            {
                #scan {
                    draft: #private::Draft::#draft_fix::<__KeyderiveStage::Codec, #ty>(self.draft, #fix),
                    stage: #private::core::marker::PhantomData,
                }
            }

            #[doc = #any_of_doc]
            pub fn #any_of<__KeyderiveHow>(
                self,
                values: impl #private::core::iter::IntoIterator<
                    Item: #private::Listed<__KeyderiveStage::Codec, #ty, __KeyderiveHow>,
                >,
            ) -> #scan<#private::Fixed<#next>>
            where
                #is_next,
                #ty: #private::KeyField<__KeyderiveStage::Codec>,
            {
                #scan {
                    draft: #private::Draft::#draft_any_of::<__KeyderiveStage::Codec, #ty, _>(self.draft, values),
                    stage: #private::core::marker::PhantomData,
                }
            }

            #ends
        }
    }
}

/// The type of a field's name, which stands for it in what is said of a call out of order.
///
/// In a module of their own, since a field may be called as a crate or a module in the type of another. Where a
/// name is not the only one in the crate, the compiler puts that of the module before it.
fn names(key: &Key<'_>, private: &TokenStream) -> TokenStream {
    let module = names_ident(key);
    let declared = key.fields.iter().map(ident);
    let next_at = key.fields.iter().enumerate().map(|(at, field)| {
        let name = name(key, field);
        let codec = field.codec.tokens(private);
        quote! {
            impl #private::NextAt<#at> for #name {
                type Codec = #codec;
            }
        }
    });
    quote! {
        mod #module {
            #(pub enum #declared {})*
        }

        #(#next_at)*
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

/// What a field is called in a scan.
fn ident(field: &Field<'_>) -> Ident {
    let [fix, ..] = methods_of(field);
    fix
}

/// The bound on the stage at which a field is next.
///
/// It is on the stage parameter, which is known at the call, so that is where the error is. The codec comes
/// by way of the stage, so that a format without ranges is an error at the call too; the field's type does not,
/// since it may be more private than the key.
fn is_next(key: &Key<'_>, at: usize, private: &TokenStream) -> TokenStream {
    let this = key.type_at(&parse_quote!('static));
    let field = name(key, &key.fields[at]);
    let before = key.fields[..at].iter().map(|field| name(key, field));
    match at {
        0 => quote!(__KeyderiveStage: #private::IsFirst<#this, #field>),
        1 => quote!(__KeyderiveStage: #private::IsSecond<#this, #(#before,)* #field>),
        2 => quote!(__KeyderiveStage: #private::IsThird<#this, #(#before,)* #field>),
        _ => quote!(__KeyderiveStage: #private::IsBehind<#this, (#(#before),*), #field>),
    }
}

fn docs(key: &Key<'_>, field: &Field<'_>, next: usize) -> [String; 4] {
    let name = &field.name;
    let then = match key.fields.get(next) {
        Some(next) => format!("`{}` can be constrained next.", next.name),
        None => "This is the last field: the plan is a point read.".into(),
    };
    [
        format!("Fixes `{name}` to one value. {then}"),
        format!("Ends the scan with a range of `{name}`, in the order of its values."),
        format!("Ends the scan with a prefix of `{name}`, where it is text or bytes."),
        format!(
            "Fixes `{name}` to each of several values, owned or borrowed; a list of none reads nothing. {then}"
        ),
    ]
}
