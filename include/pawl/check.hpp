// Checking a new build against open runs before it is deployed: what `pawl check --with PROGRAM`
// asks a program for. See docs/checking.md.
#pragma once

#include "pawl/options.hpp"
#include "pawl/registry.hpp"

namespace pawl {

// Call it first in main, when the registry is filled: if `pawl check` has started this program,
// answers it and ends the process; else returns at once. The code of workflows is run over their
// histories; no activity is executed, and no store is opened. `options` are those of the engine: of
// them the payload codecs and the limit for payloads are used. Throws UsageError if the variable
// PAWL_CHECK of the environment, by which it knows, holds something else.
void answer_check(const Registry& registry, const EngineOptions& options = {});

}  // namespace pawl
