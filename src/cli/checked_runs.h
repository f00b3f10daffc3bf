// The runs that `pawl check` is about, one after the other: the open ones of a store, or exported
// ones in files. Nothing is written.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "portable/run_document.h"
#include "store/store.h"

namespace pawl::cli {

struct CheckedRun {
  std::string id;  // The run's, or the path of a file that cannot be read.
  std::uint32_t number = 0;
  std::string uuid;
  std::string kind;
  store::RunStatus status{};
  std::string request;         // A line for the program.
  std::optional<Error> error;  // Why there is none.
};

class CheckedRuns {
 public:
  virtual ~CheckedRuns() = default;
  // None: that was all. Errors are the store's.
  virtual Result<std::optional<CheckedRun>> next() = 0;
  // How many there are about.
  virtual Result<std::int64_t> count() = 0;
};

// Of these kinds; none: of all.
std::unique_ptr<CheckedRuns> open_runs_of(store::Store& store, std::vector<std::string> kinds);
// Files, and the *.json files below directories. kNotFound: there is no such path; or there is no
// file in any of them.
Result<std::unique_ptr<CheckedRuns>> exported_runs(const std::vector<std::filesystem::path>& paths,
                                                   std::vector<std::string> kinds);

}  // namespace pawl::cli
