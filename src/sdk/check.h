// Rehearsal: the code of a workflow, run over a recorded history to see whether the two agree.
// Nothing is executed: operations and transactions that the code asks for stay open, tasks and
// signals go nowhere. Single-threaded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/uuid.h"
#include "engine/program.h"
#include "pawl/registry.hpp"
#include "replay/machine.h"
#include "sdk/code_edit.h"

namespace pawl::detail {

// Whose history it is, as the code can see it.
struct Subject {
  std::string id = "check";
  std::uint32_t number = 1;
  Uuid uuid;
  std::int64_t started_ms = 0;
  std::string definition;  // Fingerprint, then.
};

class Rehearsal {
 public:
  // `log` is loaded, not finished. The code is as if `edits` were made. Errors: kCorruptLog,
  // kMalformedInput.
  static Result<std::unique_ptr<Rehearsal>> create(const WorkflowEntry& workflow,
                                                   const Subject& subject, replay::Log log,
                                                   std::string_view input,
                                                   std::size_t payload_bytes_max,
                                                   std::vector<CodeEdit> edits = {});
  ~Rehearsal();
  Rehearsal(const Rehearsal&) = delete;
  Rehearsal& operator=(const Rehearsal&) = delete;

  // Delivers all there is. Once, first.
  void run();

  // What may be assumed of steps that are not in the history and that the code waits for.
  enum class Assume : std::uint8_t {
    kDone,    // Timers fire, and activities and children that return nothing succeed.
    kSample,  // The others succeed, too, with a value that is made up; signals and promises come.
  };
  // Goes on as if such steps had come to their end, as long as history holds commands that the code
  // has not asked for.
  void go_on(Assume assume);
  // What was assumed, e.g. "{1.1} Operation(1) audit:1 succeeds".
  const std::vector<std::string>& assumed() const { return assumed_; }

  replay::Machine& machine() { return *machine_; }
  const std::optional<replay::Violation>& violation() const { return machine_->violation(); }
  const Rehearsed& code() const { return *probe_; }
  // How the code has ended, if it has and history does not object.
  const std::optional<engine::ProgramEnd>& end() const { return end_; }
  // Operations that are to be executed: recorded as started, or new.
  const std::vector<replay::FutureId>& under_way() const;
  // Recorded entries that the code has asked for or was told of, and how many there are; without
  // what loops have forgotten.
  std::size_t replayed_count() const;
  std::size_t entry_count() const;
  // Commands that the code asked for and history does not have, as labels.
  std::vector<std::string> take_added();

 private:
  class Host;

  Rehearsal() = default;
  void drive();
  bool assume_one(Assume assume);
  bool is_new(replay::FutureId future) const;

  std::unique_ptr<replay::Machine> machine_;
  std::unique_ptr<Rehearsed> probe_;
  std::unique_ptr<Host> host_;
  std::unique_ptr<engine::Program> program_;  // Goes first: destructors of its locals may look.
  std::optional<engine::ProgramEnd> end_;
  std::vector<std::string> assumed_;
  std::size_t told_ = 0;  // Arrivals of the history that were delivered.
};

// The same entries, to be loaded once more.
Result<replay::Log> copy_log(const replay::Log& log);

}  // namespace pawl::detail
