//! A query: as a plan, and as a filter.

use keyderive::plan::Plan;

use super::data::{Flight, FlightKey};

#[derive(Debug)]
pub(super) struct Query {
    /// The values of the fixed fields.
    like: FlightKey,
    shape: Shape,
    pub(super) reversed: bool,
    pub(super) limit: Option<u64>,
}

#[derive(Debug)]
enum Shape {
    CarrierPrefix(String),
    Carrier,
    Flights(u16, u16),
    Flight,
    FlightOrNext(u16),
    Hours(u64, u64),
    Hour,
    OriginPrefix(String),
    Whole,
}

impl Query {
    /// A query that selects some of the rows, but rarely all.
    pub(super) fn random(rows: &[(FlightKey, Flight)], rng: &mut fastrand::Rng) -> Self {
        let like = rng.choice(rows).unwrap().0.clone();
        let other = &rng.choice(rows).unwrap().0;
        let shape = match rng.u8(..18) {
            0 => Shape::CarrierPrefix(like.carrier[..rng.usize(..=like.carrier.len())].to_owned()),
            1 => Shape::Carrier,
            2..=4 => Shape::Flights(like.flight, like.flight + rng.u16(..100)),
            5..=7 => Shape::Flight,
            8..=9 => Shape::FlightOrNext(other.flight),
            10..=13 => Shape::Hours(like.hour.min(other.hour), like.hour.max(other.hour)),
            14 => Shape::Hour,
            15 => Shape::OriginPrefix(like.origin[..rng.usize(..=2)].to_owned()),
            _ => Shape::Whole,
        };
        let limit = match shape {
            // A carrier can have a sixth of all rows.
            Shape::CarrierPrefix(_) | Shape::Carrier => Some(rng.u64(..2_000)),
            _ => rng.bool().then(|| rng.u64(..50)),
        };
        Self { like, shape, reversed: rng.bool(), limit }
    }

    pub(super) fn plan(&self) -> Plan<FlightKey> {
        let FlightKey { carrier, flight, hour, origin } = &self.like;
        let (all, of) =
            (FlightKey::scan(), |scan: <FlightKey as keyderive::RowKey>::Scan| scan.carrier(carrier));
        match &self.shape {
            Shape::CarrierPrefix(prefix) => all.carrier_prefix(prefix).into_plan(),
            Shape::Carrier => of(all).into_plan(),
            Shape::Flights(from, to) => of(all).flight_range(*from..=*to).into_plan(),
            Shape::Flight => of(all).flight(*flight).into_plan(),
            Shape::FlightOrNext(other) => of(all).flight_any_of([*flight, *other]).into_plan(),
            Shape::Hours(from, to) => of(all).flight(*flight).hour_range(*from..*to).into_plan(),
            Shape::Hour => of(all).flight(*flight).hour(*hour).into_plan(),
            Shape::OriginPrefix(prefix) => {
                of(all).flight(*flight).hour(*hour).origin_prefix(prefix).into_plan()
            }
            Shape::Whole => of(all).flight(*flight).hour(*hour).origin(origin).into_plan(),
        }
        .unwrap()
    }

    /// Whether the query selects this key.
    pub(super) fn matches(&self, key: &FlightKey) -> bool {
        let like = &self.like;
        let flies = key.carrier == like.carrier && key.flight == like.flight;
        match &self.shape {
            Shape::CarrierPrefix(prefix) => key.carrier.starts_with(prefix),
            Shape::Carrier => key.carrier == like.carrier,
            Shape::Flights(from, to) => key.carrier == like.carrier && (*from..=*to).contains(&key.flight),
            Shape::Flight => flies,
            Shape::FlightOrNext(other) => {
                key.carrier == like.carrier && (key.flight == like.flight || key.flight == *other)
            }
            Shape::Hours(from, to) => flies && (*from..*to).contains(&key.hour),
            Shape::Hour => flies && key.hour == like.hour,
            Shape::OriginPrefix(prefix) => flies && key.hour == like.hour && key.origin.starts_with(prefix),
            Shape::Whole => *key == *like,
        }
    }
}
