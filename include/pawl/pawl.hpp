// Pawl: durable execution. A workflow is a coroutine; every step of it is recorded; after a crash
// it goes on where it was.
#pragma once

#include "pawl/activity.hpp"  // IWYU pragma: export
#include "pawl/check.hpp"     // IWYU pragma: export
#include "pawl/codec.hpp"     // IWYU pragma: export
#include "pawl/context.hpp"   // IWYU pragma: export
#include "pawl/engine.hpp"    // IWYU pragma: export
#include "pawl/errors.hpp"    // IWYU pragma: export
#include "pawl/event.hpp"     // IWYU pragma: export
#include "pawl/future.hpp"    // IWYU pragma: export
#include "pawl/options.hpp"   // IWYU pragma: export
#include "pawl/registry.hpp"  // IWYU pragma: export
#include "pawl/saga.hpp"      // IWYU pragma: export
#include "pawl/workflow.hpp"  // IWYU pragma: export
