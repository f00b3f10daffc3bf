// What a stored checkpoint says of the state, for SQL: only a migration needs it, since what is
// written later is there as rows.
#pragma once

#include "base/result.h"
#include "store/sqlite/connection.h"

namespace pawl::store {

// Adds to the connection, with `checkpoint` as it is stored and `i` from 0:
//   pawl_change_count(checkpoint)     0 if it is damaged
//   pawl_change_key(checkpoint, i)
//   pawl_change_value(checkpoint, i)  NULL: cleared
Result<void> add_checkpoint_functions(Connection& connection);

}  // namespace pawl::store
