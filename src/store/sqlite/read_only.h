// A SQLite store for who only looks: nothing is written, neither to the database nor beside it.
#pragma once

#include <memory>

#include "base/result.h"
#include "store/movable_store.h"
#include "store/sqlite/options.h"

namespace pawl::store {

// kStoreUnusable: as open_sqlite(), and if there are commits that only who may write can read.
Result<std::unique_ptr<MovableStore>> open_read_only(const SqliteOptions& options);

}  // namespace pawl::store
