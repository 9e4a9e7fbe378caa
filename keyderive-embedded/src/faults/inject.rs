//! Which faults a call meets.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use fastrand::Rng;
use tonic::body::Body;

use super::streams::StreamFault;
use super::{Chances, Effect, Fault, Faults, Method, Rule, When};
use crate::BoxFuture;

type Answer = BoxFuture<Result<http::Response<Body>, Infallible>>;

/// Faults, and the calls that they have met.
#[derive(Debug)]
pub(crate) struct Injector {
    faults: Faults,
    calls: Mutex<HashMap<Method, u64>>,
}

/// What one call meets.
#[derive(Debug)]
struct Fate {
    delay: Duration,
    fault: Option<Fault>,
    faults: StreamFault,
}

impl Injector {
    pub(super) fn new(faults: Faults) -> Self {
        Self { faults, calls: Mutex::default() }
    }

    pub(super) fn calls(&self, method: Method) -> u64 {
        let calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        calls.get(&method).copied().unwrap_or(0)
    }

    /// The answer to a request: that of `answer`, or a fault, or both.
    pub(crate) fn call(
        &self,
        mut request: http::Request<Body>,
        answer: impl FnOnce(http::Request<Body>) -> Answer + Send + 'static,
    ) -> Answer {
        let name = request.uri().path().rsplit('/').next().unwrap_or_default();
        let Some(method) = Method::named(name) else { return answer(request) };
        let Fate { delay, fault, faults } = self.next(method);
        request.extensions_mut().insert(faults);
        Box::pin(async move {
            if !delay.is_zero() {
                tokio::time::sleep(delay).await;
            }
            let Some(fault) = fault else { return answer(request).await };
            if fault.after_the_call {
                drop(answer(request).await);
            }
            Ok(fault.status().into_http())
        })
    }

    fn next(&self, method: Method) -> Fate {
        let number = self.count(method);
        let mut rng = Rng::with_seed(seed(self.faults.seed, method, number));
        let mut fate = Fate { delay: Duration::ZERO, fault: None, faults: StreamFault::none() };
        for Rule { when, effect, .. } in self.faults.rules.iter().filter(|rule| rule.method == method) {
            let hit = match *when {
                When::Nth(nth) => nth == number,
                When::AtRandom(chance) => rng.f64() < chance,
            };
            match effect {
                Effect::Delay(delay) if hit => fate.delay = fate.delay.saturating_add(*delay),
                Effect::Fail(fault) if hit => {
                    fate.fault.get_or_insert_with(|| fault.clone());
                }
                _ => {}
            }
        }
        let Chances { cut, split } = self.faults.breaks;
        fate.faults = StreamFault::new(rng.u64(..), cut, split);
        fate
    }

    fn count(&self, method: Method) -> u64 {
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        let count = calls.entry(method).or_default();
        *count += 1;
        *count
    }
}

/// A seed for one call, far from those of its neighbours.
fn seed(seed: u64, method: Method, number: u64) -> u64 {
    let of_method = Rng::with_seed(seed ^ (method as u64) << 56).u64(..);
    Rng::with_seed(of_method ^ number).u64(..)
}
