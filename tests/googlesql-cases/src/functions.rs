//! The cases of functions: lists in `functions_testlib*.cc`, which `compliance_test_cases.cc` makes queries of.

use crate::cpp::tokens;
use crate::eval::{Cpp, Program, sql};
use crate::value::{Type, Value};
use crate::{Case, Expected, Tally};

/// Reads the cases of the files, of which the last has the tests.
pub(crate) fn read(files: &[String], tests: &str, tally: &mut Tally) -> Vec<Case> {
    let mut program = Program::default();
    for file in files {
        program.add(&tokens(file));
    }
    program.run_tests(&tokens(tests));
    let mut cases = Vec::new();
    for run in std::mem::take(&mut program.runs) {
        let mut arguments = run.arguments.into_iter();
        let items = match arguments.next() {
            Some(Cpp::List(items)) => items,
            Some(Cpp::Unknown(reason)) => {
                tally.unread(&format!("the list of {}: {reason}", run.test));
                continue;
            }
            _ => continue,
        };
        let template = arguments.next();
        let template = if let Some(Cpp::Text(text)) = template {
            Some(String::from_utf8_lossy(&text).into_owned())
        } else {
            None
        };
        for item in items {
            match case(&run.test, &run.name, &run.prefix, template.as_deref(), item) {
                Ok(made) => cases.extend(made),
                Err(reason) => tally.unread(&reason),
            }
        }
    }
    for (function, count) in &program.unread {
        tally.unread_by(&format!("statements of {function}"), *count);
    }
    cases
}

/// The case of an item of a list, and with `SAFE.` if it is an error.
fn case(test: &str, run: &str, prefix: &str, template: Option<&str>, item: Cpp) -> Result<Vec<Case>, String> {
    let mut parts = match item {
        Cpp::List(parts) => parts,
        Cpp::Unknown(reason) => return Err(reason),
        _ => return Err("items that are no case".to_owned()),
    };
    let mut function = None;
    if let Some(Cpp::Text(name)) = parts.first() {
        function = Some(String::from_utf8_lossy(name).into_owned());
        parts.remove(0);
        // A call with the arguments and the result of another.
        if let [Cpp::List(inner)] = &parts[..]
            && matches!(inner.first(), Some(Cpp::List(_)))
        {
            parts.clone_from(&inner.clone());
        }
    }
    let mut parts = parts.into_iter();
    let Some(Cpp::List(arguments)) = parts.next() else { return Err("items that are no case".to_owned()) };
    let result = parts.next().ok_or("items without a result")?;
    let (mut is_approximate, mut error, mut features) = (false, None, Vec::new());
    for part in parts {
        match part {
            Cpp::Approximate => is_approximate = true,
            Cpp::Code(code, message) if code != "OK" => error = Some((code, message)),
            Cpp::Text(message) => {
                error = Some(("OUT_OF_RANGE".to_owned(), String::from_utf8_lossy(&message).into_owned()));
            }
            Cpp::Feature(name) => features.push(name),
            Cpp::List(more) => features.extend(
                more.into_iter()
                    .filter_map(|each| if let Cpp::Feature(name) = each { Some(name) } else { None }),
            ),
            Cpp::Unknown(reason) => return Err(reason),
            _ => {}
        }
    }
    let mut shown = Vec::new();
    let mut foreign = None;
    let mut is_part = Vec::new();
    for argument in arguments {
        let (value, of) = sql(argument)?;
        foreign = foreign.or_else(|| of.foreign().map(str::to_owned));
        is_part.push(of == Type::Other(String::new()));
        shown.push(value.sql(&of));
    }
    let (value, of) = match result {
        Cpp::Code(code, message) => {
            error = Some((code, message));
            (Value::Null, Type::Int64)
        }
        result => sql(result)?,
    };
    foreign = foreign.or_else(|| of.foreign().map(str::to_owned));
    let name = function.clone().unwrap_or_else(|| prefix.to_owned());
    let named = |function: &str| format!("{}({})", function.to_uppercase(), shown.join(", "));
    let expression = match (run, template) {
        ("RunFunctionTestsInfix", Some(op)) => shown.join(&format!(" {op} ")),
        ("RunFunctionTestsInOperator", _) => {
            format!("{} IN ({})", shown.first().ok_or("no operand")?, shown[1..].join(", "))
        }
        ("RunFunctionTestsInOperatorUnnestArray", _) => {
            format!("{} IN UNNEST([{}])", shown.first().ok_or("no operand")?, shown[1..].join(", "))
        }
        ("RunFunctionTestsPrefix" | "RunFunctionCalls", Some(name)) => named(name),
        (_, Some(template)) => {
            let mut text = template.to_owned();
            for (at, argument) in shown.iter().enumerate().rev() {
                // Two signs would begin a comment.
                if argument.starts_with('-') {
                    text = text.replace(&format!("-@p{at}"), &format!("-({argument})"));
                }
                text = text.replace(&format!("@p{at}"), argument);
            }
            text
        }
        _ if test.contains("Cast") && function.is_none() => {
            if shown.len() > 1 {
                return Err("casts with a format".to_owned());
            }
            let safe = if test.contains("SafeCast") { "SAFE_" } else { "" };
            format!("{safe}CAST({} AS {})", shown[0], of.sql())
        }
        _ => {
            let Some(function) = &function else { return Err(format!("expressions of {test}")) };
            let function = function.to_uppercase();
            match (is_part.iter().position(|is_part| *is_part), &function[..]) {
                (Some(1), "EXTRACT") => {
                    let zone = shown.get(2).map(|zone| format!(" AT TIME ZONE {zone}")).unwrap_or_default();
                    format!("EXTRACT({} FROM {}{zone})", shown[1], shown[0])
                }
                (Some(2), name) if name.ends_with("_ADD") || name.ends_with("_SUB") => {
                    format!("{name}({}, INTERVAL {} {})", shown[0], shown[1], shown[2])
                }
                (None, _) if run.ends_with("Custom") => return Err(format!("expressions of {test}")),
                _ => named(&function),
            }
        }
    };
    // The test changes what the list says: a safe subscript or cast is no error.
    if template.is_some_and(|template| template.contains("[SAFE_")) || test.contains("SafeCast") {
        error = None;
    }
    let expected = match (foreign, &error) {
        (Some(of), _) => Expected::Foreign(of),
        (None, Some((code, message))) => Expected::Error(code.clone(), message.clone()),
        (None, None) => {
            if is_approximate {
                Expected::Near(of.clone(), value)
            } else {
                Expected::Rows(of.clone(), value)
            }
        }
    };
    let name = name.to_lowercase();
    let query = format!("SELECT {expression}");
    let mut cases = Vec::new();
    if let Expected::Error(code, _) = &expected
        && code == "OUT_OF_RANGE"
        && function.is_some()
        && run == "RunFunctionCalls"
    {
        cases.push(Case {
            name: format!("safe.{name}"),
            query: format!("SELECT SAFE.{expression}"),
            tables: Vec::new(),
            features: features.clone(),
            expected: Expected::Rows(of, Value::Null),
        });
    }
    cases.insert(0, Case { name, query, tables: Vec::new(), features, expected });
    Ok(cases)
}
