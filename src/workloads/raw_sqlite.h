// What SQLite itself needs to write the rows that a workload has left: same tables, same bytes,
// same durability, nothing else. The limit that figures are compared with.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/result.h"
#include "store/sqlite/options.h"

namespace pawl::workloads {

struct RawFigure {
  std::uint64_t rows = 0;  // Of the log.
  std::uint64_t commits = 0;
  double secs = 0;

  double rows_s() const { return secs > 0 ? static_cast<double>(rows) / secs : 0; }
  double commit_ms() const { return commits > 0 ? secs * 1000 / static_cast<double>(commits) : 0; }
};

// Copies the log of the database at `source` into a new one beside it, in commits of `batch` rows,
// in the order in which they were written; a run's own row and its input go with its first entry.
// At most the last `rows_max` rows of the log. Only writing is timed.
Result<RawFigure> copy_log(const store::SqliteOptions& source, std::size_t batch,
                           std::size_t rows_max);

// Reads the first `rows_max` rows of the log, run by run.
Result<RawFigure> read_log(const store::SqliteOptions& source, std::size_t rows_max);

}  // namespace pawl::workloads
