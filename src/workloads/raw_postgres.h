// The raw limits of PostgreSQL, see ground.h.
#pragma once

#include <cstddef>

#include "base/result.h"
#include "store/postgres/options.h"
#include "workloads/ground.h"

namespace pawl::workloads {

Result<RawFigure> copy_log(const store::PostgresOptions& source, std::size_t batch,
                           std::size_t rows_max);
Result<RawFigure> read_log(const store::PostgresOptions& source, std::size_t rows_max);
void drop_schema(const store::PostgresOptions& options);

}  // namespace pawl::workloads
