// Links: what belongs together in a history, and when things began. Found once, in a time that is
// proportional to the log.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "view/history.h"

namespace pawl::view {

// An operation between two attempts that has no entry yet.
struct UnrecordedRetry {
  const store::Arrival* arrival = nullptr;
  replay::BranchId owner = replay::kNoBranch;  // Where it stands; kNoBranch: nobody knows.
  replay::Ordinate head = 0;                   // At this coordinate, or in this iteration.
  std::string location;                        // Empty: nobody knows.
};

class Links {
 public:
  // The history outlives it.
  explicit Links(const History& history);

  // What completed a command, a signal included; kNoRecord: it is open.
  replay::RecordId completion(replay::RecordId command) const;
  // The wait that took a signal; kNoRecord: none that is in the log.
  replay::RecordId wait_of(replay::RecordId signal) const { return partners_[signal]; }
  // It was taken by an iteration that is forgotten.
  bool is_taken_by_loop(replay::RecordId signal) const { return taken_[signal]; }
  // Of a whole operation: when something last happened in its branch or below, which is when it
  // began, if its branch does one thing at a time.
  std::optional<std::int64_t> began_ms(replay::RecordId command) const;
  // When something last happened in a branch or below; 0: nothing has.
  std::int64_t last_ms(replay::BranchId branch) const { return last_ms_[branch]; }
  // The last one of a loop; null if it has none.
  const replay::Checkpoint* checkpoint(replay::BranchId loop) const;

  // Rows; null if there is none.
  const store::CompensationRow* compensation(replay::RecordId registered) const;
  const store::TaskRow* task(const replay::Record& record) const;
  const store::RunRow* child(const replay::Record& record) const;
  const store::Arrival* retry(const replay::Record& record) const;
  const std::vector<UnrecordedRetry>& unrecorded_retries() const { return unrecorded_; }

 private:
  void pair_signals();
  void pair_compensations();
  void find_times();
  void find_retries();
  // `wanted`: positions in unrecorded_, by id.
  void place_retries(std::unordered_map<std::string, std::size_t> wanted);

  const History& history_;
  const replay::Log& log_;
  std::vector<replay::RecordId> partners_;  // Of a wait its signal, and the other way round.
  std::vector<bool> taken_;
  std::vector<std::int64_t> began_ms_;
  std::vector<std::int64_t> last_ms_;
  std::unordered_map<replay::BranchId, replay::RecordId> checkpoints_;
  std::unordered_map<replay::BranchId, replay::Ordinate> last_iterations_;  // Of loops.
  std::unordered_map<replay::RecordId, std::size_t> compensations_;
  // By the id of the command.
  std::unordered_map<std::string, const store::TaskRow*> tasks_;
  std::unordered_map<std::string, const store::RunRow*> children_;
  std::unordered_map<std::string, const store::Arrival*> retries_;
  std::vector<UnrecordedRetry> unrecorded_;
};

}  // namespace pawl::view
