// EntryLines: a line for each entry of a run, in the order in which they come, with location and
// labels. For who follows a run that goes on.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "view/entry_text.h"
#include "view/history.h"
#include "view/label_counter.h"

namespace pawl::view {

class EntryLines {
 public:
  EntryLines(const store::RunRow& row, HistoryOptions options);

  // The line of the next entry, with its line break. kCorruptLog, kMalformedInput, kLimitExceeded.
  Result<std::string> add(const replay::Entry& entry);
  // The same for what is no entry: a remark between two lines.
  std::string remark(const Line& text) const;

  // All entries so far, without finish_loading(): the last one was added last.
  const replay::Log& log() const { return log_; }
  std::uint64_t next_seq() const { return log_.last_seq() + 1; }

 private:
  Line begin(const std::string& at, const std::string& took) const;
  void count_labels(replay::RecordId id);
  void add_labels(Line& line, replay::RecordId command) const;
  Line line_of(replay::RecordId id) const;

  const std::int64_t created_ms_;
  const HistoryOptions options_;
  replay::Log log_;
  const EntryText text_;
  LabelCounter counter_;
  std::vector<LabelCounter::Counted> labels_;  // By record.
};

}  // namespace pawl::view
