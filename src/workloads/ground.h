// Ground: where the workloads of `pawl bench` run, and what its database can do by itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"
#include "store/store.h"
#include "workloads/workspace.h"

namespace pawl::workloads {

// What the database itself needs to write or read the rows that a workload has left: same tables,
// same bytes, same durability, nothing else. The limit that figures are compared with.
struct RawFigure {
  std::uint64_t rows = 0;  // Of the log.
  std::uint64_t commits = 0;
  double secs = 0;

  double rows_s() const { return secs > 0 ? static_cast<double>(rows) / secs : 0; }
  double commit_ms() const { return commits > 0 ? secs * 1000 / static_cast<double>(commits) : 0; }
};

class Ground {
 public:
  virtual ~Ground() = default;

  virtual bool is_file() const = 0;
  // A store of its own for each variant.
  virtual std::string fresh_url() = 0;
  // What comes before a kill is not measured: it need not wait for the disk.
  virtual std::string fast(const std::string& url) const = 0;
  // Copies the log of a store into a new one beside it, in commits of `batch` rows, in the order in
  // which they were written; a run's own row and its input go with its first entry. At most the
  // last `rows_max` rows of the log. Only writing is timed.
  virtual Result<RawFigure> copy_log(const std::string& url, std::size_t batch,
                                     std::size_t rows_max) = 0;
  // Reads the first `rows_max` rows of the log, run by run.
  virtual Result<RawFigure> read_log(const std::string& url, std::size_t rows_max) = 0;
  // To look at a store that nobody has open: whoever opens it next finds it as it was.
  virtual Result<std::unique_ptr<store::Store>> look(const std::string& url) = 0;
  // Sleeps until what a killed process held may be claimed by others.
  virtual Result<void> outlive(const std::string& url) = 0;
  // To work on it.
  virtual Result<std::unique_ptr<store::Store>> open(const std::string& url) = 0;
  // That this process has sent to a server so far; 0 of a file.
  virtual std::uint64_t statements() const { return 0; }
  virtual Result<double> disk_mb(const std::string& url) = 0;
  // Removes all of a store.
  virtual void clean(const std::string& url) = 0;
};

// `url` names a file that is not there: databases are made in a new directory beside it; empty: in
// a new directory here. Or it names a PostgreSQL database: each variant has a schema of its own in
// it.
Result<std::unique_ptr<Ground>> make_ground(const std::string& url, Workspace& workspace);

}  // namespace pawl::workloads
