// How libpq gets into the process: linked, or, in libpawl.so, loaded when it is needed first, so
// that whoever has no PostgreSQL store needs no libpq. Any thread may call.
#pragma once

#include "base/result.h"

namespace pawl::store {

// To be called before any function of libpq, by whoever reads the URL of a store. kStoreUnusable if
// this machine has no libpq, or one before version 14; the next call tries again.
Result<void> load_libpq();

}  // namespace pawl::store
