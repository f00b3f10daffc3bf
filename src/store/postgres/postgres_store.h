// The store on a PostgreSQL database, which any number of processes on any number of machines
// share. Two connections, one for writes and one for reads; a third one while somebody watches, a
// fourth one once the catalog is asked.
#pragma once

#include <memory>

#include "base/result.h"
#include "store/movable_store.h"
#include "store/postgres/options.h"
#include "store/store.h"

namespace pawl::store {

// Makes the tables if they are not there. kInvalidArgument, kStoreIo (no connection),
// kStoreUnusable (rights, schema of a newer version, old server).
Result<std::unique_ptr<Store>> open_postgres(const PostgresOptions& options);
// The same store, for who moves what is in it.
Result<std::unique_ptr<MovableStore>> open_movable_postgres(const PostgresOptions& options);

}  // namespace pawl::store
