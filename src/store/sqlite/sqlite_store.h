// The store in one SQLite file, in WAL mode: one connection writes, another one reads, so that a
// long read holds up no commit. Beside the database lie SQLite's own -wal and -shm files, -workers
// (one locked byte for each live worker) and -notify (counters that tell others of changes). None
// of them may be removed while the database is in use.
#pragma once

#include <memory>

#include "base/result.h"
#include "store/movable_store.h"
#include "store/sqlite/options.h"
#include "store/store.h"

namespace pawl::store {

// Opens the database, makes or migrates what is missing, and adds the namespace if it is new.
// kStoreUnusable: a wrong file, one of a newer Pawl, a missing directory, missing rights; also what
// is missing if the store is to be read only.
Result<std::unique_ptr<Store>> open_sqlite(SqliteOptions options);
// The same store, for who moves what is in it.
Result<std::unique_ptr<MovableStore>> open_movable_sqlite(SqliteOptions options);

}  // namespace pawl::store
