// What came of a check, as people read it: a line for each run, then reports and what would make
// them fit, each once for all runs that it is about.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json.hpp>

#include "cli/checked_runs.h"

namespace pawl::cli {

enum class CheckOutcome : std::uint8_t { kFits, kMisfit, kUnchecked, kEnded };

class CheckReport {
 public:
  // `answer` has the fields of docs/checking.md.
  void add(const CheckedRun& run, const boost::json::object& answer);

  std::size_t count(CheckOutcome outcome) const { return counts_[static_cast<int>(outcome)]; }
  struct Row {
    std::string run;
    std::string kind;
    CheckOutcome outcome{};
    std::string check;  // "fits" …
    std::string note;
  };
  const std::vector<Row>& rows() const { return rows_; }
  // Reports and warnings; begins and ends with a line break unless it is empty.
  std::string details() const;
  // "12 fit, 2 do not fit, 1 could not be checked".
  std::string summary() const;
  boost::json::object summary_json() const;

 private:
  // Runs with the same to tell.
  struct Group {
    std::string text;
    std::vector<std::string> runs;
  };

  static void add_to(std::vector<Group>& groups, std::map<std::string, std::size_t>& places,
                     const std::string& key, const std::string& run, const std::string& text);

  std::vector<Row> rows_;
  std::vector<Group> misfits_;
  std::vector<Group> warnings_;
  std::map<std::string, std::size_t> misfit_places_;
  std::map<std::string, std::size_t> warning_places_;
  std::size_t counts_[4] = {};
};

CheckOutcome outcome_of(const boost::json::object& answer, store::RunStatus status);

}  // namespace pawl::cli
