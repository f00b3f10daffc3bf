// The time of a database's server, as the time of an environment: machines whose clocks differ
// agree on when a lease or a timer is over.
#pragma once

#include "base/result.h"
#include "engine/environment.h"
#include "store/store.h"

namespace pawl::engine {

// Sets the clock of `environment` if that of the store tells that it is wrong, by more than the
// time that the answer took leaves open. False: the store has none. Blocks.
Result<bool> follow_clock(store::Store& store, Environment& environment);

}  // namespace pawl::engine
