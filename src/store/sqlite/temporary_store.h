// A store for tests: a file that goes with it, in memory where the system has such a place, and
// that is not synced.
#pragma once

#include <memory>

#include "base/result.h"
#include "store/store.h"

namespace pawl::store {

Result<std::shared_ptr<Store>> open_temporary();

}  // namespace pawl::store
