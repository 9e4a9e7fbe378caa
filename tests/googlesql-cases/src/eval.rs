//! Runs the functions that return lists of cases.

use std::collections::BTreeMap;
use std::rc::Rc;

use crate::cpp::{self, Expr, Parameter, Parser, Token, closing};
use crate::value::{Type, Value, days, parse_date, parse_timestamp};

/// What an expression of C++ is.
#[derive(Clone, Debug)]
pub(crate) enum Cpp {
    Bool(bool),
    /// A number of a type of C++: `i32`, `i64`, `u32`, `u64`.
    Int(&'static str, i128),
    Float(f32),
    Double(f64),
    Char(u8),
    Text(Vec<u8>),
    Sql(Value, Type),
    Type(Type),
    /// A part of a date, such as `WEEK(MONDAY)`.
    Part(String),
    List(Vec<Cpp>),
    /// A status code in the spelling of gRPC, and a message.
    Code(String, String),
    Approximate,
    Feature(String),
    /// Its parameters, its body, and what it captures.
    Lambda(Rc<Lambda>),
    /// A name without a value, such as a constant of an enumeration.
    Name(String),
    /// What is not understood, and why.
    Unknown(String),
}

fn unknown(reason: impl Into<String>) -> Cpp {
    Cpp::Unknown(reason.into())
}

/// The parameters of a lambda, its body, and what it captures.
type Lambda = (Vec<Parameter>, Vec<Token>, BTreeMap<String, Cpp>);

/// A function of a file.
#[derive(Clone)]
struct Function {
    parameters: Vec<Parameter>,
    body: Vec<Token>,
}

/// All functions, structs and constants of the files.
#[derive(Default)]
pub(crate) struct Program {
    functions: BTreeMap<String, Function>,
    /// The fields of structs.
    structs: BTreeMap<String, Vec<String>>,
    globals: BTreeMap<String, Cpp>,
    /// Statements that are not understood, by the function that they are in.
    pub(crate) unread: BTreeMap<String, usize>,
    /// What the tests run.
    pub(crate) runs: Vec<Run>,
    /// What functions returned, by their names and arguments.
    returned: BTreeMap<String, Cpp>,
    depth: usize,
    /// The function, or the test, that runs.
    current: String,
    prefix: String,
}

/// A call that runs a list of cases.
pub(crate) struct Run {
    pub(crate) test: String,
    pub(crate) name: String,
    pub(crate) prefix: String,
    pub(crate) arguments: Vec<Cpp>,
}

type Env = BTreeMap<String, Cpp>;

enum Flow {
    Next,
    Continue,
    Break,
    Return(Cpp),
}

impl Program {
    pub(crate) fn add(&mut self, tokens: &[Token]) {
        let mut at = 0;
        while at < tokens.len() {
            match &tokens[at..] {
                [Token::Name(word), Token::Name(name), Token::Sign("{"), ..]
                    if word == "struct" || word == "class" =>
                {
                    let Some(end) = closing(tokens, at + 2) else { return };
                    self.structs.insert(name.clone(), fields(&tokens[at + 3..end]));
                    at = end;
                }
                [Token::Name(word), Token::Name(_), Token::Sign("{"), ..] if word == "namespace" => at += 2,
                [Token::Name(name), Token::Sign("("), ..] => {
                    let Some(end) = closing(tokens, at + 1) else { return };
                    if let Some(Token::Sign("{")) = tokens.get(end + 1)
                        && let Some(body_end) = closing(tokens, end + 1)
                    {
                        let parameters = cpp::parameters(&tokens[at + 2..end]);
                        let body = tokens[end + 2..body_end].to_vec();
                        let function = Function { parameters, body };
                        self.functions.entry(name.clone()).or_insert(function);
                        at = body_end;
                    } else {
                        at = end;
                    }
                }
                // A constant: `const T name = …;`
                [Token::Name(word), ..] if matches!(&word[..], "const" | "constexpr" | "static") => {
                    let rest = &tokens[at..];
                    let end = rest
                        .iter()
                        .position(|token| matches!(token, Token::Sign(";" | "{" | "(")))
                        .unwrap_or(0);
                    if let Some(equals) = rest[..end].iter().position(|token| *token == Token::Sign("=")) {
                        let stop = statement_end(tokens, at);
                        if let Some(Token::Name(name)) =
                            rest[..equals].iter().rev().find(|token| matches!(token, Token::Name(_)))
                        {
                            let value = self.evaluate(&tokens[at + equals + 1..stop], &mut Env::new());
                            self.globals.insert(name.clone(), value);
                        }
                        at = stop;
                    }
                }
                _ => {}
            }
            at += 1;
        }
    }

    /// Runs the tests of a file.
    pub(crate) fn run_tests(&mut self, tokens: &[Token]) {
        for (at, token) in tokens.iter().enumerate() {
            if let Token::Name(name) = token
                && (name == "SHARDED_TEST_F" || name == "TEST_F")
                && let [Token::Sign("("), Token::Name(_), Token::Sign(","), Token::Name(test), ..] =
                    &tokens[at + 1..]
                && let Some(end) = closing(tokens, at + 1)
                && let Some(body_end) = closing(tokens, end + 1)
            {
                self.current.clone_from(test);
                self.prefix.clear();
                self.block(&tokens[end + 2..body_end], &mut Env::new());
            }
        }
    }

    /// What a function returns, with these arguments.
    pub(crate) fn call(&mut self, name: &str, arguments: Vec<Cpp>) -> Option<Cpp> {
        let Function { parameters, body } = self.functions.get(name)?.clone();
        if self.depth > 40 {
            return Some(unknown("recursion"));
        }
        // A function of flags returns the same each time.
        let is_plain = arguments.iter().all(|argument| matches!(argument, Cpp::Bool(_) | Cpp::Name(_)));
        let key = is_plain.then(|| format!("{name}{arguments:?}"));
        if let Some(known) = key.as_ref().and_then(|key| self.returned.get(key)) {
            return Some(known.clone());
        }
        let mut env = Env::new();
        self.bind(&parameters, arguments, &mut env);
        let before = std::mem::replace(&mut self.current, name.to_owned());
        self.depth += 1;
        let flow = self.block(&body, &mut env);
        self.depth -= 1;
        self.current = before;
        let value = match flow {
            Flow::Return(value) => value,
            _ => unknown(format!("the function {name}")),
        };
        self.returned.extend(key.map(|key| (key, value.clone())));
        Some(value)
    }

    /// Gives parameters their values, or their defaults.
    fn bind(&mut self, parameters: &[Parameter], values: Vec<Cpp>, env: &mut Env) {
        let mut values = values.into_iter();
        for Parameter { name, of, default } in parameters {
            let value = values.next().or_else(|| (!default.is_empty()).then(|| self.evaluate(default, env)));
            env.extend(value.map(|value| (name.clone(), value)));
            self.declare(name, of, env);
        }
    }

    /// Remembers which struct a variable is.
    fn declare(&self, name: &str, of: &[String], env: &mut Env) {
        if let Some(of) = of.iter().find(|of| self.structs.contains_key(*of)) {
            env.insert(format!("struct of {name}"), Cpp::Name(of.clone()));
        }
    }

    fn evaluate(&mut self, tokens: &[Token], env: &mut Env) -> Cpp {
        let mut parser = Parser::new(tokens);
        match parser.expr() {
            Ok(expr) if parser.at == tokens.len() => self.value(&expr, env),
            Ok(_) => unknown("an expression"),
            Err(error) => unknown(format!("an expression with {error}")),
        }
    }

    fn block(&mut self, tokens: &[Token], env: &mut Env) -> Flow {
        let mut at = 0;
        while at < tokens.len() {
            let (flow, next) = self.statement(tokens, at, env);
            if !matches!(flow, Flow::Next) {
                return flow;
            }
            at = next.max(at + 1);
        }
        Flow::Next
    }

    fn statement(&mut self, tokens: &[Token], at: usize, env: &mut Env) -> (Flow, usize) {
        match &tokens[at..] {
            [Token::Sign(";"), ..] => (Flow::Next, at + 1),
            [Token::Sign("{"), ..] => {
                let end = closing(tokens, at).unwrap_or(tokens.len() - 1);
                let flow = self.block(&tokens[at + 1..end], env);
                (flow, end + 1)
            }
            [Token::Name(word), ..] if word == "return" => {
                let end = statement_end(tokens, at);
                let value = self.evaluate(&tokens[at + 1..end], env);
                (Flow::Return(value), end + 1)
            }
            [Token::Name(word), ..] if word == "continue" => (Flow::Continue, at + 2),
            [Token::Name(word), ..] if word == "break" => (Flow::Break, at + 2),
            [Token::Name(word), Token::Sign("("), ..] if word == "for" => {
                let end = closing(tokens, at + 1).unwrap_or(tokens.len() - 1);
                let body_end = one_end(tokens, end + 1);
                let flow = self.for_loop(&tokens[at + 2..end], &tokens[end + 1..body_end], env);
                (flow, body_end)
            }
            [Token::Name(word), Token::Sign("("), ..] if word == "if" => {
                let end = closing(tokens, at + 1).unwrap_or(tokens.len() - 1);
                let mut next = one_end(tokens, end + 1);
                let condition = self.evaluate(&tokens[at + 2..end], env);
                let yes = end + 1..next;
                let mut no = 0..0;
                if matches!(tokens.get(next), Some(Token::Name(word)) if word == "else") {
                    no = next + 1..one_end(tokens, next + 1);
                    next = no.end;
                }
                let flow = match condition {
                    Cpp::Bool(true) => self.block(&tokens[yes], env),
                    Cpp::Bool(false) => self.block(&tokens[no], env),
                    _ => {
                        self.note();
                        Flow::Next
                    }
                };
                (flow, next)
            }
            [Token::Name(word), Token::Sign("("), ..] if word == "switch" => {
                let end = closing(tokens, at + 1).unwrap_or(tokens.len() - 1);
                let body_end = closing(tokens, end + 1).unwrap_or(tokens.len() - 1);
                let value = self.evaluate(&tokens[at + 2..end], env);
                let body = &tokens[end + 2..body_end];
                let is_case = |at: &usize| match (&body[*at..], &value) {
                    ([Token::Name(case), Token::Name(label), Token::Sign(":"), ..], Cpp::Name(name)) => {
                        case == "case" && label == name
                    }
                    ([Token::Name(label), Token::Sign(":"), ..], _) => label == "default",
                    _ => false,
                };
                let flow = match (0..body.len()).find(is_case) {
                    Some(start) => self.block(&body[start..], env),
                    None => Flow::Next,
                };
                let flow = if matches!(flow, Flow::Break) { Flow::Next } else { flow };
                (flow, body_end + 1)
            }
            [Token::Name(word), Token::Name(_), Token::Sign(":"), ..] if word == "case" => {
                (Flow::Next, at + 3)
            }
            [Token::Name(word), Token::Sign(":"), ..] if word == "default" => (Flow::Next, at + 2),
            [Token::Name(word), ..]
                if matches!(&word[..], "while" | "do" | "struct" | "enum" | "using" | "class") =>
            {
                if !matches!(&word[..], "using" | "enum") {
                    self.note();
                }
                let open = (at..tokens.len()).find(|at| matches!(tokens[*at], Token::Sign("{" | ";")));
                match open.map(|open| (open, &tokens[open])) {
                    Some((open, Token::Sign("{"))) => {
                        (Flow::Next, closing(tokens, open).map_or(tokens.len(), |end| end + 1))
                    }
                    Some((open, _)) => (Flow::Next, open + 1),
                    None => (Flow::Next, tokens.len()),
                }
            }
            _ => {
                let end = statement_end(tokens, at);
                self.simple(&tokens[at..end], env);
                (Flow::Next, end + 1)
            }
        }
    }

    fn note(&mut self) {
        *self.unread.entry(self.current.clone()).or_default() += 1;
    }

    fn for_loop(&mut self, head: &[Token], body: &[Token], env: &mut Env) -> Flow {
        let depth_colon = top_level(head, ":");
        if let Some(colon) = depth_colon {
            let name = head[..colon]
                .iter()
                .rev()
                .find_map(|token| if let Token::Name(name) = token { Some(name.clone()) } else { None });
            let of = head[..colon].iter().find_map(|token| match token {
                Token::Name(name) if self.structs.contains_key(name) => Some(name.clone()),
                _ => None,
            });
            let all = self.evaluate(&head[colon + 1..], env);
            let (Cpp::List(all), Some(name)) = (all, name) else {
                self.note();
                return Flow::Next;
            };
            let list = match &head[colon + 1..] {
                [Token::Name(list)] if head[..colon].contains(&Token::Sign("&")) => Some(list.clone()),
                _ => None,
            };
            for (at, each) in all.into_iter().enumerate() {
                env.insert(name.clone(), each);
                if let Some(of) = &of {
                    env.insert(format!("struct of {name}"), Cpp::Name(of.clone()));
                }
                let flow = self.block(body, env);
                // The loop may change its elements.
                if let (Some(list), Some(each)) = (&list, env.get(&name).cloned())
                    && let Some(Cpp::List(all)) = env.get_mut(list)
                    && let Some(element) = all.get_mut(at)
                {
                    *element = each;
                }
                match flow {
                    Flow::Return(value) => return Flow::Return(value),
                    Flow::Break => break,
                    _ => {}
                }
            }
            return Flow::Next;
        }
        let parts: Vec<&[Token]> = head.split(|token| *token == Token::Sign(";")).collect();
        let [first, condition, step] = parts[..] else {
            self.note();
            return Flow::Next;
        };
        self.simple(first, env);
        for _ in 0..300 {
            match self.evaluate(condition, env) {
                Cpp::Bool(true) => {}
                Cpp::Bool(false) => return Flow::Next,
                _ => break,
            }
            match self.block(body, env) {
                Flow::Return(value) => return Flow::Return(value),
                Flow::Break => return Flow::Next,
                _ => {}
            }
            self.simple(step, env);
        }
        self.note();
        Flow::Next
    }

    /// A declaration, an assignment, or a call.
    fn simple(&mut self, tokens: &[Token], env: &mut Env) {
        // Functions that add a case to the list that their last argument points to.
        if let [Token::Name(name), Token::Sign("("), .., Token::Name(to), Token::Sign(")")] = tokens
            && (name.starts_with("AddTestWithPossiblyWrapped")
                || name.starts_with("AddTestCaseWithWrappedResult"))
            && let Ok(arguments) = Parser::new(&tokens[2..]).list(")")
        {
            let values = &arguments[..arguments.len().saturating_sub(1)];
            let values: Vec<Cpp> = values.iter().map(|argument| self.value(argument, env)).collect();
            let added = match &values[..] {
                [arguments @ Cpp::List(_), result, features, ..] if name.starts_with("AddTestWith") => {
                    Cpp::List(vec![arguments.clone(), result.clone(), features.clone()])
                }
                [Cpp::List(case), Cpp::Text(name)] => {
                    let mut parts = vec![Cpp::Text(name.clone())];
                    parts.extend(case.iter().take(2).cloned());
                    parts.extend(case.get(4).cloned());
                    Cpp::List(parts)
                }
                [Cpp::List(case)] => {
                    let mut parts: Vec<Cpp> = case.iter().take(2).cloned().collect();
                    parts.extend(case.get(4).cloned());
                    Cpp::List(parts)
                }
                _ => return self.note(),
            };
            match env.get_mut(to) {
                Some(Cpp::List(list)) => list.push(added),
                _ => self.note(),
            }
            return;
        }
        // `*(call.params.mutable_param(1)) = value`, `call.function_name = value`
        if let Some(at) = top_level(tokens, "=")
            && tokens[..at].iter().any(|token| matches!(token, Token::Name(name) if name == "function_name" || name == "mutable_param"))
            && let Some(Token::Name(call)) = tokens[..at].iter().find(|token| matches!(token, Token::Name(_)))
            && let Some(Cpp::List(mut parts)) = env.get(call).cloned()
        {
            let place = tokens[..at].iter().find_map(|token| if let Token::Number(at) = token { at.parse::<usize>().ok() } else { None });
            let has = |name: &str| tokens[..at].iter().any(|token| matches!(token, Token::Name(found) if found == name));
            if has("function_name") && !parts.is_empty() {
                parts[0] = self.evaluate(&tokens[at + 1..], env);
                env.insert(call.clone(), Cpp::List(parts));
                return;
            }
            if has("mutable_param") {
                let value = self.evaluate(&tokens[at + 1..], env);
                if let (Some(Cpp::List(arguments)), Some(place)) = (parts.iter_mut().find(|part| matches!(part, Cpp::List(_))), place)
                    && let Some(argument) = arguments.get_mut(place)
                {
                    *argument = value;
                }
                env.insert(call.clone(), Cpp::List(parts));
                return;
            }
        }
        // `name op= value`, `T name = value`, `T name{…}`, `T name(…)`
        if let Some((at, op)) =
            ["=", "+=", "-="].into_iter().find_map(|op| top_level(tokens, op).map(|at| (at, op)))
        {
            let value = self.evaluate(&tokens[at + 1..], env);
            if let Some(Token::Name(name)) = at.checked_sub(1).and_then(|at| tokens.get(at)) {
                let value = match op {
                    "=" => value,
                    op => {
                        let before = env.get(name).cloned().unwrap_or_else(|| unknown(name.clone()));
                        binary(&op[..1], before, value)
                    }
                };
                env.insert(name.clone(), value);
                if let Some(Token::Name(of)) = at.checked_sub(2).and_then(|at| tokens.get(at))
                    && self.structs.contains_key(of)
                {
                    env.insert(format!("struct of {name}"), Cpp::Name(of.clone()));
                }
                return;
            }
            // `text[i] = 'A'`
            if let [Token::Name(name), Token::Sign("["), index @ .., Token::Sign("]")] = &tokens[..at]
                && let Cpp::Int(_, index) = self.evaluate(index, env)
                && let (Some(Cpp::Text(text)), Cpp::Char(byte)) = (env.get_mut(name), value)
                && let Some(place) = usize::try_from(index).ok().and_then(|index| text.get_mut(index))
            {
                *place = byte;
                return;
            }
            return self.note();
        }
        if let Some(open) = declared(tokens)
            && let Token::Name(name) = &tokens[open - 1]
        {
            let close = if tokens[open] == Token::Sign("(") { ")" } else { "}" };
            let Ok(all) = Parser::new(&tokens[open + 1..]).list(close) else { return self.note() };
            let mut all: Vec<Cpp> = all.iter().map(|each| self.value(each, env)).collect();
            let value = if all.len() == 1 && close == ")" { all.remove(0) } else { Cpp::List(all) };
            env.insert(name.clone(), value);
            return;
        }
        match tokens {
            [Token::Name(name), Token::Sign("++")] | [Token::Sign("++"), Token::Name(name)] => {
                if let Some(Cpp::Int(_, number)) = env.get_mut(name) {
                    *number += 1;
                }
            }
            [
                Token::Name(name),
                Token::Sign("." | "->"),
                Token::Name(method),
                Token::Sign("("),
                inner @ ..,
                Token::Sign(")"),
            ] => {
                let mut with_end = inner.to_vec();
                with_end.push(Token::Sign(")"));
                let arguments = Parser::new(&with_end).list(")");
                let Ok(arguments) = arguments else { return self.note() };
                let arguments: Vec<Cpp> = match &method[..] {
                    "insert" => {
                        arguments.iter().skip(1).take(1).map(|argument| self.value(argument, env)).collect()
                    }
                    _ => arguments.iter().map(|argument| self.value(argument, env)).collect(),
                };
                match (&method[..], env.get_mut(name)) {
                    ("push_back" | "emplace_back", Some(Cpp::List(list))) => {
                        match <[Cpp; 1]>::try_from(arguments) {
                            Ok([one]) => list.push(one),
                            Err(all) => list.push(Cpp::List(all)),
                        }
                    }
                    ("push_back", Some(Cpp::Text(text))) => match arguments.first() {
                        Some(Cpp::Char(byte)) => text.push(*byte),
                        Some(Cpp::Int(_, byte)) => text.push((*byte & 0xff) as u8),
                        _ => self.note(),
                    },
                    ("insert", Some(Cpp::List(list))) => match arguments.into_iter().next() {
                        Some(Cpp::List(more)) => list.extend(more),
                        _ => self.note(),
                    },
                    ("AddRequiredFeature" | "AddRequiredFeatures" | "reserve", _) => {}
                    _ => self.note(),
                }
            }
            // A declaration without a value.
            [Token::Name(word), .., Token::Name(name)] if !word.contains("CHECK") => {
                let value = if word == "string" { Cpp::Text(Vec::new()) } else { Cpp::List(Vec::new()) };
                env.insert(name.clone(), value);
            }
            [Token::Name(check), Token::Sign("("), ..]
                if check.contains("CHECK") || check.contains("LOG") =>
            {
                // `ZETASQL_CHECK_OK(ConvertStringToTimestamp(text, zone, kMicroseconds, &timestamp))`
                if let Some(open) = tokens.iter().position(
                    |token| matches!(token, Token::Name(name) if name == "ConvertStringToTimestamp"),
                ) && let Some(close) = closing(tokens, open + 1)
                    && let Ok(arguments) = Parser::new(&tokens[open + 2..=close]).list(")")
                    && let [text, zone, .., Expr::Name(to)] = &arguments[..]
                {
                    let (text, zone) = (self.value(text, env), self.value(zone, env));
                    let micros = if let Cpp::Text(text) = &text { timestamp_of(text, &zone) } else { None };
                    env.insert(
                        to.clone(),
                        micros.map_or_else(|| unknown("times"), |micros| Cpp::Int("i64", micros.into())),
                    );
                    return;
                }
                // `ZETASQL_CHECK_OK(factory->MakeArrayType(element, &type))`
                let names: Vec<&String> = tokens
                    .iter()
                    .filter_map(|token| if let Token::Name(name) = token { Some(name) } else { None })
                    .collect();
                let of = match &names[..] {
                    [.., make, _, to] if *make == "MakeEnumType" => Some((*to, Cpp::Part(String::new()))),
                    _ => None,
                };
                if let Some((to, value)) = of {
                    env.insert(to.clone(), value);
                    return;
                }
                if let Some(open) = tokens.iter().position(|token| matches!(token, Token::Name(name) if name == "MakeArrayType" || name == "MakeStructType"))
                    && let Some(close) = closing(tokens, open + 1)
                    && let Ok(arguments) = Parser::new(&tokens[open + 2..=close]).list(")")
                    && let [of, Expr::Name(to)] = &arguments[..]
                {
                    let value = self.value(of, env);
                    let made = match value {
                        Cpp::Type(of) => Cpp::Type(Type::Array(Box::new(of))),
                        Cpp::List(fields) => struct_type(&fields),
                        _ => unknown("a type"),
                    };
                    env.insert(to.clone(), made);
                }
            }
            [] => {}
            _ => {
                let value = match Parser::new(tokens).expr() {
                    Ok(Expr::Call(callee, arguments)) => match &*callee {
                        Expr::Name(name) if self.functions.contains_key(name) => {
                            self.call_by_reference(&name.clone(), &arguments, env);
                            Ok(Cpp::Bool(true))
                        }
                        _ => Ok(self.value(&Expr::Call(callee, arguments), env)),
                    },
                    Ok(expr) => Ok(self.value(&expr, env)),
                    Err(error) => Err(error),
                };
                if !matches!(value, Ok(Cpp::Bool(_))) {
                    self.note();
                }
            }
        }
    }

    fn value(&mut self, expr: &Expr, env: &mut Env) -> Cpp {
        match expr {
            Expr::Number(digits) => number(digits),
            Expr::Text(bytes) => Cpp::Text(bytes.clone()),
            Expr::Char(byte) => Cpp::Char(*byte),
            Expr::List(all) => Cpp::List(all.iter().map(|each| self.value(each, env)).collect()),
            Expr::Lambda(parameters, body) => {
                let is_small = |value: &Cpp| !matches!(value, Cpp::List(all) if all.len() > 20);
                let captured = env.iter().filter(|(_, value)| is_small(value));
                let captured = captured.map(|(name, value)| (name.clone(), value.clone())).collect();
                Cpp::Lambda(Rc::new((parameters.clone(), body.clone(), captured)))
            }
            Expr::Name(name) => env
                .get(name)
                .cloned()
                .or_else(|| constant(name))
                .or_else(|| self.globals.get(name).cloned())
                .unwrap_or_else(|| Cpp::Name(name.clone())),
            Expr::Unary(op, operand) => match (*op, self.value(operand, env)) {
                ("-", Cpp::Int(of, number)) => Cpp::Int(of, -number),
                ("-", Cpp::Float(number)) => Cpp::Float(-number),
                ("-", Cpp::Double(number)) => Cpp::Double(-number),
                ("!", Cpp::Bool(value)) => Cpp::Bool(!value),
                ("~", Cpp::Int(of, number)) => Cpp::Int(of, !number),
                _ => unknown("an operator"),
            },
            Expr::Binary(op, left, right) => {
                let left = self.value(left, env);
                match (*op, &left) {
                    ("&&", Cpp::Bool(false)) | ("||", Cpp::Bool(true)) => return left,
                    ("&&" | "||", Cpp::Bool(_)) => return self.value(right, env),
                    _ => {}
                }
                let right = self.value(right, env);
                binary(op, left, right)
            }
            Expr::Choice(condition, yes, no) => match self.value(condition, env) {
                Cpp::Bool(true) => self.value(yes, env),
                Cpp::Bool(false) => self.value(no, env),
                _ => unknown("a choice"),
            },
            Expr::Index(value, index) => match (unbraced(self.value(value, env)), self.value(index, env)) {
                (Cpp::List(all), Cpp::Int(_, at)) => usize::try_from(at)
                    .ok()
                    .and_then(|at| all.get(at).cloned())
                    .unwrap_or_else(|| unknown("an index")),
                (Cpp::Text(text), Cpp::Int(_, at)) => usize::try_from(at)
                    .ok()
                    .and_then(|at| text.get(at))
                    .map_or_else(|| unknown("an index"), |byte| Cpp::Char(*byte)),
                _ => unknown("an index"),
            },
            Expr::Member(value, field) => {
                let of = match &**value {
                    Expr::Name(name) => env.get(&format!("struct of {name}")).cloned(),
                    _ => None,
                };
                let place = match of {
                    Some(Cpp::Name(of)) => {
                        self.structs.get(&of).and_then(|fields| fields.iter().position(|name| name == field))
                    }
                    _ => None,
                };
                match (self.value(value, env), place) {
                    // Features are empty by default.
                    (Cpp::List(all), Some(place)) => {
                        all.get(place).cloned().unwrap_or_else(|| match field.ends_with("features") {
                            true => Cpp::List(Vec::new()),
                            false => unknown(format!("a default of {field}")),
                        })
                    }
                    (Cpp::List(all), None) if field == "params" => {
                        Cpp::List(all.into_iter().skip(1).collect())
                    }
                    _ => unknown(format!("the member {field}")),
                }
            }
            Expr::Call(callee, arguments) => match &**callee {
                Expr::Member(value, method) => {
                    if let Some(field) = self.returned_field(value, method, env) {
                        return field;
                    }
                    let value = self.value(value, env);
                    let arguments = arguments.iter().map(|argument| self.value(argument, env)).collect();
                    method_of(value, method, arguments)
                }
                Expr::Name(name) => {
                    let values: Vec<Cpp> =
                        arguments.iter().map(|argument| self.value(argument, env)).collect();
                    if let Some(Cpp::Lambda(lambda)) = env.get(name) {
                        let lambda = Rc::clone(lambda);
                        return self.apply(&lambda, values);
                    }
                    if name.starts_with("Run") {
                        let (test, prefix) = (self.current.clone(), self.prefix.clone());
                        self.runs.push(Run { test, name: name.clone(), prefix, arguments: values });
                        return Cpp::Bool(true);
                    }
                    if name == "SetNamePrefix" {
                        if let Some(Cpp::Text(text)) = values.first() {
                            self.prefix = String::from_utf8_lossy(text).into_owned();
                        }
                        return Cpp::Bool(true);
                    }
                    if name == "GetMicrosResult" || name == "GetNanosResult" {
                        let Some(Cpp::List(fields)) = values.first() else { return unknown(name.clone()) };
                        let place = if name == "GetNanosResult" && fields.len() > 4 { 4 } else { 3 };
                        return match (fields.get(place), fields.get(2)) {
                            (Some(Cpp::Text(text)), _) if text.is_empty() => {
                                Cpp::Sql(Value::Null, Type::Timestamp)
                            }
                            (Some(Cpp::Text(text)), Some(zone)) => timestamp_of(text, zone).map_or_else(
                                || unknown("times"),
                                |micros| Cpp::Sql(Value::Timestamp(micros), Type::Timestamp),
                            ),
                            _ => unknown(name.clone()),
                        };
                    }
                    if let Some(value) = known(name, &values) {
                        return value;
                    }
                    if matches!(
                        &name[..],
                        "Shard" | "ConvertDateTimePartBindingsToString" | "AddSafeFunctionCalls"
                    ) {
                        return values.into_iter().next().unwrap_or_else(|| unknown("a wrapper"));
                    }
                    if let Some(feature) =
                        name.strip_prefix("WrapFeature").or_else(|| name.strip_prefix("Enable"))
                    {
                        let Some(Cpp::List(mut items)) = values.into_iter().next() else {
                            return unknown("a wrapper");
                        };
                        let is_ours = matches!(
                            feature,
                            "LastDay" | "AdditionalStringFunctions" | "AliasesForStringAndDateFunctions"
                        );
                        for item in &mut items {
                            if let Cpp::List(parts) = item
                                && !is_ours
                            {
                                parts.push(Cpp::Feature(
                                    feature.trim_end_matches("ForTest").to_ascii_uppercase(),
                                ));
                            }
                        }
                        return Cpp::List(items);
                    }
                    if name == "InvertResults" {
                        return match values.into_iter().next() {
                            Some(Cpp::List(items)) => Cpp::List(items.into_iter().map(inverted).collect()),
                            _ => unknown("InvertResults"),
                        };
                    }
                    if name == "ConcatTests" {
                        let Some(Cpp::List(lists)) = values.into_iter().next() else {
                            return unknown("ConcatTests");
                        };
                        let all = lists
                            .into_iter()
                            .flat_map(|list| if let Cpp::List(list) = list { list } else { vec![list] });
                        return Cpp::List(all.collect());
                    }
                    self.call(name, values).unwrap_or_else(|| unknown(format!("the call of {name}")))
                }
                callee => match self.value(callee, env) {
                    Cpp::Lambda(lambda) => {
                        let values = arguments.iter().map(|argument| self.value(argument, env)).collect();
                        self.apply(&lambda, values)
                    }
                    _ => unknown("a call"),
                },
            },
        }
    }

    /// The field that a method of a struct returns: `name()` returns `name_`.
    fn returned_field(&self, value: &Expr, method: &str, env: &Env) -> Option<Cpp> {
        let Expr::Name(name) = value else { return None };
        let (Some(Cpp::Name(of)), Some(Cpp::List(fields))) =
            (env.get(&format!("struct of {name}")), env.get(name))
        else {
            return None;
        };
        let place = self.structs.get(of)?.iter().position(|field| field.strip_suffix('_') == Some(method))?;
        // A result in nanoseconds is by default the one in microseconds.
        let default = if method.ends_with("expected_result") { fields.get(3) } else { None };
        fields.get(place).or(default).cloned()
    }

    /// Calls a function for what it changes: variables are passed by reference.
    fn call_by_reference(&mut self, name: &str, arguments: &[Expr], env: &mut Env) {
        let Some(Function { parameters, body }) = self.functions.get(name).cloned() else { return };
        if self.depth > 40 {
            return self.note();
        }
        let mut inner = Env::new();
        let mut passed = Vec::new();
        for (argument, Parameter { name: parameter, of, .. }) in arguments.iter().zip(parameters) {
            self.declare(&parameter, &of, &mut inner);
            let value = match argument {
                Expr::Name(name) if matches!(env.get(name), Some(Cpp::List(_))) => {
                    passed.push((name.clone(), parameter.clone()));
                    env.remove(name).unwrap_or_else(|| unknown(name.clone()))
                }
                argument => self.value(argument, env),
            };
            inner.insert(parameter, value);
        }
        self.depth += 1;
        self.block(&body, &mut inner);
        self.depth -= 1;
        for (name, parameter) in passed {
            env.extend(inner.remove(&parameter).map(|value| (name, value)));
        }
    }

    fn apply(&mut self, lambda: &Lambda, values: Vec<Cpp>) -> Cpp {
        let (parameters, body, captured) = lambda;
        if self.depth > 40 {
            return unknown("recursion");
        }
        let mut env = captured.clone();
        self.bind(parameters, values, &mut env);
        self.depth += 1;
        let flow = self.block(body, &mut env);
        self.depth -= 1;
        match flow {
            Flow::Return(value) => value,
            _ => unknown("a lambda"),
        }
    }
}

/// The microseconds of a text in a time zone, of which the names of two are known.
fn timestamp_of(text: &[u8], zone: &Cpp) -> Option<i64> {
    let text = str::from_utf8(text).ok()?;
    let clock = text.split_once(' ').map_or("", |(_, clock)| clock);
    let offset = match zone {
        _ if clock.contains(['+', '-', 'Z', 'U']) => "",
        Cpp::Text(zone) => match str::from_utf8(zone).ok()? {
            "UTC" => "+00",
            "America/Los_Angeles" if is_daylight_time(text)? => "-07",
            "America/Los_Angeles" => "-08",
            zone if zone.starts_with(['+', '-']) => zone,
            _ => return None,
        },
        _ => "+00",
    };
    let clock = if clock.is_empty() { " 00:00:00" } else { "" };
    parse_timestamp(&format!("{text}{clock}{offset}"))
}

/// Whether clocks of the United States are put forward at a local time. Before 2007, it is said but for the days around the changes.
fn is_daylight_time(text: &str) -> Option<bool> {
    let part = |from: usize, to: usize| text.get(from..to)?.parse::<i64>().ok();
    let (year, month, day) = (part(0, 4)?, part(5, 7)?, part(8, 10)?);
    if year < 2007 {
        return Some((4..11).contains(&month));
    }
    // The first Sunday from a day on: 1970-01-04 was one.
    let sunday = |month: i64, from: i64| from + (3 - days(year, month, from)).rem_euclid(7);
    let now = (month, day, part(11, 13).unwrap_or_default());
    Some(now >= (3, sunday(3, 8), 2) && now < (11, sunday(11, 1), 2))
}

/// Where a statement ends: its semicolon at the top.
fn statement_end(tokens: &[Token], at: usize) -> usize {
    let mut depth = 0;
    for (at, token) in tokens.iter().enumerate().skip(at) {
        match token {
            Token::Sign("(" | "[" | "{") => depth += 1,
            Token::Sign(")" | "]" | "}") => depth -= 1,
            Token::Sign(";") if depth == 0 => return at,
            _ => {}
        }
    }
    tokens.len()
}

/// Where one statement, which may be a block, ends.
fn one_end(tokens: &[Token], at: usize) -> usize {
    match tokens.get(at) {
        Some(Token::Sign("{")) => closing(tokens, at).map_or(tokens.len(), |end| end + 1),
        Some(Token::Name(word)) if word == "if" || word == "for" => {
            let head = closing(tokens, at + 1).unwrap_or(tokens.len() - 1);
            let mut end = one_end(tokens, head + 1);
            if matches!(tokens.get(end), Some(Token::Name(word)) if word == "else") {
                end = one_end(tokens, end + 1);
            }
            end
        }
        _ => (statement_end(tokens, at) + 1).min(tokens.len()),
    }
}

/// The bracket of a declaration `T name(…)` or `T name{…}`.
fn declared(tokens: &[Token]) -> Option<usize> {
    let open = top_level(tokens, "(").into_iter().chain(top_level(tokens, "{")).min()?;
    let has_type = matches!(
        tokens.get(open.checked_sub(2)?..open)?,
        [Token::Name(_) | Token::Sign(">" | "&" | "*"), Token::Name(_)]
    );
    (has_type && closing(tokens, open) == Some(tokens.len() - 1)).then_some(open)
}

fn top_level(tokens: &[Token], sign: &str) -> Option<usize> {
    let mut depth = 0;
    for (at, token) in tokens.iter().enumerate() {
        match token {
            Token::Sign(found) if depth == 0 && *found == sign => return Some(at),
            Token::Sign("(" | "[" | "{") => depth += 1,
            Token::Sign(")" | "]" | "}") => depth -= 1,
            _ => {}
        }
    }
    None
}

/// The names of the fields of a struct.
fn fields(tokens: &[Token]) -> Vec<String> {
    let mut names = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let end = statement_end(tokens, at);
        let field = &tokens[at..end];
        // The body of a function has no semicolon after it.
        if let (Some(open), Some(body)) = (top_level(field, "("), top_level(field, "{"))
            && open < body
            && let Some(close) = closing(tokens, at + body)
        {
            at = close + 1;
            continue;
        }
        let head = top_level(field, "=").or_else(|| top_level(field, "{")).unwrap_or(field.len());
        if !field.contains(&Token::Sign("("))
            && let Some(Token::Name(name)) = field[..head].last()
        {
            names.push(name.clone());
        }
        at = end + 1;
    }
    names
}

fn number(digits: &str) -> Cpp {
    let is_hex = digits.starts_with("0x");
    let suffix_at = match is_hex {
        true => digits.find(['u', 'l']).unwrap_or(digits.len()),
        false => digits.find(['u', 'l', 'f']).unwrap_or(digits.len()),
    };
    let (number, suffix) = digits.split_at(suffix_at);
    let is_float = !is_hex && (number.contains(['.', 'e']) || suffix == "f");
    if is_float {
        return match suffix {
            "f" => number.trim_end_matches('.').parse().map_or_else(|_| unknown(digits), Cpp::Float),
            _ => number.trim_end_matches('.').parse().map_or_else(|_| unknown(digits), Cpp::Double),
        };
    }
    let number = match number.strip_prefix("0x") {
        Some(hex) => i128::from_str_radix(hex, 16),
        None if number.len() > 1 && number.starts_with('0') => i128::from_str_radix(number, 8),
        None => number.parse(),
    };
    let of = match (suffix.contains('u'), suffix.contains('l')) {
        (false, false) => "i32",
        (true, false) => "u32",
        (false, true) => "i64",
        (true, true) => "u64",
    };
    match number {
        // A number that is no int is a long.
        Ok(number) if of == "i32" && i32::try_from(number).is_err() => Cpp::Int("i64", number),
        Ok(number) => Cpp::Int(of, number),
        Err(_) => unknown(digits),
    }
}

fn constant(name: &str) -> Option<Cpp> {
    let sql = |value, of| Some(Cpp::Sql(value, of));
    let timestamp_min: i128 = -62_135_596_800_000_000;
    let timestamp_max: i128 = 253_402_300_799_999_999;
    Some(match name {
        "true" => Cpp::Bool(true),
        "false" => Cpp::Bool(false),
        "int32min" => Cpp::Int("i32", i32::MIN.into()),
        "int32max" => Cpp::Int("i32", i32::MAX.into()),
        "int64min" => Cpp::Int("i64", i64::MIN.into()),
        "int64max" => Cpp::Int("i64", i64::MAX.into()),
        "uint32max" => Cpp::Int("u32", u32::MAX.into()),
        "uint64max" => Cpp::Int("u64", u64::MAX.into()),
        "int32max_plus_one" => Cpp::Int("i64", i128::from(i32::MAX) + 1),
        "int32min_minus_one" => Cpp::Int("i64", i128::from(i32::MIN) - 1),
        "uint32max_plus_one" => Cpp::Int("i64", i128::from(u32::MAX) + 1),
        "int64max_plus_one" => Cpp::Int("u64", i128::from(i64::MAX) + 1),
        "date_min" | "kDateMin" => Cpp::Int("i32", -719_162),
        "date_max" | "kDateMax" => Cpp::Int("i32", 2_932_896),
        "timestamp_min" | "micros_min" | "kTimestampMin" => Cpp::Int("i64", timestamp_min),
        "timestamp_max" | "micros_max" | "kTimestampMax" => Cpp::Int("i64", timestamp_max),
        "millis_min" => Cpp::Int("i64", timestamp_min / 1000),
        "millis_max" => Cpp::Int("i64", timestamp_max / 1000),
        "seconds_min" => Cpp::Int("i64", timestamp_min / 1_000_000),
        "seconds_max" => Cpp::Int("i64", timestamp_max / 1_000_000),
        "floatmax" => Cpp::Float(f32::MAX),
        "floatmin" => Cpp::Float(f32::MIN),
        "floatminpositive" => Cpp::Float(f32::MIN_POSITIVE),
        "float_pos_inf" => Cpp::Float(f32::INFINITY),
        "float_neg_inf" => Cpp::Float(f32::NEG_INFINITY),
        "float_nan" | "float_neg_nan" => Cpp::Float(f32::NAN),
        "INFINITY" => Cpp::Float(f32::INFINITY),
        "NAN" => Cpp::Float(f32::NAN),
        "doublemax" => Cpp::Double(f64::MAX),
        "doublemin" => Cpp::Double(f64::MIN),
        "doubleminpositive" => Cpp::Double(f64::MIN_POSITIVE),
        "double_pos_inf" => Cpp::Double(f64::INFINITY),
        "double_neg_inf" => Cpp::Double(f64::NEG_INFINITY),
        "double_nan" | "double_neg_nan" => Cpp::Double(f64::NAN),
        "kApproximate" | "kOneUlp" | "kDefaultFloatMargin" => Cpp::Approximate,
        "OUT_OF_RANGE" | "kOutOfRange" => Cpp::Code("OUT_OF_RANGE".to_owned(), String::new()),
        "INVALID_ARGUMENT" | "kInvalidArgument" => Cpp::Code("INVALID_ARGUMENT".to_owned(), String::new()),
        "OK" | "kOk" => Cpp::Code("OK".to_owned(), String::new()),
        "kMicroseconds" | "kNanoseconds" | "kPicoseconds" => Cpp::Name(name.to_owned()),
        name if name.starts_with("FEATURE_") => Cpp::Feature(name["FEATURE_".len()..].to_owned()),
        "numeric_limits<int64_t>" => return sql(Value::Null, Type::Int64),
        _ => return None,
    })
}

fn as_part(name: &str) -> Option<String> {
    match name {
        "YEAR" | "QUARTER" | "MONTH" | "WEEK" | "DAY" | "HOUR" | "MINUTE" | "SECOND" | "MILLISECOND"
        | "MICROSECOND" | "NANOSECOND" | "PICOSECOND" | "ISOWEEK" | "ISOYEAR" | "DATE" | "DAYOFWEEK"
        | "DAYOFYEAR" | "DATETIME" | "TIME" => Some(name.to_owned()),
        name => name.strip_prefix("WEEK_").map(|day| format!("WEEK({day})")),
    }
}

fn binary(op: &str, left: Cpp, right: Cpp) -> Cpp {
    match (left, right) {
        (Cpp::Text(mut left), Cpp::Text(right)) if op == "+" => {
            left.extend(right);
            Cpp::Text(left)
        }
        (Cpp::Text(mut left), Cpp::Char(right)) if op == "+" => {
            left.push(right);
            Cpp::Text(left)
        }
        (Cpp::Name(left), Cpp::Name(right)) if op == "==" => Cpp::Bool(left == right),
        (Cpp::Name(left), Cpp::Name(right)) if op == "!=" => Cpp::Bool(left != right),
        (Cpp::Char(left), Cpp::Char(right)) if op == "==" || op == "!=" => {
            Cpp::Bool((left == right) == (op == "=="))
        }
        (Cpp::Int(_, left), Cpp::Char(right)) if op == "==" || op == "!=" => {
            Cpp::Bool((left == i128::from(right)) == (op == "=="))
        }
        (Cpp::Int(first, left), Cpp::Int(second, right)) => {
            let compared = match op {
                "==" => Some(left == right),
                "!=" => Some(left != right),
                "<" => Some(left < right),
                "<=" => Some(left <= right),
                ">" => Some(left > right),
                ">=" => Some(left >= right),
                _ => None,
            };
            if let Some(compared) = compared {
                return Cpp::Bool(compared);
            }
            let rank = |of: &str| ["i32", "u32", "i64", "u64"].iter().position(|name| *name == of);
            let of = if rank(first) >= rank(second) { first } else { second };
            let shift = u32::try_from(right).unwrap_or(0);
            let result = match op {
                "+" => left.checked_add(right),
                "-" => left.checked_sub(right),
                "*" => left.checked_mul(right),
                "/" => left.checked_div(right),
                "%" => left.checked_rem(right),
                "<<" => left.checked_shl(shift),
                ">>" => left.checked_shr(shift),
                "|" => Some(left | right),
                "&" => Some(left & right),
                "^" => Some(left ^ right),
                _ => None,
            };
            result.map_or_else(|| unknown("arithmetic"), |result| Cpp::Int(of, result))
        }
        (left, right) => {
            let double = |value: &Cpp| match value {
                Cpp::Int(_, number) => Some(*number as f64),
                Cpp::Float(number) => Some(f64::from(*number)),
                Cpp::Double(number) => Some(*number),
                _ => None,
            };
            let is_narrow = !matches!(left, Cpp::Double(_)) && !matches!(right, Cpp::Double(_));
            let (Some(left), Some(right)) = (double(&left), double(&right)) else {
                return unknown("arithmetic");
            };
            let result = match op {
                "+" => left + right,
                "-" => left - right,
                "*" => left * right,
                "/" => left / right,
                _ => return unknown("arithmetic"),
            };
            if is_narrow { Cpp::Float(result as f32) } else { Cpp::Double(result) }
        }
    }
}

/// The elements of an array in double braces.
fn unbraced(value: Cpp) -> Cpp {
    match value {
        Cpp::List(mut all) if all.len() == 1 && matches!(all[0], Cpp::List(_)) => all.remove(0),
        value => value,
    }
}

/// A case whose result is the opposite.
fn inverted(item: Cpp) -> Cpp {
    match item {
        Cpp::List(mut parts) => {
            if let Some(Cpp::Bool(value) | Cpp::Sql(Value::Bool(value), _)) = parts.get_mut(1) {
                *value = !*value;
            }
            Cpp::List(parts)
        }
        other => other,
    }
}

fn struct_type(fields: &[Cpp]) -> Cpp {
    let field = |field: &Cpp| match field {
        Cpp::List(pair) => match &pair[..] {
            [Cpp::Text(name), Cpp::Type(of)] => {
                Some((String::from_utf8_lossy(name).into_owned(), of.clone()))
            }
            _ => None,
        },
        _ => None,
    };
    fields
        .iter()
        .map(field)
        .collect::<Option<Vec<_>>>()
        .map_or_else(|| unknown("a type"), |fields| Cpp::Type(Type::Struct(fields)))
}

/// A value of C++ as one of SQL, as `ValueConstructor` makes it.
pub(crate) fn sql(value: Cpp) -> Result<(Value, Type), String> {
    let foreign = |of: &str, number: i128| {
        Ok((Value::Other(format!("CAST({number} AS {of})")), Type::Other(of.to_owned())))
    };
    match value {
        Cpp::Sql(value, of) => Ok((value, of)),
        Cpp::Bool(value) => Ok((Value::Bool(value), Type::Bool)),
        Cpp::Int("i64", number) => match i64::try_from(number) {
            Ok(number) => Ok((Value::Int64(number), Type::Int64)),
            Err(_) => Err("numbers out of range".to_owned()),
        },
        Cpp::Int("i32", number) => foreign("INT32", number),
        Cpp::Int("u32", number) => foreign("UINT32", number),
        Cpp::Int(_, number) => foreign("UINT64", number),
        Cpp::Float(number) => Ok((Value::Float32(number), Type::Float32)),
        Cpp::Double(number) => Ok((Value::Float64(number), Type::Float64)),
        Cpp::Text(bytes) => match String::from_utf8(bytes) {
            Ok(text) => Ok((Value::Text(text), Type::Text)),
            Err(_) => Err("texts that are not UTF-8".to_owned()),
        },
        Cpp::Part(part) => Ok((Value::Other(part), Type::Other(String::new()))),
        Cpp::Name(name) if as_part(&name).is_some() => {
            Ok((Value::Other(as_part(&name).unwrap_or_default()), Type::Other(String::new())))
        }
        Cpp::Unknown(reason) => Err(reason),
        _ => Err("values that are not understood".to_owned()),
    }
}

fn array(element: Option<Type>, values: Vec<Cpp>) -> Cpp {
    let mut elements = Vec::with_capacity(values.len());
    let mut of = element;
    for value in values {
        match sql(value) {
            Ok((value, found)) => {
                of.get_or_insert(found);
                elements.push(value);
            }
            Err(reason) => return unknown(reason),
        }
    }
    match of {
        Some(of) => Cpp::Sql(Value::Array { is_ordered: true, elements }, Type::Array(Box::new(of))),
        None => unknown("an array without a type"),
    }
}

/// The functions of the test library that make values and types.
fn known(name: &str, arguments: &[Cpp]) -> Option<Cpp> {
    let text = |value: &Cpp| if let Cpp::Text(bytes) = value { Some(bytes.clone()) } else { None };
    let int = |value: &Cpp| if let Cpp::Int(_, number) = value { i64::try_from(*number).ok() } else { None };
    let float = |value: &Cpp| match value {
        Cpp::Int(_, number) => Some(*number as f64),
        Cpp::Float(number) => Some(f64::from(*number)),
        Cpp::Double(number) => Some(*number),
        _ => None,
    };
    let made = |value: Option<Value>, of: Type| {
        Some(value.map_or_else(
            || unknown(format!("{name} of what is not understood")),
            |value| Cpp::Sql(value, of),
        ))
    };
    let first = arguments.first();
    if let Some(of) = name.strip_prefix("Null")
        && arguments.is_empty()
        && !of.is_empty()
    {
        return Some(Cpp::Sql(Value::Null, Type::of_name(of)));
    }
    if let Some(of) = name.strip_suffix("ArrayType")
        && arguments.is_empty()
        && !of.is_empty()
    {
        return Some(Cpp::Type(Type::Array(Box::new(Type::of_name(of)))));
    }
    if let Some(of) = name.strip_suffix("Type")
        && arguments.is_empty()
        && !matches!(Type::of_name(of), Type::Other(_))
    {
        return Some(Cpp::Type(Type::of_name(of)));
    }
    if let Some(of) = name.strip_suffix("Array")
        && !of.is_empty()
        && !matches!(Type::of_name(of), Type::Other(_))
        && let [Cpp::List(values)] = arguments
    {
        let values = values
            .iter()
            .map(|value| known(of, std::slice::from_ref(value)).unwrap_or_else(|| unknown(name)))
            .collect();
        return Some(array(Some(Type::of_name(of)), values));
    }
    Some(match name {
        "True" => Cpp::Sql(Value::Bool(true), Type::Bool),
        "False" => Cpp::Sql(Value::Bool(false), Type::Bool),
        "Bool" => {
            return made(
                if let Some(Cpp::Bool(value)) = first { Some(Value::Bool(*value)) } else { None },
                Type::Bool,
            );
        }
        "Int64" => return made(first.and_then(int).map(Value::Int64), Type::Int64),
        "Float" => {
            return made(first.and_then(float).map(|number| Value::Float32(number as f32)), Type::Float32);
        }
        "Double" => return made(first.and_then(float).map(Value::Float64), Type::Float64),
        "String" | "Bytes" if arguments.is_empty() => return None,
        "String" => match first.and_then(text).map(String::from_utf8) {
            Some(Ok(text)) => Cpp::Sql(Value::Text(text), Type::Text),
            Some(Err(_)) => unknown("texts that are not UTF-8"),
            None => return made(None, Type::Text),
        },
        "Bytes" => return made(first.and_then(text).map(Value::Bytes), Type::Bytes),
        "StringToBytes" => match first {
            Some(Cpp::Sql(Value::Text(text), _)) => {
                Cpp::Sql(Value::Bytes(text.clone().into_bytes()), Type::Bytes)
            }
            Some(Cpp::Sql(Value::Null, _)) => Cpp::Sql(Value::Null, Type::Bytes),
            _ => unknown("StringToBytes"),
        },
        "Date" => return made(first.and_then(int).map(Value::Date), Type::Date),
        "DateFromStr" => {
            let days = first.and_then(text).and_then(|text| parse_date(&String::from_utf8_lossy(&text)));
            return made(days.map(Value::Date), Type::Date);
        }
        "Timestamp" | "TimestampFromUnixMicros" => {
            if let Some(Cpp::Sql(Value::Timestamp(_), _)) = first {
                return first.cloned();
            }
            return made(first.and_then(int).map(Value::Timestamp), Type::Timestamp);
        }
        "TimestampFromStr" | "ParseTimestampFromStr" => {
            let micros =
                first.and_then(text).and_then(|text| parse_timestamp(&String::from_utf8_lossy(&text)));
            return made(micros.map(Value::Timestamp), Type::Timestamp);
        }
        "Value" => match first {
            Some(Cpp::Sql(..)) => return first.cloned(),
            _ => return None,
        },
        "ValueConstructor" => return first.cloned(),
        "Null" => match first {
            Some(Cpp::Type(of)) => Cpp::Sql(Value::Null, of.clone()),
            _ => unknown("Null of a type"),
        },
        "EmptyArray" => match first {
            Some(Cpp::Type(of)) => {
                Cpp::Sql(Value::Array { is_ordered: true, elements: Vec::new() }, of.clone())
            }
            _ => unknown("EmptyArray of a type"),
        },
        "Array" | "MakeArray" | "UnsafeArray" => match arguments {
            [Cpp::Type(Type::Array(element)), Cpp::List(values)] => {
                array(Some((**element).clone()), values.clone())
            }
            [Cpp::List(values)] | [Cpp::List(values), _] => array(None, values.clone()),
            _ => unknown("Array"),
        },
        "MakeArrayType" => match first {
            Some(Cpp::Type(of)) => Cpp::Type(Type::Array(Box::new(of.clone()))),
            _ => unknown("MakeArrayType"),
        },
        "MakeStructType" => match first {
            Some(Cpp::List(fields)) => struct_type(fields),
            _ => unknown("MakeStructType"),
        },
        "Struct" => match arguments {
            [Cpp::List(names), Cpp::List(values)] => {
                let mut fields = Vec::new();
                let mut all = Vec::new();
                for (name, value) in names.iter().zip(values) {
                    match sql(value.clone()) {
                        Ok((value, of)) => {
                            fields.push((
                                String::from_utf8_lossy(&text(name).unwrap_or_default()).into_owned(),
                                of,
                            ));
                            all.push(value);
                        }
                        Err(reason) => return Some(unknown(reason)),
                    }
                }
                Cpp::Sql(Value::Struct(all), Type::Struct(fields))
            }
            [Cpp::Type(Type::Struct(fields)), Cpp::List(values)] => {
                let all: Result<Vec<Value>, String> =
                    values.iter().map(|value| sql(value.clone()).map(|(value, _)| value)).collect();
                all.map_or_else(unknown, |all| Cpp::Sql(Value::Struct(all), Type::Struct(fields.clone())))
            }
            _ => unknown("Struct"),
        },
        "Enum" => match arguments {
            [_, Cpp::Text(part)] => {
                as_part(&String::from_utf8_lossy(part)).map_or_else(|| unknown("Enum"), Cpp::Part)
            }
            [_, Cpp::Name(part)] => as_part(part).map_or_else(|| unknown("Enum"), Cpp::Part),
            _ => unknown("Enum"),
        },
        "GetDatePartValue" => match first {
            Some(Cpp::Name(part)) => as_part(part).map_or_else(|| unknown("Enum"), Cpp::Part),
            Some(Cpp::Part(_)) => return first.cloned(),
            _ => unknown("Enum"),
        },
        "Int32" => Cpp::Sql(
            Value::Other(format!("CAST({} AS INT32)", first.and_then(int).unwrap_or(0))),
            Type::Other("INT32".to_owned()),
        ),
        "Uint32"
        | "Uint64"
        | "Numeric"
        | "NumericFromDouble"
        | "BigNumeric"
        | "BigNumericFromDouble"
        | "Json"
        | "Datetime"
        | "Time"
        | "Interval"
        | "Range"
        | "Uuid"
        | "DatetimeMicros"
        | "DatetimeNanos"
        | "TimeMicros"
        | "TimeNanos"
        | "KitchenSink"
        | "Proto"
        | "DatetimeFromStr"
        | "TimeFromStr"
        | "JsonFromString"
        | "Map" => {
            let of = name.trim_end_matches("FromDouble").trim_end_matches("Micros").trim_end_matches("Nanos");
            let of = of
                .trim_end_matches("FromStr")
                .trim_end_matches("FromString")
                .replace("KitchenSink", "PROTO")
                .to_ascii_uppercase();
            Cpp::Sql(Value::Other(format!("CAST('1' AS {of})")), Type::Other(of))
        }
        "QueryParamsWithResult" | "FunctionTestCall" => match arguments {
            [Cpp::List(all)] if matches!(all.first(), Some(Cpp::List(_) | Cpp::Text(_))) => {
                Cpp::List(all.clone())
            }
            all => Cpp::List(all.to_vec()),
        },
        "CivilTimeTestCase" => Cpp::List(arguments.to_vec()),
        "OutOfRangeError" => Cpp::Code(
            "OUT_OF_RANGE".to_owned(),
            first.and_then(text).map(|text| String::from_utf8_lossy(&text).into_owned()).unwrap_or_default(),
        ),
        "InvalidArgumentError" => Cpp::Code("INVALID_ARGUMENT".to_owned(), String::new()),
        "FunctionEvalError" | "EvalError" => Cpp::Code("OUT_OF_RANGE".to_owned(), String::new()),
        "OkStatus" => Cpp::Code("OK".to_owned(), String::new()),
        "string" | "string_view" => match arguments {
            [Cpp::Text(text)] => Cpp::Text(text.clone()),
            [Cpp::Text(text), Cpp::Int(_, len)] => {
                Cpp::Text(text.iter().copied().take(usize::try_from(*len).unwrap_or(0)).collect())
            }
            [Cpp::Int(_, len), Cpp::Char(byte)] => Cpp::Text(vec![*byte; usize::try_from(*len).unwrap_or(0)]),
            [] => Cpp::Text(Vec::new()),
            _ => unknown("string"),
        },
        // Of numbers alone: `%04d`.
        "StrFormat" => {
            let mut parts =
                first.and_then(text).map(|format| String::from_utf8_lossy(&format).into_owned())?;
            for number in arguments[1..].iter().map(int) {
                let (Some(start), Some(number)) = (parts.find('%'), number) else {
                    return Some(unknown("StrFormat"));
                };
                let Some(end) = parts[start..].find('d') else { return Some(unknown("StrFormat")) };
                let width = parts[start + 1..start + end].parse().unwrap_or(0);
                parts.replace_range(start..=start + end, &format!("{number:0width$}"));
            }
            Cpp::Text(parts.into_bytes())
        }
        "StrCat" | "StrAppend" => {
            let shown = |value: &Cpp| match value {
                Cpp::Text(text) => Some(text.clone()),
                Cpp::Int(_, number) => Some(number.to_string().into_bytes()),
                _ => None,
            };
            arguments
                .iter()
                .map(shown)
                .collect::<Option<Vec<_>>>()
                .map_or_else(|| unknown("StrCat"), |all| Cpp::Text(all.concat()))
        }
        "numeric_limits<int32_t>max" => constant("int32max")?,
        "numeric_limits<int32_t>min" | "numeric_limits<int32_t>lowest" => constant("int32min")?,
        "numeric_limits<int64_t>max" => constant("int64max")?,
        "numeric_limits<int64_t>min" | "numeric_limits<int64_t>lowest" => constant("int64min")?,
        "numeric_limits<uint32_t>max" => constant("uint32max")?,
        "numeric_limits<uint64_t>max" => constant("uint64max")?,
        "numeric_limits<float>max" => constant("floatmax")?,
        "numeric_limits<float>min" => constant("floatminpositive")?,
        "numeric_limits<float>lowest" => constant("floatmin")?,
        "numeric_limits<double>max" => constant("doublemax")?,
        "numeric_limits<double>min" => constant("doubleminpositive")?,
        "numeric_limits<double>lowest" => constant("doublemin")?,
        "numeric_limits<float>infinity" => Cpp::Float(f32::INFINITY),
        "numeric_limits<float>quiet_NaN" => Cpp::Float(f32::NAN),
        "numeric_limits<double>infinity" => Cpp::Double(f64::INFINITY),
        "numeric_limits<double>quiet_NaN" => Cpp::Double(f64::NAN),
        "UlpMargin" | "UlpMarginStrictZero" | "PercentMargin" => Cpp::Approximate,
        "move" => return first.cloned(),
        "vector" => Cpp::List(arguments.to_vec()),
        "numeric_limits<float>denorm_min" => Cpp::Float(f32::from_bits(1)),
        "numeric_limits<double>denorm_min" => Cpp::Double(f64::from_bits(1)),
        "int64_t" | "static_cast<int64_t>" => {
            first.map(int)?.map_or_else(|| unknown("a cast"), |number| Cpp::Int("i64", number.into()))
        }
        "static_cast<float>" => {
            first.map(float)?.map_or_else(|| unknown("a cast"), |number| Cpp::Float(number as f32))
        }
        "static_cast<double>" => first.map(float)?.map_or_else(|| unknown("a cast"), Cpp::Double),
        "static_cast<char>" => {
            first.map(int)?.map_or_else(|| unknown("a cast"), |number| Cpp::Char((number & 0xff) as u8))
        }
        _ => return None,
    })
}

/// A method of a value.
fn method_of(value: Cpp, method: &str, arguments: Vec<Cpp>) -> Cpp {
    match (value, method) {
        (value @ Cpp::Unknown(_), _) => value,
        (
            Cpp::List(mut all),
            "WrapWithFeature"
            | "WrapWithFeatureSet"
            | "AddRequiredFeature"
            | "AddRequiredFeatures"
            | "AddProhibitedFeature"
            | "AddProhibitedFeatures",
        ) => {
            for argument in arguments {
                match argument {
                    _ if method.starts_with("AddProhibited") => {}
                    Cpp::List(features) => all.extend(features),
                    feature @ Cpp::Feature(_) => all.push(feature),
                    _ => {}
                }
            }
            Cpp::List(all)
        }
        (Cpp::List(all), "params") => match all.first() {
            Some(arguments @ Cpp::List(_)) => arguments.clone(),
            _ => Cpp::List(all),
        },
        (value @ Cpp::List(_), "begin" | "end") => value,
        (value, "value" | "ValueOrDie" | "c_str" | "get" | "data") => value,
        (Cpp::List(all), "size") => Cpp::Int("i32", all.len() as i128),
        (Cpp::Text(text), "size" | "length") => Cpp::Int("i32", text.len() as i128),
        (Cpp::Text(text), "empty") => Cpp::Bool(text.is_empty()),
        (Cpp::List(all), "param") => match (arguments.first(), all.into_iter().next()) {
            (Some(Cpp::Int(_, at)), Some(Cpp::List(all))) => usize::try_from(*at)
                .ok()
                .and_then(|at| all.get(at).cloned())
                .unwrap_or_else(|| unknown("param")),
            _ => unknown("param"),
        },
        (Cpp::Sql(Value::Int64(number), _), "int64_value") => Cpp::Int("i64", number.into()),
        (Cpp::Sql(value, _), "is_null") => Cpp::Bool(value == Value::Null),
        (Cpp::Sql(_, of), "type") => Cpp::Type(of),
        (Cpp::Type(of), "Equals") => {
            Cpp::Bool(matches!(arguments.first(), Some(Cpp::Type(other)) if of == *other))
        }
        (Cpp::Type(of), "IsArray") => Cpp::Bool(matches!(of, Type::Array(_))),
        (Cpp::Text(text), "substr") => {
            let number = |at: usize| {
                if let Some(Cpp::Int(_, number)) = arguments.get(at) {
                    usize::try_from(*number).ok()
                } else {
                    None
                }
            };
            let from = number(0).unwrap_or(0).min(text.len());
            let len = number(1).unwrap_or(text.len()).min(text.len() - from);
            Cpp::Text(text[from..from + len].to_vec())
        }
        (Cpp::List(all), "back") => all.last().cloned().unwrap_or_else(|| unknown("back")),
        (_, method) => unknown(format!("the method {method}")),
    }
}

#[cfg(test)]
mod tests {
    use super::is_daylight_time;

    #[test]
    fn daylight_time_is_between_two_sundays() {
        for (text, expected) in [
            ("2015-03-08 01:59:59", false),
            ("2015-03-08 03:00:00", true),
            ("2016-03-12", false),
            ("2015-11-01 01:59:59", true),
            ("2015-11-01 02:00:00", false),
            ("2015-11-04", false),
            ("1999-07-01", true),
        ] {
            assert_eq!(is_daylight_time(text), Some(expected), "{text}");
        }
    }
}
