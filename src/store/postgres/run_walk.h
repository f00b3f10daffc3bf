// Visits runs as Catalog::visit_runs() says: images and logs of many runs by a few round trips, in
// pages that are bounded by rows and by bytes.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "store/postgres/connection.h"
#include "store/run_visitor.h"

namespace pawl::store::pg {

// In a transaction that sees one moment, and whose plans use indexes.
Result<RunKey> walk_runs(Connection& connection, std::int64_t ns, const KeyRange& range,
                         RunVisitor& visitor);

}  // namespace pawl::store::pg
