//! How deep the tree of a statement is, which must be known before it is parsed: to drop it takes as much stack.

use datafusion::common::{Result, plan_err};
use datafusion::sql::sqlparser::dialect::Dialect;
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::parser::ParserError;
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan, Tokenizer};

/// How deep a chain of operators may be, for each level of nesting that the parser allows. A level of it takes less of the stack.
const PER_LEVEL: usize = 4;

/// What is in parentheses, or in a statement.
#[derive(Clone, Copy, Default)]
struct Level {
    /// The `AND`, `OR` and `NOT` since the last comma, other operators since the last of these, and the most between two.
    logical: usize,
    others: usize,
    most_others: usize,
    /// The most operators before a comma, or a clause.
    most: usize,
    /// The operators between queries, and the joins.
    sets: usize,
    /// The depth of the deepest parentheses in it.
    inner: usize,
}

impl Level {
    fn operators(self) -> usize {
        self.most.max(self.logical + self.most_others.max(self.others))
    }

    fn depth(self) -> usize {
        self.sets + self.operators() + self.inner
    }

    fn logical(&mut self) {
        self.logical += 1;
        self.most_others = self.most_others.max(std::mem::take(&mut self.others));
    }

    fn comma(&mut self) {
        let Self { sets, inner, .. } = *self;
        *self = Self { most: self.operators(), sets, inner, ..Self::default() };
    }
}

/// The tokens of a text.
///
/// # Errors
/// If a statement is too deep.
pub(super) fn tokens(text: &str, dialect: &dyn Dialect, limit: usize) -> Result<Vec<TokenWithSpan>> {
    let tokens = Tokenizer::new(dialect, text).tokenize_with_location().map_err(ParserError::from)?;
    let (mut outer, mut level, limit) = (Vec::new(), Level::default(), limit.saturating_mul(PER_LEVEL));
    for TokenWithSpan { token, span } in &tokens {
        match token {
            Token::LParen | Token::LBracket | Token::LBrace => outer.push(std::mem::take(&mut level)),
            Token::RParen | Token::RBracket | Token::RBrace => {
                let inner = std::mem::replace(&mut level, outer.pop().unwrap_or_default());
                level.inner = level.inner.max(inner.depth());
            }
            Token::Comma => level.comma(),
            Token::SemiColon => {
                outer.clear();
                level = Level::default();
            }
            Token::Word(word) => match word.keyword {
                Keyword::UNION | Keyword::EXCEPT | Keyword::INTERSECT | Keyword::JOIN => {
                    level.sets += 1;
                    level.comma();
                }
                Keyword::FROM
                | Keyword::WHERE
                | Keyword::ON
                | Keyword::WHEN
                | Keyword::THEN
                | Keyword::ELSE => level.comma(),
                Keyword::AND | Keyword::OR | Keyword::NOT => level.logical(),
                Keyword::IS => level.others += 1,
                _ => {}
            },
            Token::Whitespace(_)
            | Token::Number(..)
            | Token::SingleQuotedString(_)
            | Token::DoubleQuotedString(_)
            | Token::Period => {}
            // Operators; what else there is makes nothing deeper.
            _ => level.others += 1,
        }
        if level.depth() > limit {
            return plan_err!(
                "a statement has more than {limit} operators in a chain, at line {} and column {}: write `IN (…)` or `VALUES` for them, or raise `datafusion.sql_parser.recursion_limit` if the stack has room",
                span.start.line,
                span.start.column
            );
        }
    }
    Ok(tokens)
}
