#include "view/entry_lines.h"

#include <utility>

#include "view/text.h"

namespace pawl::view {

namespace {

using replay::CommandKind;
using replay::EntryKind;
using replay::EntryRole;
using replay::Record;
using replay::RecordId;

}  // namespace

EntryLines::EntryLines(const store::RunRow& row, HistoryOptions options)
    : created_ms_(row.created_ms),
      options_(std::move(options)),
      text_(log_, options_.payload_chars_max) {}

Result<std::string> EntryLines::add(const replay::Entry& entry) {
  PAWL_TRY(log_.load(entry));
  const auto id = static_cast<RecordId>(log_.size() - 1);
  labels_.emplace_back();
  if (log_[id].is_command) {
    count_labels(id);
  }
  return line_of(id).print(options_.columns_max, options_.in_color) + "\n";
}

std::string EntryLines::remark(const Line& text) const {
  return Line(begin("", "")).append(text).print(options_.columns_max, options_.in_color) + "\n";
}

// Whole numbers come in order; what is inserted stands before some that are there.
void EntryLines::count_labels(RecordId id) {
  const Record& record = log_[id];
  const CommandKind kind = log_.command_kind(record);
  const std::string name = counted_name(log_, record);
  labels_[id] = counter_.count(record.branch, kind, name);
  const replay::Coordinate place = log_.coordinate(record);
  if (place.is_whole()) {
    return;
  }
  for (RecordId other = 0; other < id; ++other) {
    const Record& later = log_[other];
    if (later.is_command && later.branch == record.branch && log_.command_kind(later) == kind &&
        place < log_.coordinate(later)) {
      --labels_[id].of_kind;
      if (!name.empty() && counted_name(log_, later) == name) {
        --labels_[id].of_name;
      }
    }
  }
}

Line EntryLines::begin(const std::string& at, const std::string& took) const {
  Line line;
  line.add_right(at, kAtWidth, Tone::kFaint).add_right(took, kTookWidth, Tone::kFaint).add("  ");
  return line;
}

void EntryLines::add_labels(Line& line, RecordId command) const {
  const Record& record = log_[command];
  const LabelCounter::Counted& counted = labels_[command];
  line.add(log_.location(record).to_string() + " " +
           std::string(replay::label_name(log_.command_kind(record))) + "(" +
           std::to_string(counted.of_kind) + ")");
  if (counted.of_name > 0) {
    line.add(" ").add(
        text_.name(counted_name(log_, record)) + ":" + std::to_string(counted.of_name),
        Tone::kStrong);
  }
}

Line EntryLines::line_of(RecordId id) const {
  const Record& record = log_[id];
  const std::string at = duration_text(record.time_ms - created_ms_);
  if (record.is_command) {
    Line line = begin(at, "");
    add_labels(line, id);
    text_.add_notes(line, record);
    if (record.kind == EntryKind::kBranchOpened) {
      line.add(" opened");
    } else if (replay::is_operation_outcome(record.kind)) {
      text_.add_outcome(line, CommandKind::kOperation, record);
    } else if (!text_.add_immediate(line, id)) {
      text_.add_beginning(line, record);
    }
    if (options_.with_sources) {
      text_.add_source(line, record);
    }
    return line;
  }
  switch (replay::traits(record.kind).role) {
    case EntryRole::kEnd: {
      Line line = begin(at, "");
      text_.add_end(line, record);
      return line;
    }
    case EntryRole::kFree: {
      Line line = begin(at, "");
      text_.add_arrival(line, record);
      return line;
    }
    case EntryRole::kCheckpoint: {
      Line line = begin(at, "");
      if (record.link != replay::kNoRecord) {
        add_labels(line, record.link);
      }
      const replay::Checkpoint& checkpoint = *log_.checkpoint(record);
      line.add(" " + count_text(checkpoint.iteration, "iteration", "iterations") + " finished");
      text_.add_checkpoint(line, checkpoint);
      return line;
    }
    case EntryRole::kArrival:
    case EntryRole::kCommand:
      break;
  }
  if (record.link == replay::kNoRecord) {  // A second one: nothing comes of it.
    return begin(at, "").add(replay::traits(record.kind).event);
  }
  const Record& command = log_[record.link];
  Line line = begin(at, duration_text(record.time_ms - command.time_ms));
  add_labels(line, record.link);
  text_.add_outcome(line, replay::traits(command.kind).command, record);
  return line;
}

}  // namespace pawl::view
