//! The text of a query as a syntax tree, and its literals.

use bytes::Bytes;
use sqlparser::ast::{Query, Statement, Value as Literal};
use sqlparser::dialect::BigQueryDialect;
use sqlparser::keywords::Keyword;
use sqlparser::parser::Parser;
use sqlparser::tokenizer::{Token, TokenWithSpan, Tokenizer};
use tonic::Status;

use crate::error::{invalid, unimplemented};
use crate::types::Type;
use crate::value::Value;

/// The most tokens of a query: what it nests is analyzed and dropped by recursion.
const MAX_TOKENS: usize = 8_000;

/// Parses a query.
pub(crate) fn parse(text: &str) -> Result<Box<Query>, Status> {
    let dialect = BigQueryDialect {};
    // Literals are decoded by `literal`, by the rules of GoogleSQL.
    let tokens = Tokenizer::new(&dialect, text).with_unescape(false).tokenize_with_location();
    let tokens = tokens.map_err(|error| invalid(format!("Syntax error: {error}")))?;
    let tokens = adapted(tokens);
    if tokens.len() > MAX_TOKENS {
        return Err(invalid(format!("the query has {} tokens, and the limit is {MAX_TOKENS}", tokens.len())));
    }
    let statements = Parser::new(&dialect).with_tokens_with_locations(tokens).parse_statements();
    let mut statements = statements.map_err(|error| invalid(format!("Syntax error: {error}")))?;
    match (statements.pop(), statements.is_empty()) {
        (Some(Statement::Query(query)), true) => Ok(query),
        (Some(_), true) => Err(unimplemented("statements other than SELECT")),
        (Some(_), false) => Err(invalid("Syntax error: a query is one statement")),
        (None, _) => Err(invalid("Syntax error: Unexpected end of statement")),
    }
}

/// Leaves out white space, and `IS` of `IS IN` and `IS NOT IN`, which Google's pages write and the dialect does not have. After `SAFE.`,
/// `SUBSTR` and its like are functions without a syntax of their own.
fn adapted(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let mut adapted: Vec<TokenWithSpan> = Vec::with_capacity(tokens.len());
    let keyword = |token: &Token| match token {
        Token::Word(word) => word.keyword,
        _ => Keyword::NoKeyword,
    };
    for mut token in tokens {
        if matches!(token.token, Token::Whitespace(_)) {
            continue;
        }
        if keyword(&token.token) == Keyword::IN {
            let is_negated = adapted.last().is_some_and(|last| keyword(&last.token) == Keyword::NOT);
            let before = adapted.len().checked_sub(1 + usize::from(is_negated));
            if let Some(before) = before.filter(|before| keyword(&adapted[*before].token) == Keyword::IS) {
                adapted.remove(before);
            }
        }
        if let [.., safe, period] = &adapted[..]
            && period.token == Token::Period
            && matches!(&safe.token, Token::Word(word) if word.value.eq_ignore_ascii_case("SAFE"))
            && let Token::Word(word) = &mut token.token
        {
            word.keyword = Keyword::NoKeyword;
        }
        adapted.push(token);
    }
    adapted
}

/// The value of a literal, and its type; `None` for NULL.
pub(crate) fn literal(literal: &Literal) -> Result<Option<(Value, Type)>, Status> {
    let text = |text: &str| Ok(Some((Value::Text(unescaped_text(text)?), Type::Text)));
    let bytes = |text: &str| Ok(Some((Value::Bytes(unescaped(text, true)?.into()), Type::Bytes)));
    match literal {
        Literal::Null => Ok(None),
        Literal::Boolean(value) => Ok(Some((Value::Bool(*value), Type::Bool))),
        Literal::Number(digits, _) => number(digits).map(Some),
        Literal::SingleQuotedString(raw)
        | Literal::DoubleQuotedString(raw)
        | Literal::TripleSingleQuotedString(raw)
        | Literal::TripleDoubleQuotedString(raw) => text(raw),
        Literal::SingleQuotedByteStringLiteral(raw)
        | Literal::DoubleQuotedByteStringLiteral(raw)
        | Literal::TripleSingleQuotedByteStringLiteral(raw)
        | Literal::TripleDoubleQuotedByteStringLiteral(raw) => bytes(raw),
        Literal::SingleQuotedRawStringLiteral(raw)
        | Literal::DoubleQuotedRawStringLiteral(raw)
        | Literal::TripleSingleQuotedRawStringLiteral(raw)
        | Literal::TripleDoubleQuotedRawStringLiteral(raw) => {
            Ok(Some((Value::Text(raw.clone()), Type::Text)))
        }
        other => Err(unimplemented(format!("the literal {other}"))),
    }
}

fn number(digits: &str) -> Result<(Value, Type), Status> {
    let wrong = || invalid(format!("Invalid number: {digits}"));
    if digits.contains(['.', 'e', 'E']) {
        let number: f64 = digits.parse().map_err(|_| wrong())?;
        return Ok((Value::Float64(number), Type::Float64));
    }
    let number: i64 = digits.parse().map_err(|_| invalid(format!("Invalid integer literal: {digits}")))?;
    Ok((Value::Int64(number), Type::Int64))
}

fn unescaped_text(raw: &str) -> Result<String, Status> {
    String::from_utf8(unescaped(raw, false)?).map_err(|_| invalid("a STRING literal is not UTF-8"))
}

/// Resolves the escape sequences of a literal.
fn unescaped(raw: &str, is_bytes: bool) -> Result<Vec<u8>, Status> {
    let mut out = Vec::with_capacity(raw.len());
    let mut rest = raw.chars();
    let wrong = |what: &str| invalid(format!("Syntax error: Illegal escape sequence: \\{what}"));
    let push = |out: &mut Vec<u8>, each: char| {
        out.extend_from_slice(each.encode_utf8(&mut [0; 4]).as_bytes());
    };
    while let Some(each) = rest.next() {
        if each != '\\' {
            push(&mut out, each);
            continue;
        }
        let Some(kind) = rest.next() else { return Err(wrong("")) };
        let mut code = |first: Option<char>, count: usize, radix: u32| -> Result<u32, Status> {
            let mut digits: String = first.into_iter().collect();
            digits.extend(rest.by_ref().take(count));
            let is_whole = digits.chars().all(|digit| digit.is_digit(radix));
            let number = u32::from_str_radix(&digits, radix).ok();
            number
                .filter(|_| is_whole && digits.chars().count() == count + usize::from(first.is_some()))
                .ok_or_else(|| wrong(&digits))
        };
        // A code is a byte of BYTES, and a code point of STRING.
        let number = match kind {
            'a' => 7,
            'b' => 8,
            'f' => 12,
            'n' => 10,
            'r' => 13,
            't' => 9,
            'v' => 11,
            '\\' | '?' | '"' | '\'' | '`' => u32::from(kind),
            'x' | 'X' => code(None, 2, 16)?,
            '0'..='3' => code(Some(kind), 2, 8)?,
            'u' if !is_bytes => code(None, 4, 16)?,
            'U' if !is_bytes => code(None, 8, 16)?,
            other => return Err(wrong(&other.to_string())),
        };
        match (is_bytes, u8::try_from(number), char::from_u32(number)) {
            (true, Ok(byte), _) => out.push(byte),
            (false, _, Some(point)) => push(&mut out, point),
            _ => return Err(wrong(&kind.to_string())),
        }
    }
    Ok(out)
}

/// The bytes of a text literal where BYTES are expected.
pub(crate) fn as_bytes(text: &str) -> Bytes {
    Bytes::copy_from_slice(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escape_sequences_are_those_of_googlesql() {
        for (raw, expected) in [(r"a\nb", "a\nb"), (r"\x41\101\u00e9", "AAé"), (r"\\_\'", "\\_'")] {
            assert_eq!(unescaped_text(raw).unwrap(), expected);
        }
        assert_eq!(unescaped(r"\x00\xff\377é", true).unwrap(), b"\x00\xff\xff\xc3\xa9");
        for raw in [r"\", r"\q", r"\x4", r"\xg0", r"\u12", r"\_"] {
            assert!(unescaped(raw, false).is_err(), "{raw}");
        }
        assert!(unescaped(r"\u0041", true).is_err());
    }

    #[test]
    fn a_query_is_one_select() {
        assert!(parse("SELECT _key FROM t;").is_ok());
        assert!(parse("SELECT a, FROM t WHERE _key IS IN ('a') AND _key IS NOT IN ('b')").is_ok());
        for text in ["", "SELEC _key FROM t", "SELECT 1; SELECT 2", "SELECT 'a"] {
            assert_eq!(parse(text).unwrap_err().code(), tonic::Code::InvalidArgument, "{text}");
        }
        for text in ["DELETE FROM t WHERE TRUE", "DROP TABLE t"] {
            assert_eq!(parse(text).unwrap_err().code(), tonic::Code::Unimplemented, "{text}");
        }
        let long = format!("SELECT {}1", "1+".repeat(3_990));
        assert!(parse(&long).is_ok());
        assert!(parse(&long.replace('1', "1+1")).unwrap_err().message().contains("the limit is 8000"));
    }
}
