//! `sum` of integers, which fails where DataFusion's would wrap.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, BooleanArray};
use datafusion::arrow::compute::{cast, cast_with_options};
use datafusion::arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::{DataFusionError, Result, ScalarValue, exec_datafusion_err};
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::AggregateOrderSensitivity;
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, EmitTo, GroupsAccumulator, ReversedUDAF, SetMonotonicity,
    Signature,
};

use super::CHECKED;

/// The type in which integers are summed.
const WIDE: DataType = DataType::Decimal128(38, 0);

/// DataFusion's function; sums of integers are computed as decimals, and then must fit in 64 bits.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct ExactSum(Arc<AggregateUDF>);

impl ExactSum {
    pub(super) fn new(of: Arc<AggregateUDF>) -> Self {
        Self(of)
    }
}

/// The field of the decimals, in the place of one of integers.
fn widened(field: &FieldRef) -> Option<FieldRef> {
    field.data_type().is_integer().then(|| Arc::new(Field::new(field.name(), WIDE, true)))
}

fn wide(values: &[ArrayRef]) -> Result<Vec<ArrayRef>> {
    Ok(values.iter().map(|values| cast(values, &WIDE)).collect::<Result<_, _>>()?)
}

fn beyond(of: &DataType) -> DataFusionError {
    exec_datafusion_err!("a sum is beyond {of}: write `sum(CAST(… AS DECIMAL(38, 0)))`")
}

impl AggregateUDFImpl for ExactSum {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn signature(&self) -> &Signature {
        self.0.signature()
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        self.0.return_type(types)
    }

    fn state_fields(&self, args: StateFieldsArgs<'_>) -> Result<Vec<FieldRef>> {
        let return_field = widened(&args.return_field).unwrap_or_else(|| Arc::clone(&args.return_field));
        self.0.state_fields(StateFieldsArgs { return_field, ..args })
    }

    fn accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        let of = args.return_type().clone();
        let Some(return_field) = widened(&args.return_field) else { return self.0.accumulator(args) };
        let wide = self.0.accumulator(AccumulatorArgs { return_field, ..args })?;
        Ok(Box::new(Exact { wide, of }))
    }

    fn create_sliding_accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        let of = args.return_type().clone();
        let Some(return_field) = widened(&args.return_field) else {
            return self.0.create_sliding_accumulator(args);
        };
        let wide = self.0.create_sliding_accumulator(AccumulatorArgs { return_field, ..args })?;
        Ok(Box::new(Exact { wide, of }))
    }

    fn groups_accumulator_supported(&self, args: AccumulatorArgs<'_>) -> bool {
        self.0.groups_accumulator_supported(args)
    }

    fn create_groups_accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn GroupsAccumulator>> {
        let of = args.return_type().clone();
        let Some(return_field) = widened(&args.return_field) else {
            return self.0.create_groups_accumulator(args);
        };
        let wide = self.0.create_groups_accumulator(AccumulatorArgs { return_field, ..args })?;
        Ok(Box::new(Exact { wide, of }))
    }

    fn reverse_expr(&self) -> ReversedUDAF {
        ReversedUDAF::Identical
    }

    fn order_sensitivity(&self) -> AggregateOrderSensitivity {
        AggregateOrderSensitivity::Insensitive
    }

    fn set_monotonicity(&self, of: &DataType) -> SetMonotonicity {
        self.0.inner().set_monotonicity(of)
    }
}

/// Accumulates decimals for integers of this type.
#[derive(Debug)]
struct Exact<A: ?Sized> {
    of: DataType,
    wide: Box<A>,
}

impl Accumulator for Exact<dyn Accumulator> {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.wide.update_batch(&wide(values)?)
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.wide.retract_batch(&wide(values)?)
    }

    fn supports_retract_batch(&self) -> bool {
        self.wide.supports_retract_batch()
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        self.wide.evaluate()?.cast_to_with_options(&self.of, &CHECKED).map_err(|_| beyond(&self.of))
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        self.wide.state()
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.wide.merge_batch(states)
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.wide.size()
    }
}

impl GroupsAccumulator for Exact<dyn GroupsAccumulator> {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        count: usize,
    ) -> Result<()> {
        self.wide.update_batch(&wide(values)?, groups, filter, count)
    }

    fn evaluate(&mut self, emitted: EmitTo) -> Result<ArrayRef> {
        cast_with_options(&self.wide.evaluate(emitted)?, &self.of, &CHECKED).map_err(|_| beyond(&self.of))
    }

    fn state(&mut self, emitted: EmitTo) -> Result<Vec<ArrayRef>> {
        self.wide.state(emitted)
    }

    fn merge_batch(&mut self, states: &[ArrayRef], groups: &[usize], count: usize) -> Result<()> {
        self.wide.merge_batch(states, groups, count)
    }

    fn convert_to_state(&self, values: &[ArrayRef], filter: Option<&BooleanArray>) -> Result<Vec<ArrayRef>> {
        self.wide.convert_to_state(&wide(values)?, filter)
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.wide.size()
    }
}
