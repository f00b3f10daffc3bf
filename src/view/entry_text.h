// What entries say, in words: pieces of lines that the tree and who follows a run have in common.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "replay/log.h"
#include "view/line.h"

namespace pawl::view {

// Columns of when something happened, and how long it took.
inline constexpr std::size_t kAtWidth = 11;
inline constexpr std::size_t kTookWidth = 13;

class EntryText {
 public:
  // The log outlives it.
  EntryText(const replay::Log& log, std::size_t payload_chars_max)
      : log_(log), chars_max_(payload_chars_max) {}

  // What is not as usual with a command, and what its wait is limited to:
  // " (inserted, version 2, key k)".
  void add_notes(Line& line, const replay::Record& command) const;
  // "  orders.cc:42", if it is known.
  void add_source(Line& line, const replay::Record& command) const;
  // What a command says that is done as soon as it is recorded: " set to 1", " removed …". False:
  // this is no such command, and nothing was added.
  bool add_immediate(Line& line, replay::RecordId command) const;
  // What a command began, while nobody knows what comes of it: " scheduled on queue default".
  void add_beginning(Line& line, const replay::Record& command) const;
  // What came of a command of this kind: " = 7", " failed: …"; how often it was tried.
  void add_outcome(Line& line, replay::CommandKind kind, const replay::Record& done) const;
  // What a loop's checkpoint says.
  void add_checkpoint(Line& line, const replay::Checkpoint& checkpoint) const;
  // What its forgotten iterations left: "state seen = 1, other cleared".
  std::string changes_text(const replay::Checkpoint& checkpoint) const;
  // What reached the run by itself: "signal go = 1 (id e-1, source /shop)".
  void add_arrival(Line& line, const replay::Record& arrival) const;
  void add_end(Line& line, const replay::Record& end) const;

  std::string name(std::string_view text) const;
  std::string value(std::string_view payload) const;
  std::string failure(std::string_view payload) const;

  // Of a task: how often its policy lets it be tried; 0: any number, or unknown.
  std::uint64_t attempts_max(const replay::Record& task) const;

 private:
  void add_result(Line& line, const replay::Record& record) const;
  std::string attributes_text(const replay::Record& signal) const;

  const replay::Log& log_;
  const std::size_t chars_max_;
};

}  // namespace pawl::view
