//! Column families: made, changed and dropped.

use keyderive_proto::admin::gc_rule::Rule;
use keyderive_proto::admin::modify_column_families_request::Modification;
use keyderive_proto::admin::modify_column_families_request::modification::Mod;
use keyderive_proto::admin::{ColumnFamily, GcRule};
use keyderive_proto::values::{Duration, FieldMask};
use prost::Message as _;
use tonic::Status;

use crate::storage::Definition;
use crate::{aggregate, check, gc};

/// The size of the largest rule that the service takes.
const MAX_RULE_BYTES: usize = 500;

const LEAST_AGE_MICROS: i64 = 1000;

pub(super) fn modify(definition: &mut Definition, modification: Modification) -> Result<(), Status> {
    let Modification { id, r#mod, update_mask } = modification;
    match r#mod {
        Some(Mod::Create(family)) => create(definition, id, family),
        Some(Mod::Update(family)) => update(definition, &id, family, &update_mask.unwrap_or_default()),
        Some(Mod::Drop(true)) if definition.deletion_protection => Err(Status::failed_precondition(format!(
            "the column family `{id}` is not dropped: its table is protected from deletion"
        ))),
        Some(Mod::Drop(true)) => {
            definition.families.remove(id.as_str()).map(|_| ()).ok_or_else(|| no_family(&id))
        }
        Some(Mod::Drop(false)) | None => {
            Err(Status::invalid_argument(format!("the modification of the column family `{id}` is empty")))
        }
    }
}

pub(super) fn create(
    definition: &mut Definition,
    id: String,
    mut family: ColumnFamily,
) -> Result<(), Status> {
    check::family_name(&id)?;
    if definition.families.contains_key(id.as_str()) {
        return Err(Status::already_exists(format!("the table has the column family `{id}`")));
    }
    let fields = definition.row_key_schema.iter().flat_map(|schema| &schema.fields);
    if fields.into_iter().any(|field| field.field_name == id) {
        return Err(Status::invalid_argument(format!(
            "the column family `{id}` has the name of a field of the table's row key schema"
        )));
    }
    check_rule(&id, family.gc_rule.as_ref())?;
    if let Some(value_type) = &mut family.value_type {
        aggregate::describe(&id, value_type)?;
    }
    definition.families.insert(id.into(), family);
    Ok(())
}

/// The mask names what is changed: the rule, with a mask and without one.
fn update(
    definition: &mut Definition,
    id: &str,
    family: ColumnFamily,
    mask: &FieldMask,
) -> Result<(), Status> {
    let Some(known) = definition.families.get_mut(id) else { return Err(no_family(id)) };
    if let Some(path) = mask.paths.iter().find(|path| *path != "gc_rule") {
        return Err(Status::invalid_argument(format!(
            "`{path}` of the column family `{id}` cannot be updated, only `gc_rule` can"
        )));
    }
    check_rule(id, family.gc_rule.as_ref())?;
    known.gc_rule = family.gc_rule;
    Ok(())
}

fn no_family(id: &str) -> Status {
    Status::not_found(format!("the table has no column family `{id}`"))
}

fn check_rule(id: &str, rule: Option<&GcRule>) -> Result<(), Status> {
    let Some(rule) = rule else { return Ok(()) };
    let refuse = |what: String| {
        Err(Status::invalid_argument(format!(
            "the garbage collection rule of the column family `{id}` {what}"
        )))
    };
    let bytes = rule.encoded_len();
    if bytes > MAX_RULE_BYTES {
        return refuse(format!("has {bytes} bytes, and it may have {MAX_RULE_BYTES}"));
    }
    fault(rule).map_or(Ok(()), refuse)
}

/// What is wrong with a rule, whose size bounds how deep it is.
fn fault(rule: &GcRule) -> Option<String> {
    match rule.rule.as_ref()? {
        Rule::MaxNumVersions(kept) if *kept < 1 => Some(format!("keeps {kept} versions; at least 1 is kept")),
        Rule::MaxNumVersions(_) => None,
        Rule::MaxAge(age) if is_too_young(age) => {
            Some(format!("keeps cells for {}.{:09} seconds; at least 1 ms is kept", age.seconds, age.nanos))
        }
        Rule::MaxAge(_) => None,
        Rule::Intersection(rules) => rules.rules.iter().find_map(fault),
        Rule::Union(rules) => rules.rules.iter().find_map(fault),
    }
}

fn is_too_young(age: &Duration) -> bool {
    age.seconds < 0 || age.nanos < 0 || gc::micros(age) < LEAST_AGE_MICROS
}
