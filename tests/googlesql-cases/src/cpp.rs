//! The part of C++ that lists of cases are written in: tokens and expressions.

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Token {
    Name(String),
    /// Its digits and its suffix in lower case.
    Number(String),
    Text(Vec<u8>),
    Char(u8),
    Sign(&'static str),
}

const SIGNS: [&str; 44] = [
    "<<=", ">>=", "...", "->", "++", "--", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "+=", "-=", "*=",
    "/=", "::", "(", ")", "[", "]", "{", "}", ",", ";", ".", "?", ":", "=", "<", ">", "+", "-", "*", "/",
    "%", "&", "|", "^", "!", "~", "#",
];

/// The tokens of a file. Names have their last part alone: `values::Int64` is `Int64`.
pub(crate) fn tokens(text: &str) -> Vec<Token> {
    let mut tokens: Vec<Token> = Vec::new();
    let mut macros: Vec<(String, Vec<u8>)> = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let name_len =
            rest.find(|each: char| !each.is_ascii_alphanumeric() && each != '_').unwrap_or(rest.len());
        if first.is_whitespace() {
            rest = rest.trim_start();
        } else if let Some(macro_text) = rest.strip_prefix("#define ")
            && let Some((name, value)) = macro_text.lines().next().and_then(|line| line.split_once(" \""))
        {
            macros.push((name.trim().to_owned(), quoted(value, '"').0));
            rest = rest.split_once('\n').map_or("", |(_, rest)| rest);
        } else if rest.starts_with("//")
            || (first == '#' && rest[1..].starts_with(|each: char| each.is_alphabetic()))
        {
            rest = rest.split_once('\n').map_or("", |(_, rest)| rest);
        } else if rest.starts_with("/*") {
            rest = rest.split_once("*/").map_or("", |(_, rest)| rest);
        } else if let Some(raw) = rest.strip_prefix("R\"") {
            let (mark, raw) = raw.split_once('(').unwrap_or((raw, ""));
            let (inner, after) = raw.split_once(&format!("){mark}\"")).unwrap_or((raw, ""));
            push_text(&mut tokens, inner.as_bytes().to_vec());
            rest = after;
        } else if rest.starts_with('"') || rest.starts_with("u8\"") {
            let (bytes, after) = quoted(&rest[rest.find('"').unwrap_or(0) + 1..], '"');
            push_text(&mut tokens, bytes);
            rest = after;
        } else if let Some(after) = rest.strip_prefix('\'') {
            let (bytes, after) = quoted(after, '\'');
            tokens.push(Token::Char(bytes.first().copied().unwrap_or(0)));
            rest = after;
        } else if first.is_ascii_digit()
            || (first == '.' && rest[1..].starts_with(|each: char| each.is_ascii_digit()))
        {
            let mut len = 0;
            let is_hex = rest.starts_with("0x") || rest.starts_with("0X");
            let bytes = rest.as_bytes();
            while len < bytes.len() {
                let each = bytes[len];
                let is_sign = matches!(each, b'+' | b'-') && !is_hex && matches!(bytes[len - 1], b'e' | b'E');
                if !(each.is_ascii_alphanumeric() || each == b'.' || each == b'\'' || is_sign) {
                    break;
                }
                len += 1;
            }
            tokens.push(Token::Number(rest[..len].replace('\'', "").to_ascii_lowercase()));
            rest = &rest[len..];
        } else if name_len > 0 {
            let name = rest[..name_len].to_owned();
            rest = &rest[name_len..];
            if let Some((_, bytes)) = macros.iter().find(|(macro_name, _)| *macro_name == name) {
                push_text(&mut tokens, bytes.clone());
                continue;
            }
            match &tokens[..] {
                [.., Token::Name(_), Token::Sign("::")] => tokens.truncate(tokens.len() - 2),
                // A member of a template keeps its template.
                [.., Token::Sign(">"), Token::Sign("::")] => {}
                [.., Token::Sign("::")] => tokens.truncate(tokens.len() - 1),
                _ => {}
            }
            tokens.push(Token::Name(name));
        } else if let Some(sign) = SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
            tokens.push(Token::Sign(sign));
            rest = &rest[sign.len()..];
        } else {
            rest = &rest[first.len_utf8()..];
        }
    }
    tokens
}

/// Adjacent literals are one.
fn push_text(tokens: &mut Vec<Token>, bytes: Vec<u8>) {
    match tokens.last_mut() {
        Some(Token::Text(before)) => before.extend(bytes),
        _ => tokens.push(Token::Text(bytes)),
    }
}

fn quoted(text: &str, quote: char) -> (Vec<u8>, &str) {
    let mut out = Vec::new();
    let mut rest = text;
    while let Some(each) = rest.chars().next() {
        rest = &rest[each.len_utf8()..];
        if each == quote {
            break;
        }
        if each != '\\' {
            out.extend(each.to_string().into_bytes());
            continue;
        }
        let Some(kind) = rest.chars().next() else { break };
        rest = &rest[kind.len_utf8()..];
        let mut code = |most: usize, radix: u32| {
            let len = rest.chars().take(most).take_while(|each| each.is_digit(radix)).count();
            let number = u32::from_str_radix(&rest[..len], radix).unwrap_or(0);
            rest = &rest[len..];
            number
        };
        match kind {
            'a' => out.push(7),
            'b' => out.push(8),
            'f' => out.push(12),
            'n' => out.push(10),
            'r' => out.push(13),
            't' => out.push(9),
            'v' => out.push(11),
            'x' => out.push((code(8, 16) & 0xff) as u8),
            'u' | 'U' => {
                let point = char::from_u32(code(if kind == 'u' { 4 } else { 8 }, 16)).unwrap_or('\u{fffd}');
                out.extend(point.to_string().into_bytes());
            }
            '0'..='7' => {
                let first = kind.to_digit(8).unwrap_or(0);
                let len = rest.chars().take(2).take_while(|each| each.is_digit(8)).count();
                let more =
                    rest[..len].chars().fold(first, |all, each| all * 8 + each.to_digit(8).unwrap_or(0));
                rest = &rest[len..];
                out.push((more & 0xff) as u8);
            }
            other => out.extend(other.to_string().into_bytes()),
        }
    }
    (out, rest)
}

#[derive(Clone, Debug)]
pub(crate) enum Expr {
    Number(String),
    Text(Vec<u8>),
    Char(u8),
    Name(String),
    List(Vec<Expr>),
    Call(Box<Expr>, Vec<Expr>),
    Member(Box<Expr>, String),
    Index(Box<Expr>, Box<Expr>),
    Unary(&'static str, Box<Expr>),
    Binary(&'static str, Box<Expr>, Box<Expr>),
    Choice(Box<Expr>, Box<Expr>, Box<Expr>),
    /// Its parameters, and its body.
    Lambda(Vec<Parameter>, Vec<Token>),
}

/// Parses expressions.
pub(crate) struct Parser<'a> {
    pub(crate) tokens: &'a [Token],
    pub(crate) at: usize,
}

type Parsed = Result<Expr, String>;

impl<'a> Parser<'a> {
    pub(crate) fn new(tokens: &'a [Token]) -> Self {
        Self { tokens, at: 0 }
    }

    pub(crate) fn is(&self, sign: &str) -> bool {
        matches!(self.tokens.get(self.at), Some(Token::Sign(found)) if *found == sign)
    }

    pub(crate) fn eat(&mut self, sign: &str) -> bool {
        let is = self.is(sign);
        self.at += usize::from(is);
        is
    }

    pub(crate) fn expr(&mut self) -> Parsed {
        let condition = self.binary(0)?;
        if !self.eat("?") {
            return Ok(condition);
        }
        let yes = self.expr()?;
        if !self.eat(":") {
            return Err("a choice".to_owned());
        }
        Ok(Expr::Choice(Box::new(condition), Box::new(yes), Box::new(self.expr()?)))
    }

    fn binary(&mut self, least: usize) -> Parsed {
        const LEVELS: [&[&str]; 8] = [
            &["||"],
            &["&&"],
            &["|"],
            &["^"],
            &["==", "!="],
            &["<=", ">=", "<", ">"],
            &["<<", ">>"],
            &["+", "-"],
        ];
        let mut left = if least == LEVELS.len() { self.product()? } else { self.binary(least + 1)? };
        while let Some(op) = LEVELS.get(least).and_then(|signs| signs.iter().find(|sign| self.is(sign))) {
            self.at += 1;
            let right = if least == LEVELS.len() { self.product()? } else { self.binary(least + 1)? };
            left = Expr::Binary(op, Box::new(left), Box::new(right));
        }
        Ok(left)
    }

    fn product(&mut self) -> Parsed {
        let mut left = self.unary()?;
        while let Some(op) = ["*", "/", "%"].into_iter().find(|sign| self.is(sign)) {
            self.at += 1;
            left = Expr::Binary(op, Box::new(left), Box::new(self.unary()?));
        }
        Ok(left)
    }

    fn unary(&mut self) -> Parsed {
        for op in ["-", "+", "!", "~", "*", "&"] {
            if self.eat(op) {
                return Ok(match op {
                    "*" | "&" | "+" => self.unary()?,
                    _ => Expr::Unary(op, Box::new(self.unary()?)),
                });
            }
        }
        let mut value = self.primary()?;
        loop {
            if self.is("(") || (self.is("{") && matches!(value, Expr::Name(_))) {
                let close = if self.eat("(") {
                    ")"
                } else {
                    self.at += 1;
                    "}"
                };
                value = Expr::Call(Box::new(value), self.list(close)?);
            } else if self.eat(".") || self.eat("->") {
                match self.tokens.get(self.at) {
                    Some(Token::Name(name)) => {
                        self.at += 1;
                        value = Expr::Member(Box::new(value), name.clone());
                    }
                    _ => return Err("a member".to_owned()),
                }
            } else if self.eat("[") {
                let index = self.expr()?;
                if !self.eat("]") {
                    return Err("an index".to_owned());
                }
                value = Expr::Index(Box::new(value), Box::new(index));
            } else {
                return Ok(value);
            }
        }
    }

    /// Expressions up to a sign.
    pub(crate) fn list(&mut self, close: &str) -> Result<Vec<Expr>, String> {
        let mut all = Vec::new();
        while !self.eat(close) {
            // `.name = value` of a struct.
            if self.is(".") {
                self.at += 2;
                self.eat("=");
            }
            all.push(self.expr()?);
            if !self.eat(",") && !self.is(close) {
                return Err(format!("a list at {:?}", self.tokens.get(self.at)));
            }
        }
        Ok(all)
    }

    fn primary(&mut self) -> Parsed {
        let token = self.tokens.get(self.at).ok_or("an end")?.clone();
        self.at += 1;
        Ok(match token {
            Token::Number(digits) => Expr::Number(digits),
            Token::Text(bytes) => Expr::Text(bytes),
            Token::Char(byte) => Expr::Char(byte),
            Token::Sign("{") => Expr::List(self.list("}")?),
            Token::Sign("(") => {
                let inner = self.expr()?;
                if !self.eat(")") {
                    return Err("parentheses".to_owned());
                }
                inner
            }
            Token::Sign("[") => {
                self.at -= 1;
                self.at = closing(self.tokens, self.at).ok_or("a lambda")? + 1;
                let mut all = Vec::new();
                if self.is("(") {
                    let end = closing(self.tokens, self.at).ok_or("a lambda")?;
                    all = parameters(&self.tokens[self.at + 1..end]);
                    self.at = end + 1;
                }
                while self.at < self.tokens.len() && !self.is("{") {
                    self.at += 1;
                }
                let end = closing(self.tokens, self.at).ok_or("a lambda")?;
                let body = self.tokens[self.at + 1..end].to_vec();
                self.at = end + 1;
                Expr::Lambda(all, body)
            }
            Token::Name(name) => {
                // `Foo<T>(…)`: the type stays in the name.
                if self.is("<")
                    && let Some(end) = self.template_end()
                {
                    let of: Vec<String> = self.tokens[self.at + 1..end]
                        .iter()
                        .filter_map(
                            |token| if let Token::Name(name) = token { Some(name.clone()) } else { None },
                        )
                        .collect();
                    self.at = end + 1;
                    if self.eat("::")
                        && let Some(Token::Name(member)) = self.tokens.get(self.at)
                    {
                        self.at += 1;
                        return Ok(Expr::Name(format!("{name}<{}>{member}", of.join(" "))));
                    }
                    return Ok(Expr::Name(match &name[..] {
                        "static_cast" | "bit_cast" => format!("{name}<{}>", of.join(" ")),
                        _ => name,
                    }));
                }
                Expr::Name(name)
            }
            other => return Err(format!("{other:?}")),
        })
    }

    /// Where the arguments of a template end that begin here, if these are some.
    fn template_end(&self) -> Option<usize> {
        let mut depth = 0;
        for (at, token) in self.tokens.iter().enumerate().skip(self.at) {
            match token {
                Token::Sign("<") => depth += 1,
                Token::Sign(">") => depth -= 1,
                Token::Sign(">>") => depth -= 2,
                Token::Name(_) | Token::Sign("*" | "&" | "," | "::") => {}
                _ => return None,
            }
            if depth <= 0 {
                let next = self.tokens.get(at + 1);
                // The lexer drops `::` before a name.
                return match next {
                    Some(Token::Sign("(" | "{" | "::")) => Some(at),
                    _ => None,
                };
            }
        }
        None
    }
}

/// The place of the bracket that closes the one at this place.
pub(crate) fn closing(tokens: &[Token], open: usize) -> Option<usize> {
    let mut depth = 0;
    for (at, token) in tokens.iter().enumerate().skip(open) {
        match token {
            Token::Sign("(" | "[" | "{") => depth += 1,
            Token::Sign(")" | "]" | "}") => {
                depth -= 1;
                if depth == 0 {
                    return Some(at);
                }
            }
            _ => {}
        }
    }
    None
}

/// A parameter of a function.
#[derive(Clone, Debug)]
pub(crate) struct Parameter {
    pub(crate) name: String,
    /// The names in its type.
    pub(crate) of: Vec<String>,
    pub(crate) default: Vec<Token>,
}

pub(crate) fn parameters(tokens: &[Token]) -> Vec<Parameter> {
    let (mut all, mut depth, mut start) = (Vec::new(), 0, 0);
    let mut ends = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        match token {
            Token::Sign("<" | "(" | "{" | "[") => depth += 1,
            Token::Sign(">" | ")" | "}" | "]") => depth -= 1,
            Token::Sign(",") if depth == 0 => ends.push(at),
            _ => {}
        }
    }
    for end in ends.into_iter().chain([tokens.len()]) {
        let parameter = &tokens[start.min(end)..end];
        start = end + 1;
        let equals = parameter.iter().position(|token| *token == Token::Sign("="));
        let (head, default) = parameter.split_at(equals.unwrap_or(parameter.len()));
        let mut names: Vec<String> = head
            .iter()
            .filter_map(|token| if let Token::Name(name) = token { Some(name.clone()) } else { None })
            .collect();
        if let Some(name) = names.pop() {
            all.push(Parameter { name, of: names, default: default.iter().skip(1).cloned().collect() });
        }
    }
    all
}
