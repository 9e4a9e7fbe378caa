//! The text of a query as a syntax tree, and its literals.

use bytes::Bytes;
use sqlparser::ast::{Query, Statement, Value as Literal};
use sqlparser::dialect::BigQueryDialect;
use sqlparser::keywords::Keyword;
use sqlparser::parser::Parser;
use sqlparser::tokenizer::{Token, TokenWithSpan};
use tonic::Status;

use crate::error::{invalid, unimplemented};
use crate::lex;
use crate::types::Type;
use crate::value::Value;

/// Parses a query.
pub(crate) fn parse(text: &str) -> Result<Box<Query>, Status> {
    let dialect = BigQueryDialect {};
    let tokens = adapted(lex::tokens(text)?);
    let statements = Parser::new(&dialect).with_tokens_with_locations(tokens).parse_statements();
    let mut statements = statements.map_err(|error| invalid(format!("Syntax error: {error}")))?;
    match (statements.pop(), statements.is_empty()) {
        (Some(Statement::Query(query)), true) => Ok(query),
        (Some(_), true) => Err(unimplemented("statements other than SELECT")),
        (Some(_), false) => Err(invalid("Syntax error: a query is one statement")),
        (None, _) => Err(invalid("Syntax error: Unexpected end of statement")),
    }
}

/// Leaves out `IS` of `IS IN` and `IS NOT IN`, which Google's pages write and the parser does not have.
fn adapted(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let mut adapted: Vec<TokenWithSpan> = Vec::with_capacity(tokens.len());
    let keyword = |token: &Token| match token {
        Token::Word(word) => word.keyword,
        _ => Keyword::NoKeyword,
    };
    for token in tokens {
        if keyword(&token.token) == Keyword::IN {
            let is_negated = adapted.last().is_some_and(|last| keyword(&last.token) == Keyword::NOT);
            let before = adapted.len().checked_sub(1 + usize::from(is_negated));
            if let Some(before) = before.filter(|before| keyword(&adapted[*before].token) == Keyword::IS) {
                adapted.remove(before);
            }
        }
        adapted.push(token);
    }
    adapted
}

/// The value of a literal, and its type; `None` for NULL.
pub(crate) fn literal(literal: &Literal) -> Result<Option<(Value, Type)>, Status> {
    match literal {
        Literal::Null => Ok(None),
        Literal::Boolean(value) => Ok(Some((Value::Bool(*value), Type::Bool))),
        Literal::Number(digits, _) => number(digits).map(Some),
        Literal::TripleSingleQuotedString(text) => Ok(Some((Value::Text(text.clone()), Type::Text))),
        Literal::SingleQuotedByteStringLiteral(bytes) => {
            Ok(Some((Value::Bytes(lex::bytes_of(bytes).into()), Type::Bytes)))
        }
        other => Err(unimplemented(format!("the literal {other}"))),
    }
}

fn number(digits: &str) -> Result<(Value, Type), Status> {
    let wrong = || invalid(format!("Invalid floating point literal: {digits}"));
    if digits.contains(['.', 'e', 'E']) {
        let number = digits.parse().ok().filter(|number: &f64| number.is_finite());
        return Ok((Value::Float64(number.ok_or_else(wrong)?), Type::Float64));
    }
    let number: i64 = digits.parse().map_err(|_| invalid(format!("Invalid integer literal: {digits}")))?;
    Ok((Value::Int64(number), Type::Int64))
}

/// The bytes of a text literal where BYTES are expected.
pub(crate) fn as_bytes(text: &str) -> Bytes {
    Bytes::copy_from_slice(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert!(parse(&long.replace('1', "1+1")).unwrap_err().message().contains("8000 tokens"));
    }
}
