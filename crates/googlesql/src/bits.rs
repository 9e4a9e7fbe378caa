//! Operators on the bits of INT64 and BYTES.

use sqlparser::ast::BinaryOperator;
use sqlparser::tokenizer::Location;
use tonic::Status;

use crate::error::out_of_range;
use crate::functions::no_signature;
use crate::typed::{Typed, unified};
use crate::types::Type;
use crate::value::Value;

/// `&`, `|`, `^`, `<<` or `>>` of two operands.
pub(crate) fn operate(op: &BinaryOperator, left: Typed, right: Typed, at: Location) -> Result<Typed, Status> {
    let calculation: fn(i64, i64) -> i64 = match op {
        BinaryOperator::BitwiseAnd => |left, right| left & right,
        BinaryOperator::BitwiseOr => |left, right| left | right,
        BinaryOperator::BitwiseXor => |left, right| left ^ right,
        _ => return shift(op, left, right, at),
    };
    let (operands, of) = match unified(vec![left, right])? {
        Ok((operands, of @ (Type::Int64 | Type::Bytes))) => (operands, of),
        Ok((operands, _)) | Err(operands) => {
            return Err(no_signature(&format!("operator {op}"), &operands, at));
        }
    };
    Ok(Typed::strict(of, operands, move |values| match values {
        [Value::Bytes(left), Value::Bytes(right)] if left.len() == right.len() => {
            let pairs = left.iter().zip(right);
            let bytes =
                pairs.map(|(left, right)| calculation((*left).into(), (*right).into()).to_be_bytes()[7]);
            Ok(Value::Bytes(bytes.collect()))
        }
        [Value::Bytes(left), Value::Bytes(right)] => Err(out_of_range(format!(
            "bitwise operators take BYTES of one length, and not {} and {}",
            left.len(),
            right.len()
        ))),
        values => Ok(Value::Int64(calculation(values[0].int(), values[1].int()))),
    }))
}

fn shift(op: &BinaryOperator, left: Typed, right: Typed, at: Location) -> Result<Typed, Status> {
    let is_left = *op == BinaryOperator::PGBitwiseShiftLeft;
    let wrong = |left, right| no_signature(&format!("operator {op}"), &[left, right], at);
    let right = match right.coerced(&Type::Int64)? {
        Ok(right) => right,
        Err(right) => return Err(wrong(left, right)),
    };
    let of = if left.of == Type::Int64 { Type::Int64 } else { Type::Bytes };
    let left = match left.coerced(&of)? {
        Ok(left) => left,
        Err(left) => return Err(wrong(left, right)),
    };
    Ok(Typed::strict(of, vec![left, right], move |values| {
        let by = usize::try_from(values[1].int())
            .map_err(|_| out_of_range("bitwise shift by a negative number of bits"))?;
        let Value::Bytes(bytes) = &values[0] else {
            let (number, by) = (values[0].int().cast_unsigned(), u32::try_from(by).unwrap_or(u32::MAX));
            let shifted = if is_left { number.checked_shl(by) } else { number.checked_shr(by) };
            return Ok(Value::Int64(shifted.unwrap_or_default().cast_signed()));
        };
        // Each byte is made of two that follow each other.
        let byte =
            |place: Option<usize>| u16::from(place.and_then(|at| bytes.get(at)).copied().unwrap_or_default());
        let (whole, bits) = (by / 8, by % 8);
        let shifted = (0..bytes.len()).map(|at| {
            if is_left {
                let pair = byte(at.checked_add(whole)) << 8 | byte(at.checked_add(whole + 1));
                (pair << bits).to_be_bytes()[0]
            } else {
                let pair = byte(at.checked_sub(whole + 1)) << 8 | byte(at.checked_sub(whole));
                (pair >> bits).to_be_bytes()[1]
            }
        });
        Ok(Value::Bytes(shifted.collect()))
    }))
}

/// `~` of a value.
pub(crate) fn not(operand: Typed, at: Location) -> Result<Typed, Status> {
    let of = if operand.of == Type::Int64 { Type::Int64 } else { Type::Bytes };
    match operand.coerced(&of)? {
        Ok(operand) => Ok(Typed::strict(of, vec![operand], |values| {
            Ok(match &values[0] {
                Value::Bytes(bytes) => Value::Bytes(bytes.iter().map(|byte| !byte).collect()),
                number => Value::Int64(!number.int()),
            })
        })),
        Err(operand) => Err(no_signature("operator ~", &[operand], at)),
    }
}
