// Putting runs into a store: what import, fork and retry share.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "portable/run_document.h"
#include "store/store.h"

namespace pawl::cli {

// kAlreadyExists names the run that is in the way. `as_next`: with the next number, if the id's
// runs have ended.
Result<store::RunRow> create_run(store::Store& store, const portable::RunDocument& document,
                                 bool as_next, std::int64_t now_ms);

}  // namespace pawl::cli
