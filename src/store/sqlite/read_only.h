// A SQLite store for who only looks: nothing is written, neither to the database nor beside it.
#pragma once

#include <memory>

#include "base/result.h"
#include "store/sqlite/options.h"
#include "store/store.h"

namespace pawl::store {

// kStoreUnusable: as open_sqlite(), and if there are commits that only who may write can read.
Result<std::unique_ptr<Store>> open_read_only(const SqliteOptions& options);

}  // namespace pawl::store
