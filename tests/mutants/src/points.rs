//! Finds the places of a file where a mutant differs, and writes the file with all mutants, each with a switch.

use std::collections::HashMap;
use std::ops::Range;

use proc_macro2::{Group, Span, TokenTree};
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{
    Attribute, BinOp, Block, Expr, GenericArgument, ImplItemFn, ItemConst, ItemFn, ItemImpl, ItemMacro,
    ItemMod, ItemStatic, Lit, Macro, Pat, PathArguments, ReturnType, Signature, Stmt, TraitItemFn, Type,
    UnOp,
};

/// Method names that stand for each other.
const METHODS: [(&str, &str); 16] = [
    ("all", "any"),
    ("checked_add", "checked_sub"),
    ("ends_with", "starts_with"),
    ("first", "last"),
    ("is_none", "is_some"),
    ("is_none_or", "is_some_and"),
    ("is_ok", "is_err"),
    ("leading_zeros", "trailing_zeros"),
    ("max", "min"),
    ("max_by_key", "min_by_key"),
    ("saturating_add", "saturating_sub"),
    ("skip_while", "take_while"),
    ("strip_prefix", "strip_suffix"),
    ("to_be_bytes", "to_le_bytes"),
    ("wrapping_add", "wrapping_sub"),
    ("overflowing_add", "overflowing_sub"),
];

/// One mutant, or a function, which has no text.
#[derive(Debug)]
pub(crate) struct Point {
    pub(crate) function: String,
    /// What differs, in words that do not change when other code of the file does.
    pub(crate) text: String,
    pub(crate) line: usize,
    range: Range<usize>,
    /// What is inserted before and after the range; `§` stands for the question whether the mutant is chosen.
    before: String,
    after: &'static str,
}

/// What has no mutants, since a switch cannot be in it.
#[derive(Debug, Default)]
pub(crate) struct LeftOut {
    pub(crate) const_functions: usize,
    pub(crate) constants: usize,
    pub(crate) macro_calls: usize,
    pub(crate) macro_rules: usize,
}

/// A file, and its mutants and functions, each after those that it is in.
pub(crate) struct Source {
    text: String,
    pub(crate) points: Vec<Point>,
    pub(crate) left_out: LeftOut,
}

impl Source {
    pub(crate) fn parse(text: String) -> syn::Result<Self> {
        let file = syn::parse_file(&text)?;
        let mut finder =
            Finder { text: &text, path: Vec::new(), points: Vec::new(), left_out: LeftOut::default() };
        finder.visit_file(&file);
        let Finder { mut points, left_out, .. } = finder;
        let mut seen = HashMap::new();
        for point in points.iter_mut().filter(|point| !point.text.is_empty()) {
            let count = seen.entry((point.function.clone(), point.text.clone())).or_insert(0);
            *count += 1;
            if *count > 1 {
                point.text = format!("{} ({count})", point.text);
            }
        }
        Ok(Self { text, points, left_out })
    }

    /// The file with the mutants that have a number, and the range that each point has in it.
    pub(crate) fn mutated(&self, number: impl Fn(usize) -> Option<u32>) -> (String, Vec<Range<usize>>) {
        let mut edits = Vec::new();
        for (index, point) in self.points.iter().enumerate() {
            let (before, after) = match number(index) {
                Some(number) => {
                    let question = format!("::keyderive_switch::mutant({number})");
                    (point.before.replace('§', &question), point.after)
                }
                None => (String::new(), ""),
            };
            let nested = isize::try_from(index).unwrap_or(isize::MAX);
            // What ends at a place is before what begins there; of several the inner one ends first, and begins last.
            edits.push((point.range.start, 1, nested, index, before));
            edits.push((
                point.range.end,
                if point.range.is_empty() { 2 } else { 0 },
                -nested,
                index,
                after.to_owned(),
            ));
        }
        edits.sort_unstable();
        let (mut mutated, mut at) = (String::new(), 0);
        let mut ranges = vec![0..0; self.points.len()];
        for (offset, stage, _, index, inserted) in edits {
            mutated.push_str(&self.text[at..offset]);
            at = offset;
            if stage == 1 {
                ranges[index].start = mutated.len();
            }
            mutated.push_str(&inserted);
            if stage != 1 {
                ranges[index].end = mutated.len();
            }
        }
        mutated.push_str(&self.text[at..]);
        (mutated, ranges)
    }
}

struct Finder<'a> {
    text: &'a str,
    /// The names of what the current place is in.
    path: Vec<String>,
    points: Vec<Point>,
    left_out: LeftOut,
}

impl Finder<'_> {
    fn source(&self, span: Span) -> &str {
        &self.text[span.byte_range()]
    }

    /// Adds a mutant of a range, which `changed` describes. Tells it by its line of source.
    fn add(&mut self, range: Range<usize>, changed: &str, before: String, after: &'static str) {
        let line = self.text[..range.start].matches('\n').count();
        let source = self.text.lines().nth(line).unwrap_or_default().trim();
        self.points.push(Point {
            function: self.path.join("::"),
            text: format!("{changed} in `{source}`"),
            line: line + 1,
            range,
            before,
            after,
        });
    }

    fn replace(&mut self, whole: Span, changed: &str, by: &str) {
        // In parentheses, since a block would end at the brace of an `if` that begins it.
        self.add(whole.byte_range(), changed, format!("(if § {{ ({by}) }} else {{ ("), ") })");
    }

    /// A condition that is no comparison, which has mutants of its own.
    fn negate(&mut self, condition: &Expr) {
        match condition {
            Expr::Binary(binary) if has_let(condition) => {
                self.negate(&binary.left);
                self.negate(&binary.right);
            }
            Expr::Let(_) | Expr::Binary(_) | Expr::Unary(_) | Expr::Lit(_) => {}
            _ => self.add(condition.span().byte_range(), "a negated condition", "(§ != (".to_owned(), "))"),
        }
    }

    fn function(
        &mut self,
        attributes: &[Attribute],
        signature: &Signature,
        body: &Block,
        visit: impl FnOnce(&mut Self),
    ) {
        if is_test(attributes) {
            return;
        }
        if signature.constness.is_some() {
            self.left_out.const_functions += 1;
            return;
        }
        self.path.push(signature.ident.to_string());
        let (function, range) = (self.path.join("::"), body.span().byte_range());
        let start = range.start + 1;
        self.points.push(Point {
            function,
            text: String::new(),
            line: 0,
            range,
            before: String::new(),
            after: "",
        });
        for value in returned(&signature.output) {
            let value = value.trim_end();
            let early = if value.is_empty() { "return;".to_owned() } else { format!("return {value};") };
            self.points.push(Point {
                function: self.path.join("::"),
                text: format!("`{early}` at once"),
                line: signature.ident.span().start().line,
                range: start..start,
                before: format!(" if § {{ {early} }} "),
                after: "",
            });
        }
        visit(self);
        self.path.pop();
    }

    /// The items that a macro expands to. A rule that repeats parts has no mutants, nor one that expands to an expression.
    fn rule(&mut self, start: usize, body: &Group) {
        let end = body.span_close().byte_range().start;
        // A variable becomes a name of the same length, and each token keeps its place in the file.
        let items = self.text[start..end].replace('$', "_");
        match syn::parse_file(&format!("{}{items}", " ".repeat(start))) {
            Ok(items) => self.visit_file(&items),
            Err(_) => self.left_out.macro_rules += 1,
        }
    }

    fn inside(&mut self, name: String, visit: impl FnOnce(&mut Self)) {
        self.path.push(name);
        visit(self);
        self.path.pop();
    }
}

impl<'ast> Visit<'ast> for Finder<'_> {
    fn visit_item_fn(&mut self, item: &'ast ItemFn) {
        self.function(&item.attrs, &item.sig, &item.block, |finder| visit::visit_item_fn(finder, item));
    }

    fn visit_impl_item_fn(&mut self, item: &'ast ImplItemFn) {
        self.function(&item.attrs, &item.sig, &item.block, |finder| visit::visit_impl_item_fn(finder, item));
    }

    fn visit_trait_item_fn(&mut self, item: &'ast TraitItemFn) {
        if let Some(body) = &item.default {
            self.function(&item.attrs, &item.sig, body, |finder| visit::visit_trait_item_fn(finder, item));
        }
    }

    fn visit_item_impl(&mut self, item: &'ast ItemImpl) {
        let of = item.trait_.as_ref().map(|(path, ..)| self.source(path.span()));
        // What `Debug` prints is nobody's to rely on.
        if is_test(&item.attrs) || of.is_some_and(|name| name.ends_with("Debug")) {
            return;
        }
        let of = of.map(|name| format!("{name} for ")).unwrap_or_default();
        let name = format!("{of}{}", self.source(item.self_ty.span()));
        self.inside(name, |finder| visit::visit_item_impl(finder, item));
    }

    fn visit_item_mod(&mut self, item: &'ast ItemMod) {
        if !is_test(&item.attrs) {
            self.inside(item.ident.to_string(), |finder| visit::visit_item_mod(finder, item));
        }
    }

    fn visit_item_const(&mut self, _: &'ast ItemConst) {
        self.left_out.constants += 1;
    }

    fn visit_item_static(&mut self, _: &'ast ItemStatic) {
        self.left_out.constants += 1;
    }

    fn visit_impl_item_const(&mut self, _: &'ast syn::ImplItemConst) {
        self.left_out.constants += 1;
    }

    fn visit_trait_item_const(&mut self, _: &'ast syn::TraitItemConst) {
        self.left_out.constants += 1;
    }

    fn visit_item_macro(&mut self, item: &'ast ItemMacro) {
        let Some(name) = &item.ident else { return visit::visit_item_macro(self, item) };
        let mut is_next = false;
        for tree in item.mac.tokens.clone() {
            if let (true, TokenTree::Group(body)) = (is_next, &tree) {
                self.inside(format!("{name}!"), |finder| {
                    finder.rule(body.span_open().byte_range().end, body);
                });
            }
            is_next = matches!(&tree, TokenTree::Punct(sign) if sign.as_char() == '>');
        }
    }

    fn visit_macro(&mut self, _: &'ast Macro) {
        self.left_out.macro_calls += 1;
    }

    fn visit_expr_const(&mut self, _: &'ast syn::ExprConst) {
        self.left_out.constants += 1;
    }

    fn visit_variant(&mut self, _: &'ast syn::Variant) {}

    fn visit_attribute(&mut self, _: &'ast Attribute) {}

    fn visit_type(&mut self, _: &'ast Type) {}

    fn visit_generic_argument(&mut self, _: &'ast GenericArgument) {}

    fn visit_pat(&mut self, pattern: &'ast Pat) {
        if let Pat::Guard(guarded) = pattern {
            self.negate(&guarded.guard);
            self.visit_expr(&guarded.guard);
        }
    }

    fn visit_stmt(&mut self, statement: &'ast Stmt) {
        if let Stmt::Expr(expression, Some(_)) = statement
            && matches!(
                expression,
                Expr::Assign(_) | Expr::Await(_) | Expr::Call(_) | Expr::MethodCall(_) | Expr::Try(_)
            )
        {
            self.add(statement.span().byte_range(), "no statement", "if !§ { ".to_owned(), " }");
        }
        visit::visit_stmt(self, statement);
    }

    fn visit_expr(&mut self, expression: &'ast Expr) {
        match expression {
            Expr::Binary(binary) if !has_let(expression) => {
                if let Some((old, new)) = other(&binary.op) {
                    let (left, right) = (self.source(binary.left.span()), self.source(binary.right.span()));
                    // An assignment to what a pair of parentheses is around needs none.
                    let by =
                        if old.ends_with('=') && old.len() > 1 && !["==", "!=", "<=", ">="].contains(&old) {
                            format!("{left} {new} {right}")
                        } else {
                            format!("({left}) {new} ({right})")
                        };
                    self.replace(binary.span(), &format!("`{new}` for `{old}`"), &by);
                }
            }
            Expr::Unary(unary) if matches!(unary.op, UnOp::Not(_) | UnOp::Neg(_)) => {
                let by = self.source(unary.expr.span()).to_owned();
                let sign = self.source(unary.op.span()).to_owned();
                self.replace(unary.span(), &format!("no `{sign}`"), &by);
            }
            Expr::Lit(literal) => match &literal.lit {
                Lit::Int(number) => {
                    let number = number.to_string();
                    self.replace(
                        literal.span(),
                        &format!("`{number} + 1` for `{number}`"),
                        &format!("{number} + 1"),
                    );
                }
                Lit::Bool(value) => {
                    let (old, new) = (value.value, !value.value);
                    self.replace(literal.span(), &format!("`{new}` for `{old}`"), &new.to_string());
                }
                _ => {}
            },
            Expr::MethodCall(call) => {
                let name = call.method.to_string();
                let other = METHODS.iter().find_map(|(one, other)| match name.as_str() {
                    name if name == *one => Some(*other),
                    name if name == *other => Some(*one),
                    _ => None,
                });
                if let Some(other) = other {
                    let (whole, old) = (call.span(), call.method.span().byte_range());
                    let range = whole.byte_range();
                    let by = format!(
                        "{}{other}{}",
                        &self.text[range.start..old.start],
                        &self.text[old.end..range.end]
                    );
                    self.replace(whole, &format!("`{other}` for `{name}`"), &by);
                }
                if name == "then" || name == "then_some" {
                    self.negate(ungrouped(&call.receiver));
                }
            }
            Expr::If(choice) => self.negate(&choice.cond),
            Expr::While(repeated) => self.negate(&repeated.cond),
            Expr::Repeat(repeat) => return self.visit_expr(&repeat.expr),
            _ => {}
        }
        visit::visit_expr(self, expression);
    }
}

fn ungrouped(expression: &Expr) -> &Expr {
    match expression {
        Expr::Paren(inner) => ungrouped(&inner.expr),
        other => other,
    }
}

fn has_let(condition: &Expr) -> bool {
    match condition {
        Expr::Let(_) => true,
        Expr::Binary(binary) => has_let(&binary.left) || has_let(&binary.right),
        _ => false,
    }
}

fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        syn::Meta::List(list) => list.path.is_ident("cfg") && list.tokens.to_string().contains("test"),
        meta => meta.path().segments.last().is_some_and(|name| name.ident == "test"),
    })
}

/// An operator, and the one that is put in its place.
fn other(operator: &BinOp) -> Option<(&'static str, &'static str)> {
    Some(match operator {
        BinOp::Add(_) => ("+", "-"),
        BinOp::Sub(_) => ("-", "+"),
        BinOp::Mul(_) => ("*", "+"),
        BinOp::Div(_) => ("/", "*"),
        BinOp::Rem(_) => ("%", "/"),
        BinOp::And(_) => ("&&", "||"),
        BinOp::Or(_) => ("||", "&&"),
        BinOp::BitXor(_) => ("^", "|"),
        BinOp::BitAnd(_) => ("&", "|"),
        BinOp::BitOr(_) => ("|", "&"),
        BinOp::Shl(_) => ("<<", ">>"),
        BinOp::Shr(_) => (">>", "<<"),
        BinOp::Eq(_) => ("==", "!="),
        BinOp::Ne(_) => ("!=", "=="),
        BinOp::Lt(_) => ("<", "<="),
        BinOp::Le(_) => ("<=", "<"),
        BinOp::Gt(_) => (">", ">="),
        BinOp::Ge(_) => (">=", ">"),
        BinOp::AddAssign(_) => ("+=", "-="),
        BinOp::SubAssign(_) => ("-=", "+="),
        BinOp::MulAssign(_) => ("*=", "+="),
        BinOp::DivAssign(_) => ("/=", "*="),
        BinOp::RemAssign(_) => ("%=", "/="),
        BinOp::BitOrAssign(_) => ("|=", "&="),
        BinOp::BitAndAssign(_) => ("&=", "|="),
        BinOp::BitXorAssign(_) => ("^=", "|="),
        BinOp::ShlAssign(_) => ("<<=", ">>="),
        BinOp::ShrAssign(_) => (">>=", "<<="),
        _ => return None,
    })
}

/// What a function can return at once.
fn returned(output: &ReturnType) -> Vec<String> {
    match output {
        ReturnType::Default => vec![String::new()],
        ReturnType::Type(_, of) => values(of),
    }
}

fn values(of: &Type) -> Vec<String> {
    let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
    match of {
        Type::Tuple(tuple) if tuple.elems.is_empty() => texts(&["()"]),
        Type::Path(path) => {
            let Some(last) = path.path.segments.last() else { return Vec::new() };
            let first = match &last.arguments {
                PathArguments::AngleBracketed(list) => list.args.first(),
                _ => None,
            };
            match last.ident.to_string().as_str() {
                "bool" => texts(&["true", "false"]),
                "u8" | "u16" | "u32" | "u64" | "u128" | "usize" | "i8" | "i16" | "i32" | "i64" | "i128"
                | "isize" => texts(&["0", "1"]),
                "String" => texts(&["String::new()"]),
                "Vec" => texts(&["Vec::new()"]),
                "Ordering" => texts(&["std::cmp::Ordering::Equal"]),
                "Option" => texts(&["None"]),
                "Result" => match first {
                    Some(GenericArgument::Type(of)) => {
                        values(of).into_iter().map(|value| format!("Ok({value})")).collect()
                    }
                    _ => texts(&["Ok(())"]),
                },
                _ => Vec::new(),
            }
        }
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each mutant of some code, and the code with it alone.
    fn mutants(code: &str) -> Vec<(String, String)> {
        let source = Source::parse(code.to_owned()).unwrap();
        let mutants = source.points.iter().enumerate().filter(|(_, point)| !point.text.is_empty());
        let alone = |chosen| source.mutated(|index| (index == chosen).then_some(7)).0;
        mutants.map(|(index, point)| (point.text.clone(), alone(index))).collect()
    }

    #[test]
    fn a_mutant_is_behind_a_switch() {
        let found = mutants("fn f(a: u8) -> bool { a < 3 }");
        let expected = [
            ("`return true;` at once", "fn f(a: u8) -> bool { if ? { return true; }  a < 3 }"),
            ("`return false;` at once", "fn f(a: u8) -> bool { if ? { return false; }  a < 3 }"),
            (
                "`<=` for `<` in `fn f(a: u8) -> bool { a < 3 }`",
                "fn f(a: u8) -> bool { (if ? { ((a) <= (3)) } else { (a < 3) }) }",
            ),
            (
                "`3 + 1` for `3` in `fn f(a: u8) -> bool { a < 3 }`",
                "fn f(a: u8) -> bool { a < (if ? { (3 + 1) } else { (3) }) }",
            ),
        ];
        assert_eq!(found.len(), expected.len());
        for ((text, mutated), (expected_text, expected)) in found.into_iter().zip(expected) {
            assert_eq!(text, expected_text);
            assert_eq!(mutated.replace("::keyderive_switch::mutant(7)", "?"), expected);
        }
    }

    #[test]
    fn all_mutants_together_are_rust() {
        let code = "impl A for B { fn f(&self) { self.a(); x += 1; if y.is_empty() && let Some(z) = w && z.b() { c[a + 1 * 2] = !d; } } }";
        let source = Source::parse(code.to_owned()).unwrap();
        let (mutated, ranges) = source.mutated(|index| Some(u32::try_from(index).unwrap()));
        assert!(syn::parse_file(&mutated).is_ok(), "{mutated}");
        for (point, range) in source.points.iter().zip(ranges) {
            assert!(point.text.is_empty() || mutated[range].contains("mutant("), "{}", point.text);
        }
    }

    #[test]
    fn macros_that_expand_to_items_have_mutants() {
        let found = mutants("macro_rules! m { ($t:ty) => { impl A for $t { fn f(a: $t) { g(!a) } } }; }");
        let expected = "macro_rules! m { ($t:ty) => { impl A for $t { fn f(a: $t) { g((if ? { (a) } else { (!a) })) } } }; }";
        assert_eq!(found[1].1.replace("::keyderive_switch::mutant(7)", "?"), expected);
    }

    #[test]
    fn what_runs_at_compile_time_is_left_out() {
        let code = "const A: u8 = 1 + 1; const fn f() -> u8 { 1 } fn g() -> [u8; 1 + 1] { assert!(1 < 2); [A; 2 + 2] }";
        let source = Source::parse(code.to_owned()).unwrap();
        assert!(source.points.iter().all(|point| point.text.is_empty()));
        let LeftOut { const_functions, constants, macro_calls, .. } = source.left_out;
        assert_eq!((const_functions, constants, macro_calls), (1, 1, 1));
    }
}
