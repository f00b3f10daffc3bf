// The raw limits of SQLite, see ground.h.
#pragma once

#include <cstddef>

#include "base/result.h"
#include "store/sqlite/options.h"
#include "workloads/ground.h"

namespace pawl::workloads {

Result<RawFigure> copy_log(const store::SqliteOptions& source, std::size_t batch,
                           std::size_t rows_max);

Result<RawFigure> read_log(const store::SqliteOptions& source, std::size_t rows_max);

}  // namespace pawl::workloads
