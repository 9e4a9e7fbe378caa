//! The text of a query as a syntax tree, and its literals.

use std::any::TypeId;

use bytes::Bytes;
use sqlparser::ast::{Query, Statement, Value as Literal};
use sqlparser::dialect::{BigQueryDialect, Dialect, Precedence};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Location, Token, TokenWithSpan};
use tonic::Status;

use crate::error::{invalid, unimplemented};
use crate::lex;
use crate::types::Type;
use crate::value::Value;

/// BigQuery's dialect, as far as queries need it, with the shifts of GoogleSQL.
#[derive(Debug)]
struct GoogleSql;

macro_rules! as_in_bigquery {
    ($($name:ident)*) => { $(fn $name(&self) -> bool { BigQueryDialect.$name() })* };
}

impl Dialect for GoogleSql {
    as_in_bigquery! {
        require_interval_qualifier supports_comma_separated_trim supports_group_by_expr supports_pipe_operator
        supports_projection_trailing_commas supports_select_expr_star supports_select_wildcard_except
        supports_select_wildcard_replace supports_struct_literal supports_table_versioning
        supports_window_clause_named_window_reference supports_window_function_null_treatment_arg
    }

    // The parser asks for it by its type.
    fn dialect(&self) -> TypeId {
        BigQueryDialect.dialect()
    }

    fn is_identifier_start(&self, each: char) -> bool {
        BigQueryDialect.is_identifier_start(each)
    }

    fn is_identifier_part(&self, each: char) -> bool {
        BigQueryDialect.is_identifier_part(each)
    }

    fn is_column_alias(&self, keyword: &Keyword, parser: &mut Parser<'_>) -> bool {
        BigQueryDialect.is_column_alias(keyword, parser)
    }

    fn supports_bitwise_shift_operators(&self) -> bool {
        true
    }

    fn get_next_precedence(&self, parser: &Parser<'_>) -> Option<Result<u8, ParserError>> {
        let is_shift = matches!(parser.peek_token_ref().token, Token::ShiftLeft | Token::ShiftRight);
        // Between that of `+` and that of `&`.
        is_shift.then(|| Ok(self.prec_value(Precedence::Xor)))
    }
}

/// How many brackets, CASEs and NOTs may be inside of each other. Of many of them the parser tries two readings where it fails, so that each
/// level may double its time: 16 take less than half a second.
const MOST_NESTED: usize = 16;

fn check_depth(tokens: &[TokenWithSpan]) -> Result<(), Status> {
    // Of each bracket and CASE that is open: it, and the NOTs in it that stand before the current token.
    let mut levels = vec![0];
    for token in tokens {
        let last = levels.len() - 1;
        match (&token.token, keyword(&token.token)) {
            (Token::LParen | Token::LBracket, _) | (_, Keyword::CASE) => levels.push(1),
            (Token::RParen | Token::RBracket, _) | (_, Keyword::END) if last > 0 => {
                levels.pop();
            }
            (_, Keyword::NOT | Keyword::INTERVAL) => levels[last] += 1,
            // The operand of a NOT ends.
            (Token::Comma, _) | (_, Keyword::AND | Keyword::OR | Keyword::THEN | Keyword::WHERE) => {
                levels[last] = usize::from(last > 0);
            }
            _ => {}
        }
        if levels.iter().sum::<usize>() > MOST_NESTED {
            let what = format!("more than {MOST_NESTED} brackets, CASEs and NOTs inside of each other");
            return Err(unimplemented(what));
        }
    }
    Ok(())
}

/// Parses a query.
pub(crate) fn parse(text: &str) -> Result<Box<Query>, Status> {
    let tokens = with_typed_arrays(adapted(lex::tokens(text)?))?;
    check_depth(&tokens)?;
    let parsed = Parser::new(&GoogleSql).with_tokens_with_locations(tokens.clone()).parse_statements();
    let mut statements = parsed.map_err(|error| match foreign_syntax(&tokens, &error.to_string()) {
        Some(what) => unimplemented(what),
        None if error == ParserError::RecursionLimitExceeded => {
            unimplemented("expressions and queries nested this deeply")
        }
        None => invalid(format!("Syntax error: {error}")),
    })?;
    match (statements.pop(), statements.is_empty()) {
        (Some(Statement::Query(query)), true) => Ok(query),
        (Some(_), true) => Err(unimplemented("statements other than SELECT")),
        (Some(_), false) => Err(invalid("Syntax error: a query is one statement")),
        (None, _) => Err(invalid("Syntax error: Unexpected end of statement")),
    }
}

fn keyword(token: &Token) -> Keyword {
    if let Token::Word(word) = token { word.keyword } else { Keyword::NoKeyword }
}

/// Leaves out `IS` of `IS IN` and `IS NOT IN`, which Google's pages write and the parser does not have.
fn adapted(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let mut adapted: Vec<TokenWithSpan> = Vec::with_capacity(tokens.len());
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

/// What GoogleSQL has and the parser does not, where the parser failed: its error says where.
fn foreign_syntax(tokens: &[TokenWithSpan], error: &str) -> Option<&'static str> {
    // Words and signs that follow each other.
    const KNOWN: [(&[&str], &str); 15] = [
        (&["|>"], "pipe syntax"),
        (&["@", "{"], "hints"),
        (&["WITH", "OFFSET"], "WITH OFFSET after another array than that of UNNEST"),
        (&["JOIN", "UNNEST"], "JOIN after WITH OFFSET"),
        (&["USING", "("], "JOIN with USING"),
        (&["CORRESPONDING"], "CORRESPONDING"),
        (&["FULL", "UNION"], "FULL UNION"),
        (&["NEW"], "NEW"),
        (&["SELECT", "AS"], "SELECT AS a type"),
        (&["STRUCT", "(", ")"], "structs without fields"),
        (&["STRUCT", "<", ">"], "structs without fields"),
        (&["STRUCT", "<>"], "structs without fields"),
        (&["RANGE", "<"], "the type RANGE"),
        (&["TABLESAMPLE"], "TABLESAMPLE"),
        (&["COLLATE"], "COLLATE"),
    ];
    match tokens.first().map(|first| keyword(&first.token)) {
        Some(Keyword::INSERT | Keyword::UPDATE | Keyword::DELETE | Keyword::MERGE) => {
            return Some("statements other than SELECT");
        }
        Some(Keyword::FROM) => return Some("pipe syntax"),
        _ => {}
    }
    let (line, column) = error.rsplit_once("Line: ")?.1.split_once(", Column: ")?;
    let place = Location::new(line.parse().ok()?, column.parse().ok()?);
    let at = tokens.iter().position(|token| token.span.start == place).unwrap_or(tokens.len());
    let near = &tokens[at.saturating_sub(2)..tokens.len().min(at + 3)];
    let is = |token: &TokenWithSpan, word: &&str| token.token.to_string().eq_ignore_ascii_case(word);
    let is_near = |words: &[&str]| {
        near.windows(words.len()).any(|window| window.iter().zip(words).all(|(token, word)| is(token, word)))
    };
    KNOWN.iter().find(|(words, _)| is_near(words)).map(|(_, what)| *what)
}

/// Writes `ARRAY<T>[…]`, which the parser does not have, as `([…]::ARRAY<T>)`: GoogleSQL has no `::`.
///
/// # Errors
/// A lambda function, whose arrow the parser takes for an operator.
fn with_typed_arrays(mut tokens: Vec<TokenWithSpan>) -> Result<Vec<TokenWithSpan>, Status> {
    // Where each type with `<` begins that has not ended.
    let (mut open, mut arrays) = (Vec::new(), Vec::new());
    for (at, TokenWithSpan { token, .. }) in tokens.iter().enumerate() {
        let is_type = at > 0
            && matches!(keyword(&tokens[at - 1].token), Keyword::ARRAY | Keyword::STRUCT | Keyword::MAP);
        match token {
            Token::Lt if is_type => open.push(at - 1),
            Token::Gt | Token::ShiftRight if !open.is_empty() => {
                let kept = open.len().saturating_sub(if *token == Token::Gt { 1 } else { 2 });
                let start = open.drain(kept..).next().unwrap_or_default();
                let is_array = keyword(&tokens[start].token) == Keyword::ARRAY;
                if is_array && tokens.get(at + 1).is_some_and(|next| next.token == Token::LBracket) {
                    arrays.push((start, at + 1));
                }
            }
            Token::Arrow => return Err(unimplemented("lambda functions")),
            // Types have no parentheses: it was a comparison with a column of this name.
            Token::LParen | Token::RParen => open.clear(),
            _ => {}
        }
    }
    // Brackets that close an array come after the arrays inside it.
    for (start, bracket) in arrays.into_iter().rev() {
        let mut depth = 0;
        let end = tokens[bracket..].iter().position(|token| {
            match token.token {
                Token::LBracket => depth += 1,
                Token::RBracket => depth -= 1,
                _ => {}
            }
            depth == 0
        });
        let Some(end) = end.map(|end| bracket + end + 1) else { continue };
        let with = |token: Token| TokenWithSpan { token, span: tokens[start].span };
        let (left, cast, right) = (with(Token::LParen), with(Token::DoubleColon), with(Token::RParen));
        let written = &tokens[start..end];
        let (of, elements) = written.split_at(bracket - start);
        let typed = [&[left], elements, &[cast], of, &[right]].concat();
        tokens.splice(start..end, typed);
    }
    Ok(tokens)
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

    #[test]
    fn types_that_do_not_end_are_errors() {
        const WORDS: [&str; 14] =
            ["ARRAY", "STRUCT", "MAP", "<", ">", ">>", "[", "]", "(", ")", "INT64", "1", ",", "x"];
        let mut random = fastrand::Rng::with_seed(3);
        let mut parsed = 0;
        for _ in 0..20_000 {
            let words: Vec<&str> =
                (0..random.usize(1..14)).map(|_| WORDS[random.usize(..WORDS.len())]).collect();
            match parse(&format!("SELECT {}", words.join(" "))) {
                Ok(_) => parsed += 1,
                Err(status) => assert_ne!(status.code(), tonic::Code::Internal, "{words:?}"),
            }
        }
        assert!(parsed > 100, "{parsed} of them are queries");
        assert!(parse("SELECT ARRAY<STRUCT<a ARRAY<INT64>>>[STRUCT(ARRAY<INT64>[1][0])][0].a").is_ok());
    }
}
